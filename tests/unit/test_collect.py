import pytest
from plimsoll import designs
from plimsoll.analysis import collect
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.errors import PlimsollError
from plimsoll.measuring import record

from tests.conftest import recorded

CELLS = tuple(f"uma/exact/E1/{runtime}/any/default/standard/plain/beff" for runtime in ("bare", "docker"))


def cell(path):
    *factors, section = path.split("/")
    return {
        **dict(zip(OF_DEPLOYMENT, factors, strict=True)),
        **{"path": path, "section": section},
        **{"containers": 1, "ranks": 2, "ranks_per_container": 2, "cores": 2, "fingerprint": "f", "reason": None},
    }


def found(path, repetition=1, **changes):
    whole = {
        **{"study": "liu2020", "cell": cell(path), "repetition": repetition, "block": repetition, "values": VALUES},
        **{"bits": {"hpcc": "aa", "libmpi.so.40": "bb"}},
        **{"transport": {"carried_by": "shared memory", "single_copy": "allowed", "network_bytes": 0}},
        **{"noise": {"before": {"busy_share": 0.01}, "during": {"neighbour_share": 0.0}}},
    }
    return recorded(**{**whole, **changes})


VALUES = {
    "AvgPingPongBandwidth_GBytes": 17.0,
    "AvgPingPongLatency_usec": 0.13,
    "RandomlyOrderedRingBandwidth_GBytes": 16.0,
    "RandomlyOrderedRingLatency_usec": 0.12,
}


@pytest.fixture
def gather(tmp_path, liu2020):
    def gather(*records):
        for one in records:
            record.write(record.path_of(tmp_path / "runs", one["cell"]["path"], one["repetition"]), one)
        plan = {"design": "splitting", "cells": {one["cell"]["path"]: one["cell"] for one in records}}
        wanted = [(one["cell"]["path"], one["repetition"]) for one in records]
        return collect.collect_some(tmp_path / "runs", plan, liu2020, wanted, None)

    return gather


def test_one_metric_of_one_valid_run_is_a_row(gather):
    observations, runs = gather(found(CELLS[0]), found(CELLS[1]))
    assert len(observations) == 8 and len(runs) == 2
    latency = observations[observations["metric"] == "pingpong_latency"]
    assert list(latency["value"]) == [0.13, 0.13]
    assert set(latency["unit"]) == {"us"} and set(latency["better"]) == {"lower"}


@pytest.mark.parametrize("status", ["failed", "timeout", "invalid", "disturbed"])
def test_a_run_that_does_not_count_is_listed_and_is_no_observation(gather, status):
    observations, runs = gather(found(CELLS[0]), found(CELLS[1], status=status, reason="why"))
    assert set(observations["runtime"]) == {"bare"}
    assert list(runs["status"]) == ["valid", status]
    assert runs["reason"].iloc[1] == "why"


def test_a_run_at_its_limit_is_an_observation_of_its_time_alone(gather):
    path = "uma/over/O1/docker/any/disabled/yielding/plain/fft"
    observations, _ = gather(found(path, status="censored", values={"benchmark_seconds": 11.5}))
    assert list(observations["metric"]) == ["fft_seconds"]
    assert list(observations["value"]) == [11.5] and list(observations["censored"]) == [True]


def test_other_bits_stop_the_analysis(gather):
    with pytest.raises(PlimsollError, match="docker in .* did not run the same bits as bare in .*: libmpi.so.40 is cc"):
        gather(found(CELLS[0]), found(CELLS[1], bits={"hpcc": "aa", "libmpi.so.40": "cc"}))


def test_other_kernels_stop_the_analysis(gather):
    zen, haswell = ({"OpenBLAS": name} for name in ("Zen", "Haswell"))
    with pytest.raises(PlimsollError, match="docker in .* ran OpenBLAS's Haswell kernels, and bare in .* its Zen kernels\\."):
        gather(found(CELLS[0], kernels=zen), found(CELLS[1], kernels=haswell))
    # Records of older versions do not name kernels.
    _, runs = gather(found(CELLS[0], kernels=zen), found(CELLS[1]))
    assert list(runs["kernels"].dropna()) == ["OpenBLAS Zen"]


def test_another_image_stops_the_analysis(gather):
    with pytest.raises(PlimsollError, match="the image is sha256:2"):
        gather(found(CELLS[0]), found(CELLS[1], image={"tag": "plimsoll/x:1", "id": "sha256:2"}))


def test_a_record_of_other_parameters_is_listed_as_stale(gather):
    observations, runs = gather(found(CELLS[0]), found(CELLS[1], fingerprint="old"))
    assert len(observations) == 4
    assert list(runs["status"]) == ["valid", "stale"]


def test_a_truncated_record_is_listed_as_damaged(gather, tmp_path):
    gather(found(CELLS[0]), found(CELLS[1]))
    path = record.path_of(tmp_path / "runs", CELLS[1], 1)
    path.write_text(path.read_text()[:100])
    plan = {"design": "splitting", "cells": {p: cell(p) for p in CELLS}}
    from plimsoll.config import studies

    loaded = studies.load("liu2020", designs.known())
    observations, runs = collect.collect_some(tmp_path / "runs", plan, loaded, [(p, 1) for p in CELLS], None)
    assert len(observations) == 4
    assert list(runs["status"]) == ["valid", "damaged"]
    assert "no complete JSON" in runs["reason"].iloc[1]
    assert path.read_text(), "a damaged record is left where it is"


def test_a_table_of_a_study_in_which_no_run_counts_is_empty(tmp_path):
    (tmp_path / "tests.csv").write_text("\n")
    assert collect.table(tmp_path / "tests.csv", ["runtime"]).empty


def test_records_of_two_systems_are_refused(gather):
    with pytest.raises(PlimsollError, match="were measured on two systems. Records of two systems are never pooled"):
        gather(found(CELLS[1], 1, system="a"), found(CELLS[1], 2, system="b"))


def test_records_that_say_on_which_system_and_others_that_do_not_are_refused(gather):
    with pytest.raises(PlimsollError, match="were measured on two systems"):
        gather(found(CELLS[1], 1, system="a"), found(CELLS[1], 2))


def test_each_runtime_has_its_own_system(gather):
    observations, _ = gather(found(CELLS[0], system="a"), found(CELLS[1], system="b"))
    assert set(observations["runtime"]) == {"bare", "docker"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"values": {**VALUES, "AvgPingPongLatency_usec": float("nan")}},
            "has nan for pingpong_latency, which cannot have been",
        ),
        ({"values": {**VALUES, "AvgPingPongLatency_usec": float("inf")}}, "has inf for pingpong_latency"),
        ({"values": {**VALUES, "AvgPingPongLatency_usec": -1.0}}, "has -1.0 for pingpong_latency"),
        ({"values": {**VALUES, "AvgPingPongLatency_usec": "0.13"}}, "values.AvgPingPongLatency_usec: it is '0.13'"),
        ({"values": [1]}, "values: it is a list, and should be keys with values"),
        ({"launch": "x"}, "launch: it is 'x', and should be a list"),
        ({"bits": {"hpcc": 5}}, "bits.hpcc: it is 5, and should be a text"),
    ],
)
def test_a_record_that_holds_nonsense_is_listed_as_damaged(gather, changes, words):
    observations, runs = gather(found(CELLS[0]), found(CELLS[1], **changes))
    assert set(observations["runtime"]) == {"bare"}
    assert list(runs["status"]) == ["valid", "damaged"] and words in runs["reason"].iloc[1]


def test_a_valid_record_without_bits_is_damaged(gather):
    lacking = {key: value for key, value in found(CELLS[1]).items() if key != "bits"}
    _, runs = gather(found(CELLS[0]), lacking)
    assert list(runs["status"]) == ["valid", "damaged"] and "it lacks 'bits'" in runs["reason"].iloc[1]


def test_a_table_that_is_none_is_named(tmp_path):
    (tmp_path / "runs.csv").write_bytes(b"a,b\n1,2,3,4\n\xff\n")
    with pytest.raises(PlimsollError, match="runs.csv is not a table .* Delete it, and type the command again"):
        collect.table(tmp_path / "runs.csv", ["a"])

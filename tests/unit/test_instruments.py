"""What instruments compute from the files that ranks and perf leave."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from plimsoll import designs, instruments
from plimsoll.claims.quantities import memory_contention as contention
from plimsoll.designs.splitting import profiles, report, run_tables
from plimsoll.designs.splitting.charts import profile
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.instruments import events, mpi_profile
from plimsoll.measuring import record
from plimsoll.workloads.base import InvalidOutput

from tests.conftest import DATA, PROJECT, host_of

DESIGN = designs.find("splitting")

FUNCTIONS = {"MPI_Send": [10, 0.2], "MPI_Recv": [10, 0.3], "MPI_Allreduce": [4, 0.1], "MPI_Reduce": [2, 0.1]}


def part(name="MPIFFT", functions=None, wall=1.0, outside=0.3):
    return {"name": name, "wall_seconds": wall, "outside_seconds": outside, "functions": functions or FUNCTIONS}


def leave(folder, rank, *parts):
    (folder / "ranks").mkdir(exist_ok=True)
    text = json.dumps({"rank": rank, "sections": parts})
    # The library prints times with nine decimals.
    text = re.sub(r"\b[0-9]+\.[0-9]+\b", lambda number: f"{float(number[0]):.9f}", text)
    (folder / f"ranks/{rank}.profile.json").write_text(text)


def test_the_measured_section_is_read_and_no_other(tmp_path):
    leave(tmp_path, 0, part("outside", wall=9.3, outside=8.6), part(), part("HPL", functions={"MPI_Bcast": [1, 0.7]}))
    assert mpi_profile.section(tmp_path, 0, "MPIFFT")["functions"] == FUNCTIONS


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([part("HPL")], "rank 0 left no profile of MPIFFT"),
        ([part(), part()], "rank 0 left no profile"),
        ([part(outside=0.2)], "0.700000 s inside MPI functions and 0.200000 s outside"),
        ([part(wall=0.9)], "which is not the 0.900000 s"),
        ([part(functions={"MPI_Sned": [10, 0.7]})], "rank 0 called 'MPI_Sned' 10 times"),
        ([part(functions={"MPI_Send": [-1, 0.7]})], "called 'MPI_Send' -1 times"),
        ([part(functions={"MPI_Send": [10]})], "rank 0 left no profile of MPIFFT"),
        ([part(functions={"MPI_Send": "x"})], "rank 0 left no profile of MPIFFT"),
        ([part(functions={}, wall=0.0, outside=0.0)], "which is not the 0.000000 s"),
    ],
)
def test_a_profile_that_does_not_fit_together_is_refused(tmp_path, parts, words):
    leave(tmp_path, 0, *parts)
    with pytest.raises(InvalidOutput, match=words):
        mpi_profile.section(tmp_path, 0, "MPIFFT")


def test_a_rank_without_a_profile_is_refused(tmp_path):
    with pytest.raises(InvalidOutput, match="rank 3 left no profile"):
        mpi_profile.section(tmp_path, 3, "MPIFFT")


def test_shares_are_of_all_ranks_together_and_calls_their_sum():
    values = mpi_profile.summarise([part(), part(functions={"MPI_Send": [2, 0.5]}, wall=3.0, outside=2.5)])
    assert values["wall_seconds"] == 2.0
    assert values["mpi_calls/blocking_pingpong_transfer"] == 22
    assert values["mpi_seconds/blocking_pingpong_transfer"] == pytest.approx((0.2 + 0.3 + 0.5) / 2)
    assert values["mpi_share/blocking_pingpong_transfer"] == pytest.approx(1.0 / 4)
    assert values["mpi_share/global_reduce"] == pytest.approx(0.2 / 4)
    assert values["mpi_share/all"] == pytest.approx(1.2 / 4)
    assert values["mpi_share/point_to_point"] + values["mpi_share/collective"] == pytest.approx(values["mpi_share/all"])
    assert values["mpi_share/alltoall"] == 0 and values["mpi_calls/alltoall"] == 0


# What two ranks of a section left: calls and seconds of each function.
PROFILED = {
    "stream": {"MPI_Barrier": [81, 0.02], "MPI_Bcast": [4, 0.001], "MPI_Gather": [1, 0.002], "MPI_Allreduce": [15, 0.003]},
    "dgemm": {"MPI_Barrier": [1, 0.001], "MPI_Bcast": [1, 0.002], "MPI_Allreduce": [4, 0.03], "MPI_Reduce": [1, 0.01]},
    "ptrans": {"MPI_Send": [5, 0.004], "MPI_Sendrecv": [5, 0.05], "MPI_Barrier": [6, 0.02], "MPI_Allreduce": [36, 0.1]},
    "fft": {"MPI_Alltoall": [6, 0.1], "MPI_Bcast": [1, 0.01], "MPI_Allreduce": [2, 0.02]},
    "randomaccess": {"MPI_Isend": [300, 0.01], "MPI_Testany": [9000, 0.4], "MPI_Alltoall": [9, 0.02]},
    "beff": {"MPI_Send": [700, 0.1], "MPI_Recv": [700, 0.1], "MPI_Sendrecv": [9000, 0.3], "MPI_Bcast": [300, 0.01]},
}
DERIVED = {
    **{"stream_mpi_share": 0.026, "stream_barrier_share": 0.02, "stream_other_share": 0.006},
    **{"dgemm_mpi_share": 0.043, "dgemm_reduce_share": 0.04, "dgemm_other_share": 0.003},
    **{"ptrans_sendrecv_share": 0.05, "ptrans_other_transfers_share": 0.004, "ptrans_calls": 104},
    **{
        "fft_mpi_share": 0.13,
        "fft_collective_share": 0.13,
        "fft_alltoall_share": 0.1,
        "fft_other_share": 0.03,
        "fft_calls": 18,
    },
    **{"randomaccess_nonblocking_share": 0.41, "randomaccess_calls": 18618},
    **{"beff_calls": 21400, "beff_pingpong_calls": 2800, "beff_pingpong_seconds": 0.2},
}


def test_metrics_of_mpi_functions_are_made_of_what_records_hold(tmp_path, liu2020):
    found = {}
    for section, functions in PROFILED.items():
        outside = 1.0 - sum(seconds for _, seconds in functions.values())
        for rank in (0, 1):
            leave(tmp_path, rank, part(section, functions, outside=outside))
        values = mpi_profile.summarise([mpi_profile.section(tmp_path, rank, section) for rank in (0, 1)])
        row = {"section": section, "sizes": "standard", "instrument": "mpi"}
        # As if it were written to a record and read again.
        made = DESIGN.readings.observations(liu2020, row, {"status": "valid", "values": json.loads(json.dumps(values))})
        found |= {one["metric"]: one["value"] for one in made}
    assert {name: found[name] for name in DERIVED} == pytest.approx(DERIVED)
    assert set(found) == {name for name, metric in liu2020["metrics"].items() if metric["instrument"] == "mpi"}


def test_a_record_that_lacks_a_value_has_the_other_metrics(liu2020):
    row = {"section": "fft", "sizes": "standard", "instrument": "mpi"}
    values = mpi_profile.summarise([part(functions=PROFILED["fft"])])
    del values["mpi_share/collective"]
    made = DESIGN.readings.observations(liu2020, row, {"status": "valid", "values": values})
    assert {one["metric"] for one in made} == {"fft_mpi_share", "fft_alltoall_share", "fft_other_share", "fft_calls"}


def test_every_wrapped_function_belongs_to_a_pattern_and_the_other_way_round():
    source = (PROJECT / "containers/hpcc/mpi_profile.c").read_text()
    wrapped = {"MPI_" + line.strip()[2:].split(",")[0] for line in source.splitlines() if line.startswith("  F(")}
    assert wrapped == set(mpi_profile.PATTERN_OF)


def test_patterns_are_the_columns_of_the_paper_s_table_1():
    printed = pd.read_csv(PROJECT / "config/reference/liu2020_table1_mpi_profile.csv")
    columns = printed[["pattern", "group"]].drop_duplicates()
    assert list(columns.itertuples(index=False, name=None)) == [
        (name, group) for name, (group, _) in mpi_profile.PATTERNS.items()
    ]
    assert list(profile.LOOK) == list(mpi_profile.PATTERNS)


PERF = """# started on Sat Nov 21 18:01:02 2026

34,,context-switches,docker/a,7981682,100.00,,
3,,cpu-migrations,docker/a,7981682,100.00,,
956,,context-switches,docker/b,160177340,100.00,,
<not counted>,,cpu-migrations,docker/b,0,100.00,,
<not supported>,,cycles,docker/a,0,100.00,,
"""


def test_counts_are_summed_over_the_containers():
    counted = events.parse(PERF, {"context_switches": "context-switches", "cpu_migrations": "cpu-migrations"})
    assert counted == {"context_switches": 990, "cpu_migrations": 3}


@pytest.mark.parametrize("name", ["cycles", "LLC-load-misses"])
def test_an_event_that_was_not_counted_is_no_zero(name):
    with pytest.raises(InvalidOutput, match=f"perf counted no {name}"):
        events.parse(PERF, {"x": name})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PERF[:-20], "end in the middle of a line"),
        (PERF + "34,,context-switches,docker/a,7981682,100.00,,\n", "counted 'context-switches' twice in 'docker/a'"),
        (PERF.replace("956,,context-switches,docker/b,160177340,100.00,,\n", ""), "counted context-switches in 1 groups"),
        (PERF.replace("956,", "95x,"), "have the line '95x,"),
        (PERF.replace("956,", "-956,"), "have the line '-956,"),
        (PERF.replace("956,", "nan,"), "have the line 'nan,"),
        (PERF.replace("docker/b", "docker/a"), "twice in 'docker/a'"),
        ("", "end in the middle"),
    ],
)
def test_counts_that_are_not_whole_are_refused(text, words):
    with pytest.raises(InvalidOutput, match=words):
        events.parse(text, {"context_switches": "context-switches", "cpu_migrations": "cpu-migrations"}, 2)


def test_values_made_of_counters():
    values = events.derived_values({"local_memory_loads": 56, "remote_memory_loads": 44, "cycles": 100, "stall_cycles": 20})
    assert values == {"memory_loads": 100, "local_memory_rate": 0.56, "stalls_per_work_cycle": 0.25}
    assert events.derived_values({"cycles": 100, "context_switches": 1}) == {}
    assert events.derived_values({"local_memory_loads": 0, "remote_memory_loads": 0}) == {}


def test_what_a_host_does_not_count_is_named():
    settings = events.Events.settings(
        {**host_of(1, 2), "events": {"context_switches": "context-switches", "cycles": "cycles", "l3_misses": None}}
    )
    assert settings["reason"] is None and set(settings["events"]) == {"context_switches", "cycles"}
    assert events.Events.missing("context_switches", settings) is None
    assert events.Events.missing("l3_misses", settings) == "this host does not count l3 misses"
    assert events.Events.missing("stalls_per_work_cycle", settings) == "this host does not count stall cycles"
    # The kernel's own statistics need no hardware counter, but they need two memory nodes.
    assert events.Events.missing("local_allocation_rate", settings) == "this host has one memory node"
    assert events.Events.missing("local_allocation_rate", {**settings, "nodes": 2}) is None


def test_a_host_without_perf_cannot_count_and_one_that_is_described_can():
    assert events.Events.settings({**host_of(1, 2), "events": {}})["reason"] == "perf is not installed"
    nothing = {**host_of(1, 2), "events": {"cycles": None}}
    assert events.Events.settings(nothing)["reason"] == "perf counts nothing here"
    user = events.Events.settings({**nothing, "root": False, "perf_event_paranoid": "2"})["reason"]
    assert user == (
        "perf may not count over all processors for this user (kernel.perf_event_paranoid is 2; root may, or everybody at 0)"
    )
    assert set(events.Events.settings(host_of(1, 2))["events"]) == set(events.COUNTERS)
    assert instruments.find("plain").settings({}) == {}


def node(folder, number, local, other):
    path = folder / f"devices/system/node/node{number}"
    path.mkdir(parents=True, exist_ok=True)
    (path / "numastat").write_text(f"numa_hit {local + other}\nnuma_miss 0\nlocal_node {local}\nother_node {other}\n")


def test_the_kernel_s_share_of_local_allocations(tmp_path):
    node(tmp_path, 0, 1000, 10)
    assert events.local_share(events.allocations(tmp_path), events.allocations(tmp_path)) is None
    node(tmp_path, 1, 500, 0)
    before = events.allocations(tmp_path)
    node(tmp_path, 0, 1050, 10)
    node(tmp_path, 1, 510, 40)
    assert events.local_share(before, events.allocations(tmp_path)) == pytest.approx(60 / 100)
    assert events.local_share(before, before) is None


@pytest.mark.parametrize(
    ("stalls", "alone", "expected"),
    [
        (0.25, 0.25, 0.0),
        # One rank alone has 100 cycles of work and 25 of stalls. Together, each has as much work and 100 more stall cycles.
        (1.25, 0.25, 100 / 125),
        (3.0, 0.0, 3.0),
        (0.0, 1.0, -0.5),
    ],
)
def test_the_memory_contention_ratio(stalls, alone, expected):
    assert contention.ratio(stalls, alone) == pytest.approx(expected)
    assert contention.ratio(np.array([stalls]), alone) == pytest.approx([expected])


def test_the_memory_contention_ratio_is_that_of_tudor_and_teo_where_the_work_stays_the_same():
    work, stalls_alone, stalls_together = 800.0, 200.0, 700.0
    of_cycles = ((work + stalls_together) - (work + stalls_alone)) / (work + stalls_alone)
    assert contention.ratio(stalls_together / work, stalls_alone / work) == pytest.approx(of_cycles)


def test_there_are_no_negative_stalls():
    with pytest.raises(ValueError, match="stall"):
        contention.ratio(-0.1, 0.2)


def test_profiles_come_from_valid_records_of_the_plan(tmp_path):
    cell = {**dict.fromkeys(OF_DEPLOYMENT, "x"), "section": "fft", "fingerprint": "f"}
    values = mpi_profile.summarise([part()])
    for repetition, changed in ((1, {}), (2, {"status": "failed"}), (3, {"fingerprint": "old"})):
        whole = json.loads((DATA / "records/plimsoll2026.json").read_text())
        found = {**whole, "fingerprint": "f", **changed, "values": values}
        record.write(record.path_of(tmp_path / "runs", "c", repetition), found)
    table = profiles.gather(tmp_path, {"cells": {"c": cell}}, [("c", number) for number in (1, 2, 3, 4)])
    assert set(table["repetition"]) == {1}
    assert table.set_index("what").loc["MPI_Send", ["calls", "seconds", "share"]].tolist() == [10, 0.2, 0.2]
    summary = profile.summarise(table.assign(hardware="uma", mode="exact"))
    assert set(summary["what"]) == {"all", *mpi_profile.PATTERNS}


def test_table_1_has_the_paper_s_values_beside_ours():
    rows = [
        {
            **{"hardware": "uma", "mode": mode, "section": "fft", "what": what},
            "repetition": n,
            "calls": 12,
            "seconds": 1,
            "share": 0.3,
        }
        for mode in ("exact", "over")
        for what in ("all", *mpi_profile.PATTERNS)
        for n in (1, 2)
    ]
    printed = pd.read_csv(PROJECT / "config/reference/liu2020_table1_mpi_profile.csv")
    table = run_tables.mpi_profile(profile.summarise(pd.DataFrame(rows)), printed)
    alltoall = table[(table["pattern"] == "alltoall") & (table["mode"] == "over")].iloc[0]
    assert alltoall["paper_share_percent"] == 32.65 and alltoall["paper_calls"] == 96 and alltoall["calls"] == "12"
    (row,) = run_tables.as_printed(table)
    assert row["benchmark"] == "G-FFT"
    assert row["cells"]["alltoall"]["O"] == {
        **{"ours": "30.00 %", "paper": "32.65 %", "calls": "12", "paper_calls": "96"},
        "note": alltoall["note"],
    } or pd.isna(alltoall["note"])
    assert row["cells"]["bcast"]["E"]["paper"] == "<0.01 %"


def test_two_ways_to_count_are_compared_over_the_runs_that_have_both():
    rows = [
        {
            **dict.fromkeys(OF_DEPLOYMENT, "x"),
            **{"section": "fft", "metric": metric, "label": metric, "repetition": repetition, "value": value},
        }
        for metric, values in (("perf", (10, 20, 600)), ("ranks", (9, 19)))
        for repetition, value in enumerate(values)
    ]
    (found,) = report.cross_checks(pd.DataFrame(rows), {"perf": "ranks", "absent": "ranks"})
    assert (found["label"], found["n"], found["mean"], found["mean_other"]) == ("perf", 2, 15, 14)


def test_what_watching_costs_is_a_ratio_to_the_same_cell_unwatched():
    random = np.random.default_rng(1)
    rows = [
        {
            **dict.fromkeys(OF_DEPLOYMENT, "x"),
            **{"metric": "m", "label": "M", "unit": "s", "instrument": name, "censored": False},
            "value": mean * np.exp(random.normal(0, 0.01)),
        }
        for name, mean in (("plain", 10.0), ("mpi", 11.0))
        for _ in range(6)
    ]
    rows += [{**rows[-1], "metric": "only watched", "instrument": "mpi"} for _ in range(6)]
    # In another cell the instrument costs nothing. So there are two comparisons, and p is adjusted for two.
    alike = [{**row, "runtime": "y", "value": 10 * np.exp(random.normal(0, 0.01))} for row in rows if row["metric"] == "m"]
    found, other = sorted(report.instrument_cost(pd.DataFrame([*rows, *alike]), 0.05), key=lambda row: row["p"])
    assert found["p_holm"] == pytest.approx(2 * found["p"]) and found["differs"] and not other["differs"]
    assert found["instrument"] == "mpi" and found["n"] == found["n_plain"] == 6
    assert found["ratio"] == pytest.approx(1.1, abs=0.02)
    assert found["ratio_low"] < 1.1 < found["ratio_high"]


def test_watching_values_that_are_all_the_same_has_no_p_and_differs_in_nothing():
    row = {**dict.fromkeys(OF_DEPLOYMENT, "x"), "metric": "m", "label": "M", "unit": "s", "censored": False, "value": 1.0}
    (found,) = report.instrument_cost(
        pd.DataFrame([{**row, "instrument": name} for name in ("plain", "mpi") for _ in range(3)]), 0.05
    )
    assert np.isnan(found["p"]) and np.isnan(found["p_holm"]) and not found["differs"]

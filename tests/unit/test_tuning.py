"""Tuning: strategies and cells, the cluster's configuration, a job's history, effects, tables and figures."""

import hashlib
import re
import socket
import threading
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from plimsoll import designs
from plimsoll.analysis.tables import TableRequest
from plimsoll.claims import book
from plimsoll.config import studies
from plimsoll.designs.tuning import attempts, judge, readings, run_tables, statistics, strategies
from plimsoll.designs.tuning.factors import TuningCell, TuningPlan
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.figures import render
from plimsoll.images import jars
from plimsoll.planning import planner, study_plans
from plimsoll.services.hadoop import cluster, configuration, job_answers, rest
from plimsoll.services.hadoop.prices import Prices
from plimsoll.workloads.base import InvalidOutput

from tests.conftest import PROJECT, built, host_of, unlike
from tests.unit.test_charts import check, drawn

DESIGN = designs.find("tuning")

BLOCKS = 3
GIB = 2**30


@pytest.fixture
def study() -> studies.Study:
    return built("li2018-hadoop")


@pytest.fixture
def plan_of(study, config):
    def plan_of(profile="quick", host=None, **changes):
        host = host or host_of(1, 2, memory=24 * GIB)
        return planner.make(study, studies.profile(profile), host, {**config, "profile": profile, **changes}, {})

    return plan_of


@pytest.fixture
def plan(plan_of) -> dict:
    return plan_of()


def test_a_paper_brings_its_other_stage():
    assert studies.select("li2018") == ["li2018", "li2018-hadoop"]
    assert studies.select("li2018-hadoop") == ["li2018-hadoop"]


def test_each_strategy_is_set_alone_and_those_of_the_factorial_together(plan):
    alone = {path for path in plan["cells"] if "+" not in path}
    assert {path.removeprefix("docker/") for path in alone} == set(plan["strategies"])
    assert set(plan["cells"]) - alone == {"docker/buffer+lzo_compression"}
    assert plan["cells"]["docker/baseline"]["experiments"] == ["one_at_a_time", "factorial"]
    together = plan["cells"]["docker/buffer+lzo_compression"]
    assert together["settings"] == {
        **plan["cells"]["docker/buffer"]["settings"],
        **plan["cells"]["docker/lzo_compression"]["settings"],
    }
    assert set(together["sizes"]) == {"small"} and together["repetitions"] == 1
    assert plan["cells"]["docker/double_slaves"]["workers"] == 4 and plan["cells"]["docker/buffer"]["repetitions"] == 3


def test_the_paper_s_profile_has_its_sizes_and_a_full_factorial(plan_of):
    cells = plan_of("paper", host=host_of(1, 4, memory=64 * GIB))["cells"]
    assert cells["docker/baseline"]["sizes"] == {"small": 2 * GIB, "large": 5 * GIB}
    assert sum("factorial" in cell["experiments"] for cell in cells.values()) == 2**5


def test_the_quick_profile_ends_within_25_minutes(plan):
    cells = plan["cells"].values()
    assert sum(cell["expected_seconds"] * cell["repetitions"] for cell in cells) < 25 * 60


def test_plans_and_cells_have_the_keys_that_are_written_down(plan):
    assert unlike(plan, TuningPlan) == set()
    assert {key for cell in plan["cells"].values() for key in unlike(cell, TuningCell)} == set()


def test_a_host_without_the_memory_says_so(plan_of):
    cells = plan_of(host=host_of(1, 2, memory=16 * GIB))["cells"]
    assert (
        cells["docker/double_slaves"]["reason"]
        == "a cluster of 4 workers would need 16.0 GiB, and runs may have 70 % of this host's memory"
    )
    assert cells["docker/baseline"]["reason"] is None


def test_each_worker_may_have_a_machine_of_its_own(plan_of):
    def other(name, memory=8 * GIB, **more):
        return {"name": name, "kernel": "Linux 6.1", "cpu_model": "x", "processors": 4, "memory_bytes": memory, **more}

    here = host_of(1, 2, memory=4 * GIB)
    usual, apart = (
        plan_of(host=host_of(1, 2, memory=24 * GIB)),
        plan_of(host={**here, "cluster_hosts": [other("a"), other("b")]}),
    )
    cell = apart["cells"]["docker/baseline"]
    assert cell["reason"] is None and [one["name"] for one in cell["parameters"]["hosts"]] == ["a", "b"]
    assert cell["fingerprint"] != usual["cells"]["docker/baseline"]["fingerprint"]
    assert apart["cells"]["docker/double_slaves"]["reason"] == (
        "each of 4 workers needs a machine of its own, and cluster_hosts names 2"
    )
    small = plan_of(host={**here, "cluster_hosts": [other("a"), other("b", memory=4 * GIB)]})
    assert small["cells"]["docker/baseline"]["reason"] == "a worker would need 3.6 GiB of the memory of b"
    assert {key for one in apart["cells"].values() for key in unlike(one, TuningCell)} == set()
    assert unlike(apart, TuningPlan) == set()


def test_a_machine_that_cannot_be_reached_ends_the_workflow(plan_of):
    host = {**host_of(1, 2), "cluster_hosts": [{"name": "a", "reason": "the cluster's host a cannot be used: no route"}]}
    plan = plan_of(host=host)
    with pytest.raises(
        PlimsollError,
        match="^The cluster's host a cannot be used: no route. Nothing was measured. Repair that, or set cluster_hosts to",
    ):
        study_plans.refuse_out_of_reach(host, [plan])


def test_values_are_written_as_hadoop_writes_them(study):
    told = strategies.settings(study["strategies"], "out_of_band_heartbeat+buffer")
    assert told == {
        "mapreduce.tasktracker.outofband.heartbeat": "true",
        "mapreduce.task.io.sort.mb": "200",
        "mapreduce.map.sort.spill.percent": "0.9",
    }
    assert list(strategies.factorial(["a", "b"])) == ["baseline", "a", "b", "a+b"]
    assert strategies.levels(["a", "b"], "b") == {"a": -1, "b": 1}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("label: baseline, workers: 2", "label: baseline", "strategies.baseline.workers is missing"),
        ("factors: [buffer,", "factors: [butter,", "'butter' is not one of"),
        (
            "runtime: [docker], factors",
            "runtime: [singularity], factors",
            "singularity cannot keep the nodes of a cluster running",
        ),
        ("source: small.time", "source: tiny.time", "source"),
    ],
)
def test_a_study_that_cannot_be_is_refused(tmp_path, old, new, said):
    text = (studies.STUDIES / "li2018-hadoop.yaml").read_text()
    assert old in text
    path = tmp_path / "li2018-hadoop.yaml"
    path.write_text(text.replace(old, new))
    with pytest.raises(PlimsollError, match=said):
        studies.read(path, designs.known())


def test_a_study_without_strategies_is_refused(tmp_path):
    given = yaml.safe_load((studies.STUDIES / "li2018-hadoop.yaml").read_text())
    del given["strategies"]
    path = tmp_path / "li2018-hadoop.yaml"
    path.write_text(yaml.safe_dump(given))
    with pytest.raises(PlimsollError, match="'strategies' is a required property"):
        studies.read(path, designs.known())


def test_the_configuration_of_a_cluster_is_xml_with_the_master_s_name(tmp_path):
    from xml.etree import ElementTree

    configuration.write(tmp_path / "conf", "the-master", 3072)
    told = {
        item.findtext("name"): item.findtext("value")
        for file in (tmp_path / "conf").glob("*.xml")
        for item in ElementTree.parse(file).getroot()
    }
    assert told["fs.defaultFS"] == "hdfs://the-master:9000" and told["yarn.nodemanager.resource.memory-mb"] == "3072"
    # Settings of strategies are left to Hadoop's defaults.
    keys = {key for one in built("li2018-hadoop")["strategies"].values() for key in one.get("settings", {})}
    assert not keys & set(told)


def test_a_list_of_one_element_is_a_list():
    group = {"counterGroupName": "x", "counter": {"name": "A", "mapCounterValue": 1, "reduceCounterValue": 2}}
    one, several = ({"jobCounters": {"counterGroup": given}} for given in (group, [group]))
    assert job_answers.counters(one) == job_answers.counters(several) == {"A": {"map": 1, "reduce": 2}}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({}, "has no jobCounters"),
        ({"jobCounters": {"counterGroup": {}}}, "has no counter"),
        ({"jobCounters": {"counterGroup": {"counter": {"name": "A"}}}}, "it lacks 'mapCounterValue'"),
        (
            {"jobCounters": {"counterGroup": {"counter": {"name": "A", "mapCounterValue": -1, "reduceCounterValue": 0}}}},
            "tells A twice, or that it is below zero",
        ),
    ],
)
def test_nonsense_of_the_history_server_is_refused(answer, reason):
    with pytest.raises(InvalidOutput, match=reason):
        job_answers.counters(answer)


def test_times_of_a_job_that_cannot_be_are_refused():
    job = history()["job"]
    assert job_answers.job({"job": job})["id"] == "job_1"
    for wrong in ({"finishTime": 2100}, {"submitTime": 0}, {"mapsCompleted": -1}, {"avgMapTime": "1500"}, {"startTime": None}):
        with pytest.raises(InvalidOutput, match="cannot be|not what it should be"):
            job_answers.job({"job": {**job, **wrong}})
    with pytest.raises(InvalidOutput, match="not what it should be"):
        job_answers.job({})


def test_what_a_daemon_says_is_a_document_or_no_answer():
    assert rest.document(b'{"a": 1}', "x") == {"a": 1}
    for text in (b"", b"\xff", b"[]", b"<html>", b"[" * 100_000, b"1" * 5000):
        with pytest.raises(rest.NoAnswer, match="^x: it is no"):
            rest.document(text, "x")
    assert job_answers.app({"app": {"state": "RUNNING", "finalStatus": "UNDEFINED"}})["state"] == "RUNNING"
    assert job_answers.app({}) is None and job_answers.app({"app": {"state": 5}}) is None
    assert job_answers.SUBMITTED.fullmatch("job job_1595000000000_0001\n")[1] == "job_1595000000000_0001"
    assert not job_answers.SUBMITTED.fullmatch("job ../../x\n")


def test_a_job_that_goes_on_beyond_its_cell_s_limit_does_not_count(tmp_path, monkeypatch):
    now = 0.0

    class Looks:
        def look(self):
            pass

        def sleep(self, seconds):
            nonlocal now
            now += seconds
            assert now < 5, "the job is waited for longer than its limit"

    running = {"app": {"state": "RUNNING", "finalStatus": "UNDEFINED"}}
    monkeypatch.setattr(cluster, "time", SimpleNamespace(monotonic=lambda: now))
    for name, answer in {"submit": "job_1_1", "ask": running, "ended": []}.items():
        monkeypatch.setattr(cluster.Cluster, name, lambda *asked, answer=answer: answer)
    run = object.__new__(attempts._Run)
    run.cell = {"settings": {}, "job_limit_seconds": 0.5}
    run.attempt = SimpleNamespace(watch=Looks())
    run.cluster = cluster.Cluster(None, {}, tmp_path, 1, 3072)
    with pytest.raises(InvalidOutput, match=r"^the job had not ended after 0\.5 s$"):
        run._job("small", DATA)
    assert 0.5 <= now < 1


DATA = Prices(PROJECT, 100, 60, 9000, "in", "out")


def history(conf=None, **counted) -> dict:
    counters = {name: {"map": 100, "reduce": 60} for name in judge.COUNTERS.values()} | counted
    told = {
        **{
            "id": "job_1",
            "submitTime": 1000,
            "startTime": 3500,
            "finishTime": 21000,
            "mapsCompleted": 2,
            "reducesCompleted": 1,
        },
        **{"failedMapAttempts": 0, "failedReduceAttempts": 1, "killedMapAttempts": 1, "killedReduceAttempts": 0},
        **{f"avg{name}Time": 1500 for name in ("Map", "Shuffle", "Merge", "Reduce")},
    }
    return {"job": told, "counters": counters, "conf": {"mapreduce.task.io.sort.mb": 100, **(conf or {})}}


def test_a_job_is_what_its_history_says(study):
    found = judge.job("small", history(), DATA, {}, study["strategies"])
    assert (found["seconds"], found["before_start_seconds"], found["maps"]) == (20.0, 2.5, 2)
    assert found["served"]["mapreduce.task.io.sort.mb"] == "100"
    assert found["served"]["mapreduce.tasktracker.outofband.heartbeat"] == "not set"
    values = readings.values(found)
    assert values["time"] == 20.0 and values["spills"] == 1.0 and values["written"] == 160
    assert judge.problem([found], []) == "2 tasks were made again"
    assert "worker2 ended" in judge.problem([found], ["x-worker2"])


@pytest.mark.parametrize(
    ("given", "settings", "said"),
    [
        (history(), {"mapreduce.task.io.sort.mb": "200"}, "mapreduce.task.io.sort.mb = 100, and was given 200"),
        (history(MAP_INPUT_RECORDS={"map": 99, "reduce": 0}), {}, "read 99 records of 100"),
        (history(REDUCE_OUTPUT_RECORDS={"map": 0, "reduce": 61}), {}, "made 61 records, and 60 are distinct"),
    ],
)
def test_a_job_that_did_something_else_does_not_count(study, given, settings, said):
    with pytest.raises(InvalidOutput, match=said):
        judge.job("small", given, DATA, settings, study["strategies"])


def test_numbers_are_compared_as_numbers(study):
    served = history({"mapreduce.map.sort.spill.percent": "0.90"})
    assert judge.job("small", served, DATA, {"mapreduce.map.sort.spill.percent": "0.9"}, study["strategies"])


def observed(study, plan, effects=None) -> pd.DataFrame:
    """Return observations: every metric is 100 in every cell, with 1 % noise. `effects` are factors by strategy."""
    noise, rows = np.random.default_rng(1), []
    for cell in plan["cells"].values():
        for repetition in range(1, cell["repetitions"] + 1):
            for name, metric in study["metrics"].items():
                if metric["source"].partition(".")[0] in cell["sizes"]:
                    times = np.prod([(effects or {}).get(part, 1.0) for part in strategies.parts(cell["strategy"])])
                    value = 100 * times * np.exp(noise.normal(0, 0.01))
                    described = {key: metric[key] for key in ("label", "unit", "better")}
                    own = {key: cell[key] for key in ("runtime", "strategy", "workers")}
                    rows.append(
                        {**own, "repetition": repetition, "metric": name, **described, "value": value, "censored": False}
                    )
    return pd.DataFrame(rows)


def test_changes_are_those_against_the_baseline_within_blocks(study, plan):
    table = statistics.changes(observed(study, plan, {"lzo_compression": 0.5})).set_index(["metric", "strategy"])
    row = table.loc["time_small", "lzo_compression"]
    assert row["change"] == pytest.approx(-0.5, abs=0.02) and row["change_low"] < -0.5 < row["change_high"]
    assert np.isnan(table.loc["time_small", "baseline"]["change"])
    # A single block has a change, but no interval.
    once = table.loc["time_small", "lz4_compression"]
    assert once["change"] == pytest.approx(0, abs=0.05) and np.isnan(once["change_low"])


def test_effects_of_a_factorial_are_found(study, plan_of):
    plan = plan_of(repetitions=8)
    table = observed(study, plan, {"buffer": 0.9, "lzo_compression": 0.5})
    doubled = table["strategy"].str.contains("buffer") & table["strategy"].str.contains("lzo")
    table.loc[doubled, "value"] *= 1.2
    factors = run_tables.factors_of(plan, "factorial")
    assert factors == ["buffer", "lzo_compression"]
    found = statistics.effects(table[table["metric"] == "time_small"], factors).set_index("effect")
    assert found.loc["buffer+lzo_compression", "change"] == pytest.approx(0.2, abs=0.03)
    # A main effect is the average over the settings of the other strategy.
    assert found.loc["lzo_compression", "change"] == pytest.approx(0.5 * np.sqrt(1.2) - 1, abs=0.02)
    assert set(found["n"]) == {32} and len(found) == 3


def test_effects_need_every_combination(study, plan):
    table = observed(study, plan)
    some = table[(table["metric"] == "time_small") & ~table["strategy"].str.contains("[+]", regex=True)]
    assert statistics.effects(some, ["buffer", "lzo_compression"]).empty


@pytest.mark.parametrize("name", ["fig15", "fig16", "figf1"])
def test_figures_are_drawn(study, plan, name):
    own = {**plan, "cells": {cell["path"]: cell for cell in study.design.cells.shown(plan, study, name)}}
    shown = drawn(render.figure_data(study, plan, name, observed(study, own, {"lzo_compression": 0.5}), {}))
    check(shown.figure)
    assert re.search(r"Farthest from (the baseline|no effect): LZO, -[45]\d % \[", shown.alternative)


def test_a_claim_compares_strategies_on_data_of_its_size(study, plan):
    claims = {claim["id"]: claim for claim in book.load("li2018-hadoop")}
    asked = DESIGN.contrasts.comparison_finder(plan, study)
    (one,) = asked(claims["li2018-hadoop-c36"])
    assert (one.a.metric, one.a.cell, one.b.cell) == ("time_small", "docker/lzo_compression", "docker/baseline")
    assert len(asked(claims["li2018-hadoop-c37"])) == 10
    # Three strategies are compared in pairs, on two sizes.
    assert len(asked(claims["li2018-hadoop-c41"])) == 6


def test_small_data_do_not_answer_for_large_ones(plan, plan_of):
    assert "of one on 168 MB" in DESIGN.contrasts.unmet_needs(plan)["gigabytes"]
    assert DESIGN.contrasts.unmet_needs(plan_of("paper", host=host_of(1, 4, memory=64 * GIB))) == {}


def test_settings_stand_beside_the_paper_s(study, tmp_path):
    table = run_tables.settings(TableRequest(study, "table_settings", tmp_path))
    ours = table[table["by"] == "here"].set_index("key")["to"]
    assert ours["mapreduce.task.io.sort.factor"] == "100" and ours["workers"] == "4"
    assert set(table.loc[table["by"] == "the paper", "strategy"]) <= set(study["strategies"])


def test_words():
    assert DESIGN.report.cell_label("docker/buffer+lzo_compression", {}) == "Docker, buffer and LZO compression"


def test_a_jar_that_is_cut_off_on_the_way_is_told(tmp_path, monkeypatch):
    """A server promises more than it sends."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer():
        connection = server.accept()[0]
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nsome")
        connection.close()

    threading.Thread(target=answer, daemon=True).start()
    lock = tmp_path / "jars.lock"
    lock.write_text(f"{'0' * 64}  a/b/1/b-1.jar\n")
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path / "store"))
    monkeypatch.setattr(jars, "REPOSITORY", f"http://127.0.0.1:{server.getsockname()[1]}")
    with server, pytest.raises(Unavailable, match=r"b-1\.jar cannot be fetched: .*IncompleteRead"):
        jars.place_jars(lock, tmp_path / "new")


def test_jars_are_locked_and_another_file_is_refused(tmp_path, monkeypatch):
    listed = jars.read_lock(PROJECT / "containers/hadoop/jars.lock")
    assert len(listed) > 150 and any(path.startswith("org/apache/hadoop/hadoop-hdfs/") for path in listed)
    content = b"a jar"
    lock = tmp_path / "jars.lock"
    lock.write_text(f"{hashlib.sha256(content).hexdigest()}  a/b/1/b-1.jar\n")
    (tmp_path / "mirror/a/b/1").mkdir(parents=True)
    (tmp_path / "mirror/a/b/1/b-1.jar").write_bytes(content)
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path / "store"))
    monkeypatch.setattr(jars, "REPOSITORY", f"file://{tmp_path}/mirror")
    jars.place_jars(lock, tmp_path / "first")
    assert (tmp_path / "first/b-1.jar").read_bytes() == content
    # The jar is kept, so that the mirror is not used again.
    (tmp_path / "mirror/a/b/1/b-1.jar").write_bytes(b"another")
    jars.place_jars(lock, tmp_path / "second")
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path / "other"))
    with pytest.raises(Unavailable, match="is not the file that was locked"):
        jars.place_jars(lock, tmp_path / "third")
    lock.write_text("short a.jar\n")
    with pytest.raises(PlimsollError, match="jars.lock, line 1"):
        jars.read_lock(lock)

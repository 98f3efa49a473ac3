"""Neighbours that could not be seen: from the record of a run to what tests, verdicts and pages say."""

import pandas as pd
import pytest
from plimsoll import __main__ as stages
from plimsoll import runtimes
from plimsoll.analysis import collect, neighbours
from plimsoll.claims import book, evaluate
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config import studies
from plimsoll.measuring import record
from plimsoll.pages import wording
from plimsoll.planning import planner
from plimsoll.runtimes import base
from plimsoll.services import containers

from tests.unit.test_collect import CELLS, found

UNSEEN = {"before": {"busy_share": 0.01}, "during": {"neighbour_share": None, "apart": False}}
SAYS = "what neighbours used could not be told apart from the runs, so that none was left out for it."


@pytest.fixture
def folder(tmp_path, liu2020):
    """Return a study's results: a run of bare metal, and a run of Docker whose processor time was not counted."""
    records = [found(CELLS[0]), found(CELLS[1], noise=UNSEEN)]
    for one in records:
        record.write(record.path_of(tmp_path / "runs", one["cell"]["path"], 1), one)
    plan = {"design": "splitting", "cells": {one["cell"]["path"]: one["cell"] for one in records}}
    made = collect.collect_some(tmp_path / "runs", plan, liu2020, [(path, 1) for path in CELLS], None)
    for name, table in zip(("observations", "runs"), made, strict=True):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def test_tests_say_of_which_runtimes_neighbours_were_not_seen(folder):
    paths = [word for name in ("observations", "runs") for word in (f"--{name}", str(folder / f"{name}.csv"))]
    assert stages.main(["tests", "--study", "liu2020", *paths, "--output", str(folder / "tests.csv")]) == 0
    tests = pd.read_csv(folder / "tests.csv")
    assert set(tests["reference"]) == {CELLS[0]} and set(tests["runtime"]) == {"docker"}
    assert not tests["neighbours_apart"].any()
    seen = pd.read_csv(folder / "runs.csv").assign(neighbours_apart=True)
    assert neighbours.mark(tests.drop(columns="neighbours_apart"), seen)["neighbours_apart"].all()
    # A row of another runtime is concerned only if it is compared with such a run.
    others = tests.assign(runtime="podman").drop(columns="neighbours_apart")
    runs = pd.read_csv(folder / "runs.csv")
    assert neighbours.mark(others, runs)["neighbours_apart"].all()
    assert not neighbours.mark(others.assign(reference=CELLS[1]), runs)["neighbours_apart"].any()


def test_a_verdict_says_in_how_many_cells_neighbours_were_not_seen(folder, liu2020, config, small_host):
    plan = planner.make(liu2020, studies.profile("quick"), small_host, config, {})
    observations, runs = (collect.table(folder / f"{name}.csv", plan["factors"]) for name in ("observations", "runs"))
    measured = StudyObservations(liu2020, plan, observations, runs)
    assert measured.unwatched == {CELLS[1]}
    results, _ = evaluate.evaluate(book.load("liu2020"), measured, liu2020["alpha"])
    about = [result for result in results if result["unwatched"]]
    assert about and {result["unwatched"] for result in about} == {1}
    assert wording.unobserved_neighbours(about[0]) == f"In 1 of the cells that it is about, {SAYS}"
    assert {wording.unobserved_neighbours(result) for result in results if result not in about} == {""}


def test_services_know_whether_anybody_counts_their_containers(tmp_path, monkeypatch):
    runtime = runtimes.find("podman-rootless")
    monkeypatch.setattr(containers.cgroup, "mounts", dict)

    def start(specs):
        nodes = [base.HOST.__class__(spec.name) for spec in specs]
        nodes[-1].uncounted = nodes[-1].name.endswith("uncounted")
        return nodes

    monkeypatch.setattr(runtime, "start", start, raising=False)
    services = containers.Services(runtime, "x", tmp_path)
    services.start([services.spec("c0", {})])
    assert services.counted and containers.all_counted(services, None)
    services.start([services.spec("c1", {}), services.spec("uncounted", {})])
    services.start([services.spec("c2", {})])
    assert not services.counted and not containers.all_counted(None, services)

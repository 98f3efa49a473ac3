"""Resources of measuring really fail during a study: on its own machine, the engine is killed and the image removed."""

import json
import re
import time
from collections import Counter

import pytest
from plimsoll.images import builder

from tests.project import RUNS
from tests.workflow.conftest import SETTINGS

# A third repetition would show nothing more about an engine that fails.
TWICE = (SETTINGS[0], "repetitions=2", *SETTINGS[2:])


def said(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("plimsoll: ")]


@pytest.mark.long
def test_an_engine_that_cannot_start_containers_for_a_while_is_waited_for(study):
    study.settings = TWICE
    process = study.start()
    study.wait_for(2, process)
    # The engine still answers, and has its containerd again after ten seconds.
    study.host.run("pkill", "-KILL", "-x", "containerd")
    text, _ = process.communicate(timeout=400)
    assert process.returncode == 0, text
    records = study.records()
    assert len(records) == study.planned()
    assert {record["status"] for record in records} == {"valid"}
    # An attempt that began without containerd may have ended after its return.
    assert {attempt["status"] for record in records for attempt in record["invalid_attempts"]} <= {"interrupted", "failed"}
    assert any(record["invalid_attempts"] for record in records)


@pytest.mark.long
def test_an_engine_that_is_killed_is_started_again_and_every_run_is_valid(study):
    study.settings = TWICE
    process = study.start()
    study.wait_for(2, process)
    study.host.kill_engine()
    text, _ = process.communicate(timeout=400)
    assert process.returncode == 0, text
    records = study.records()
    assert len(records) == study.planned()
    assert {(record["status"], record["reason"]) for record in records} == {("valid", None)}
    (interrupted,) = [record for record in records if record["invalid_attempts"]]
    assert [attempt["status"] for attempt in interrupted["invalid_attempts"]] == ["interrupted"]
    assert "values" not in interrupted["invalid_attempts"][0] and interrupted["attempts"] == 2
    assert f"liu2020: {len(records)} valid, 1 repeated" in text
    # The new engine outlives the workflow, and no run counts it as its own process.
    assert study.host.run("docker", "ps", "--all", "--quiet") == ""


@pytest.mark.long
def test_an_image_that_is_removed_is_loaded_again_and_is_the_same(study):
    process = study.start()
    study.wait_for(2, process)
    # A running container keeps its image, so the image is removed between two runs.
    digest = builder.build("hpcc", "bootstrap")["id"]
    study.host.run("sh", "-c", f"until docker rmi --force {digest} >/dev/null 2>&1; do sleep 0.01; done")
    text, _ = process.communicate(timeout=400)
    assert process.returncode == 0, text
    records = study.records()
    assert Counter(record["status"] for record in records) == {"valid": study.planned()}
    assert len({record["image"]["id"] for record in records}) == 1
    attempts = [attempt for record in records for attempt in record["invalid_attempts"]]
    assert [attempt["status"] for attempt in attempts] == ["interrupted"]
    assert "was removed" in attempts[0]["reason"]


def test_an_engine_that_does_not_come_back_stops_the_workflow_and_the_next_start_completes_it(study):
    study.settings = TWICE
    # The workflow does not start an engine that this variable names.
    named = {"DOCKER_HOST": "unix:///run/docker.sock"}
    study.project.change("scripts/plimsoll/measuring/resources.py", "WAIT_SECONDS = 60.0", "WAIT_SECONDS = 4.0")
    process = study.start(**named)
    study.wait_for(2, process)
    study.host.kill_engine()
    begun = time.monotonic()
    text, _ = process.communicate(timeout=400)
    assert 3 < time.monotonic() - begun < 70
    assert process.returncode == 1
    assert "Traceback" not in text + study.project.log()
    last = said(text)[-1]
    assert (
        last.startswith("plimsoll: The Docker engine does not answer (")
        and "start it (bash scripts/setup/docker.sh does)" in last
        and "is measured then" in last
    )
    # No line follows it.
    assert text.endswith(f"{last}\n")
    kept = study.records()
    assert len(kept) < study.planned() and {record["status"] for record in kept} == {"valid"}
    study.host.start_engine()
    process = study.start(**named)
    text, _ = process.communicate(timeout=400)
    assert process.returncode == 0, text
    records = study.records()
    assert len(records) == study.planned() and {record["status"] for record in records} == {"valid"}
    assert all(record in records for record in kept)


@pytest.mark.long
def test_an_engine_that_hangs_is_named_in_bounded_time_and_the_same_command_completes_the_study_when_it_goes_on(study):
    """A hanging engine takes every request, and answers none."""
    study.settings = TWICE
    # The usual times are long for a test: a minute, also for a run whose ranks the engine does not end, and ten seconds
    # per request.
    study.project.change("scripts/plimsoll/measuring/resources.py", "WAIT_SECONDS = 60.0", "WAIT_SECONDS = 4.0")
    study.project.change("scripts/plimsoll/runtimes/engine.py", "ANSWER_SECONDS = 10", "ANSWER_SECONDS = 3")
    study.project.change("config/profiles/ci.yaml", "  standard: {exact: 60, over: 120}", "  standard: {exact: 10, over: 20}")
    study.project.change("scripts/setup/docker.sh", "answers=10", "answers=3")
    process = study.start()
    study.wait_for(2, process)
    study.host.run("pkill", "-STOP", "-x", "dockerd")
    try:
        begun = time.monotonic()
        text, _ = process.communicate(timeout=400)
        assert time.monotonic() - begun < 200
        assert process.returncode == 1 and "Traceback" not in text
        assert said(text)[-1].startswith(
            "plimsoll: The Docker engine does not answer ('docker version --format' did not answer"
        )
        begun = time.monotonic()
        set_up = study.project.folder / "scripts/setup/docker.sh"
        done = study.host.ask("env", "PLIMSOLL_ENGINE_SECONDS=2", "bash", str(set_up))
        assert time.monotonic() - begun < 60
        assert done.returncode == 1 and "did not answer within 2 s" in done.stderr and "end it if it hangs" in done.stderr
    finally:
        study.host.run("pkill", "-CONT", "-x", "dockerd")
    assert study.host.ask("bash", str(study.host.set_up / "docker.sh")).returncode == 0
    process = study.start()
    text, _ = process.communicate(timeout=400)
    assert process.returncode == 0, text
    records = study.records()
    assert len(records) == study.planned() and {record["status"] for record in records} == {"valid"}


@pytest.mark.long
def test_a_cell_without_a_run_that_counts_is_told_and_tried_again_by_so_many_starts(fresh):
    fresh.keep_three_cells()
    path = fresh.folder / "config/profiles/ci.yaml"
    usual = path.read_text()
    # No run ends within this limit.
    path.write_text(usual.replace("exact: 60, over: 120", "exact: 0.02, over: 0.02").replace("attempts: 3", "attempts: 1"))
    for start in (1, 2, 3):
        done = fresh.snakemake("all", "--cores", "all")
        assert done.returncode == 1, done.stderr
        sentence = said(done.stderr)[-1]
        assert "cells of liu2020 have no run that counts: uma/" in sentence and "(timeout: the run took longer" in sentence
        for name in ("claims.html", "liu2020/report.html"):
            assert (fresh.folder / "results" / name).stat().st_size > 0
        records = [json.loads((fresh.folder / path).read_text()) for path in fresh.files(RUNS)]
        # The ci profile allows two starts, so the third tries nothing.
        assert {record["attempts"] for record in records} == {min(start, 2)}
        lines = [line for line in fresh.log().splitlines() if re.match(r"\[ *\d+/\d+\]", line)]
        assert len(lines) == (len(records) if start < 3 else 0)
    # The user does what the sentence advises, after the cause was removed.
    assert "raise `starts` in config/profiles/ci.yaml" in sentence
    assert "starts: 2" in usual
    path.write_text(usual.replace("starts: 2", "starts: 3"))
    done = fresh.snakemake("all", "--cores", "all")
    assert done.returncode == 0, done.stderr
    assert "has a run that counts" in (fresh.folder / "results/liu2020/complete.txt").read_text()

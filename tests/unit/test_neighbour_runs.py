"""A program beside the one that is timed: the loop that keeps it up, cells, what it costs, and the sentence about it."""

import shutil
import subprocess
import time

import numpy as np
import pandas as pd
import pytest
from plimsoll import designs
from plimsoll.designs.program import effects, neighbour, program_answer
from plimsoll.designs.program.factors import ALONE, FIRST, HOST, OTHER, SAME
from plimsoll.features.try_program import files, neighbour_runs, stages, timer
from plimsoll.workloads.base import InvalidOutput

from tests.unit import test_program as programs

COMMAND = ["stress-ng", "--stream", "1"]
STUDY = {**programs.STUDY, "program": {**programs.STUDY["program"], "beside": COMMAND}}


def prepared(folder):
    (folder / "given").mkdir()
    (folder / "given/case.txt").write_text("1")
    neighbour.prepare(folder, folder / "given", "PATH=/usr/bin:/bin\0LOOP=yes\0")
    return folder / neighbour.FOLDER


def test_a_neighbour_runs_over_and_over_in_its_own_folder_and_ends_with_the_context(tmp_path):
    own = prepared(tmp_path)
    enter = lambda words: [str(timer.program_path()), *words]  # noqa: E731 - a name for one expression
    with neighbour.run_repeatedly(enter, own, ["sh", "-c", "echo $LOOP >> case.txt; echo noise; sleep 0.02"]):
        deadline = time.monotonic() + 20
        while (own / "work/case.txt").read_text().count("yes") < 3:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    time.sleep(0.1)
    number = len((own / "work/case.txt").read_text())
    time.sleep(0.2)
    assert len((own / "work/case.txt").read_text()) == number and (tmp_path / "given/case.txt").read_text() == "1"


@pytest.mark.parametrize(("command", "told"), [(["false"], "status 1"), (["no-such-program"], "status 127")])
def test_a_run_whose_neighbour_ended_does_not_count(tmp_path, command, told):
    enter = lambda words: [str(timer.program_path()), *words]  # noqa: E731 - a name for one expression
    with pytest.raises(InvalidOutput, match=told), neighbour.run_repeatedly(enter, prepared(tmp_path), command):
        time.sleep(1)


def test_a_neighbour_without_an_end_is_packed_with_its_program(tmp_path):
    asked = programs.of_command("true", beside=("sleep", "73"), limit=5.0)
    begun = time.monotonic()
    names = {path.name for path in files._of_neighbour(asked)}
    assert "sleep" in names and time.monotonic() - begun < 60
    assert not subprocess.run(["pgrep", "-f", "^sleep 73$"], capture_output=True).stdout
    assert files._of_neighbour(programs.of_command("true")) == []


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_files_that_were_opened_before_a_traced_run_takes_too_long_are_known_and_it_is_ended(tmp_path):
    (tmp_path / "opened").touch()
    asked = programs.of_command("sh", "-c", f": <{tmp_path}/opened; sleep 2468")._replace(limit=0.5)
    assert tmp_path / "opened" in files._opened(asked)
    assert not subprocess.run(["pgrep", "-f", "^sleep 2468$"], capture_output=True, text=True).stdout


def world(costs: dict[tuple[str, str], float]):
    """Return observations in which each (stage, runtime) of `costs` is slower by its share than without a neighbour."""
    calm = programs.world({})
    rows = [calm]
    for stage in (ALONE, SAME, OTHER):
        for runtime in (HOST, "docker"):
            if (stage, runtime) != (OTHER, HOST):
                own = calm[(calm["stage"] == FIRST) & (calm["runtime"] == runtime)].assign(stage=stage)
                noise = np.exp(np.random.default_rng(len(rows)).normal(0, 0.002, len(own)))
                rows.append(own.assign(value=own["value"] * (1 + costs.get((stage, runtime), 0.0)) * noise))
    return pd.concat(rows, ignore_index=True)


def test_the_sentence_says_what_a_neighbour_costs_here_in_one_container_and_in_two():
    found = effects.table(world({(SAME, HOST): 0.2, (OTHER, "docker"): 1.5}))
    (told,) = program_answer.neighbour(STUDY, found)
    here, one, two = told.split("; ")
    assert here.startswith("Beside `stress-ng --stream 1`: on this host it is 20 % slower than alone [+1")
    assert one.startswith("in one Docker container it is alike within 0.")
    assert two.startswith("in two Docker containers it is 2.5 times as slow as alone [2.")
    assert programs.sentences(STUDY, found) == programs.sentences(STUDY, effects.table(programs.world({})))


def test_too_few_runs_beside_a_neighbour_are_no_answer_and_none_is_given_without_one():
    few = effects.table(programs.world({}))
    assert program_answer.neighbour(STUDY, few) == ["Beside `stress-ng --stream 1`: too few runs count for an answer."]
    assert program_answer.neighbour(programs.STUDY, few) == []


def test_costs_of_a_neighbour_start_no_other_stage():
    found = effects.table(world({(SAME, "docker"): 0.5, (OTHER, "docker"): 0.5}))
    assert stages.steps_of(found) == stages.remedies_of(found) == stages.sides_of(found) == []
    assert not program_answer.losses(STUDY, found)["docker"]


def test_runs_beside_a_neighbour_are_in_one_block_with_those_without(monkeypatch, tmp_path):
    made = {**STUDY, "experiments": neighbour_runs.experiments(["host", "files", "docker"], ["docker", "singularity"])}
    assert stages._cells(made, ALONE, ["host", "docker"]) == [
        *("alone/host", "alone/docker", "same/host", "same/docker", "other/docker"),
    ]
    made["program"] = {**made["program"], "expected_seconds": 1.0, "runs": 1}
    cells = stages._cells(made, ALONE, ["host", "docker"])
    # Two cells of this host and three of Docker's, of two runs each.
    assert stages.block_seconds(made["program"], cells) == pytest.approx(2 * 0.2 + 3 * 1.0 + 5 * 2)
    assert stages.missing(made, tmp_path, ALONE, ["host", "docker"]) == stages.LEAST * stages.block_seconds(
        made["program"], cells
    )
    assert "Singularity" in neighbour_runs.left_out(["docker", "singularity"]) and neighbour_runs.left_out(["docker"]) is None


def test_only_cells_with_a_neighbour_depend_on_it():
    def prints(command: list[str]) -> dict[str, str]:
        program = {"command": ["x"], "runs": 2, "expected_seconds": 1.0, "limit_seconds": 5, "beside": command}
        experiments = {stage: {"runtime": ["docker"]} for stage in (FIRST, ALONE, SAME, OTHER)}
        config, host = {"runtimes": {"docker": "optional"}}, {"sizes": {"host": []}}
        cells = designs.find("program").cells.wanted({"program": program, "experiments": experiments}, {}, host, config, {})
        return {cell["stage"]: cell["fingerprint"] for _, cell in cells}

    one, other = prints(["a"]), prints(["b"])
    assert {stage for stage in one if one[stage] != other[stage]} == {SAME, OTHER}

"""A program beside another one for real: they share this host or a container, or each has a container of its own."""

import os
import re

import pytest
from plimsoll.designs.program.factors import ALONE, HOST, OTHER, SAME

from tests.containers.test_try import measured
from tests.containers.test_try_ranks import attempted, made

NEIGHBOUR = f"near-{os.getpid()}"
# The program takes longer where it sees its neighbour among the processes.
LOOKS = f"""
grep -qsx {NEIGHBOUR} /proc/[0-9]*/comm && sleep 0.3
echo done
"""


def written(folder):
    """Write the program and its neighbour into a folder, and return it."""
    (folder / "run.sh").write_text(LOOKS)
    (folder / NEIGHBOUR).write_text("#!/bin/sh\nsleep 5\n")
    (folder / NEIGHBOUR).chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def two_programs(tmp_path_factory):
    """The study of a program with a neighbour: its place, its content and its image."""
    with made(written(tmp_path_factory.mktemp("beside")), "--beside", f"./{NEIGHBOUR}", "--", "sh", "run.sh") as of_both:
        yield of_both


@pytest.mark.parametrize(
    ("stage", "runtime", "sees"),
    [(ALONE, HOST, False), (SAME, HOST, True), (ALONE, "docker", False), (SAME, "docker", True), (OTHER, "docker", False)],
)
def test_a_neighbour_runs_where_its_stage_says(two_programs, stage, runtime, sees):
    found = attempted(two_programs, runtime, stage)
    assert found["status"] == "valid", found["reason"]
    [timed] = found["timed"]
    assert (timed["values"]["wall"] > 0.25) == sees, timed


@pytest.mark.long
def test_the_answer_says_what_a_neighbour_costs_in_each_place(tmp_path):
    words = ("--minutes", "3", "--width", "10%", "--beside", f"./{NEIGHBOUR}", "--", "sh", "run.sh")
    answer = measured(written(tmp_path), *words)["answer"]
    # A sentence that is undecided has a semicolon of its own.
    places = "on this host it (.*); in one Docker container it (.*); in two Docker containers it (.*)"
    told = re.fullmatch(rf"Beside `\./{NEIGHBOUR}`: {places}", answer[-1])
    assert ["times as slow as alone" in place for place in told.groups()] == [True, True, False], answer

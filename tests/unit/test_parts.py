"""Parts of a launch: what a program says through a pipe, and how long it may take."""

import sys

import pytest
from plimsoll.measuring import parts, process

# What containers/hpcc/rank_report.c does, in Python.
PROGRAM = """
import os, sys, time
def say(line):
    with open("parts.control", "w") as pipe:
        pipe.write(line + "\\n")
    with open("parts.answer") as pipe:
        assert pipe.readline() == "go\\n"
for name in open("parts.txt").read().split():
    say("begin " + name)
    time.sleep(5 if name == "slow" else 0.02)
    if name == "bad":
        sys.exit(3)
say("end")
"""


@pytest.fixture
def launched(tmp_path):
    def launch(limits):
        looks = iter(range(100))
        told = parts.Parts(tmp_path, limits, lambda: next(looks))
        try:
            code = process.run_bounded([sys.executable, "-S", "-c", PROGRAM], {}, tmp_path, 10, told.wait)
        finally:
            told.close()
        return code, told

    return launch


def test_each_part_ends_where_the_next_begins(launched):
    code, told = launched({"x": 5, "y": 5, "z": 5})
    assert code == 0 and told.begun == ["x", "y", "z"] and told.running() is None
    assert [told.span(name, "end") for name in told.begun] == [(0, 1), (1, 2), (2, 3)]


def test_a_part_that_takes_too_long_ends_the_launch_and_is_known(launched):
    code, told = launched({"x": 5, "slow": 0.3, "z": 5})
    assert code is None and told.begun == ["x", "slow"] and told.running() == "slow"
    assert told.span("x", "end") == (0, 1) and told.span("slow", "end") == (1, "end")


def test_a_part_in_which_the_program_ends_is_known(launched):
    code, told = launched({"x": 5, "bad": 5, "z": 5})
    assert code == 3 and told.running() == "bad"
    assert (told.begun, told.span("bad", "end")) == (["x", "bad"], (1, "end"))


def test_a_launch_that_ends_before_its_first_part_has_none(tmp_path):
    told = parts.Parts(tmp_path, {"x": 5}, lambda: 0)
    try:
        assert process.run_bounded([sys.executable, "-S", "-c", "pass"], {}, tmp_path, 10, told.wait) == 0
    finally:
        told.close()
    assert told.begun == [] and told.running() is None

"""Judging a run, from what its ranks reported."""

import contextlib
import json
import subprocess
import sys
import time

import pytest
from plimsoll import designs, measure
from plimsoll.designs.splitting import attempt
from plimsoll.errors import PlimsollError
from plimsoll.measuring import lock, process, record
from plimsoll.workloads.base import InvalidOutput


def rank(segments=2, network=0, objects=(("hpcc", "aa"), ("libmpi.so.40", "bb")), single_copy="allowed"):
    return {
        "shared_memory_segments": segments,
        "network_bytes": {"lo": network},
        "single_copy": single_copy,
        "objects": [["", ""], *map(list, objects)],
    }


@pytest.mark.parametrize(
    ("segments", "network", "carried"),
    [
        ([2, 2], 1000, "shared memory"),
        ([0, 0], 3e9, "TCP"),
        ([1, 1], 1000, "TCP"),
        ([2, 2, 2, 2], 1000, "shared memory and TCP"),
        ([4, 4, 4, 4], 1000, "shared memory"),
        ([2, 2], 3e9, "shared memory and TCP"),
        ([1], 0, "nothing"),
    ],
)
def test_transport(segments, network, carried):
    found = attempt.transport([rank(s, network) for s in segments])
    assert found["carried_by"] == carried


def test_bits_leave_out_what_is_no_part_of_the_benchmark():
    ranks = [rank(objects=[("hpcc", "aa"), ("linux-vdso.so.1", "01"), ("mca_btl_tcp.so", "02")])]
    assert attempt.bits(ranks) == {"hpcc": "aa"}


def test_ranks_with_other_bits_are_refused():
    with pytest.raises(InvalidOutput, match="did not all run the same libmpi"):
        attempt.bits([rank(), rank(objects=[("libmpi.so.40", "cc")])])


def test_a_command_s_end_is_seen_at_once(tmp_path):
    begun = time.monotonic()
    assert process.run_bounded([sys.executable, "-S", "-c", "import sys; sys.exit(3)"], {}, tmp_path, 10) == 3
    assert time.monotonic() - begun < 1


def test_a_command_that_takes_too_long_is_ended_with_all_its_children(tmp_path):
    script = "import subprocess, sys, time; subprocess.Popen(['sleep', '987654']); time.sleep(60)"
    assert process.run_bounded([sys.executable, "-c", script], {"PATH": "/usr/bin:/bin"}, tmp_path, 0.5) is None
    time.sleep(0.2)
    assert subprocess.run(["pgrep", "-f", "sleep 987654"], capture_output=True).stdout == b""


def test_a_command_that_ignores_sigterm_is_killed(tmp_path):
    script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    begun = time.monotonic()
    assert process.run_bounded([sys.executable, "-c", script], {}, tmp_path, 0.5) is None
    assert time.monotonic() - begun < 10


CELL = {"path": "uma/exact/E1/bare/any/beff", "fingerprint": "new", "reason": None}


def plan_of(folder, **changes):
    path = folder / "plan.json"
    path.write_text(json.dumps({"study": "s", "limits": {"starts": 2}, "cells": {CELL["path"]: {**CELL, **changes}}}))
    return path


def test_a_cell_that_is_not_in_the_plan_is_refused(tmp_path):
    with pytest.raises(PlimsollError, match="has no cell uma/exact/E9"):
        measure.measure(plan_of(tmp_path), "uma/exact/E9/bare/any/beff", 1, tmp_path / "1.json", tmp_path / "image.json")


def test_a_cell_that_cannot_be_measured_here_is_refused_with_the_reason(tmp_path):
    path = plan_of(tmp_path, reason="this host has one socket")
    with pytest.raises(PlimsollError, match="cannot be measured here: this host has one socket"):
        measure.measure(path, CELL["path"], 1, tmp_path / "1.json", tmp_path / "image.json")


def test_a_plan_that_was_made_anew_meanwhile_is_refused(tmp_path):
    with pytest.raises(PlimsollError, match="was made anew meanwhile"):
        measure.measure(plan_of(tmp_path), CELL["path"], 1, tmp_path / "1.json", tmp_path / "image.json", "old")


@pytest.mark.parametrize("design", sorted(designs.known()))
def test_the_measuring_path_imports_no_heavy_library(design):
    """Nor `dataclasses`, which imports `inspect`: as long as everything else together. A cluster is spoken to by HTTP, whose
    module imports `hashlib`; a run with one takes a minute."""
    heavy = ("pandas", "scipy", "numpy", "yaml", "argparse", "dataclasses", *(("hashlib",) if design != "tuning" else ()))
    script = (
        "import sys, plimsoll.measure; from plimsoll import designs, environments; environments.known(); "
        f"designs.find('{design}').attempts; print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_strays_of_a_killed_run_are_found_by_their_environment(monkeypatch):
    # A variable of the test's own: nothing of a measurement that goes on beside it may be killed.
    monkeypatch.setattr(lock, "VARIABLE", "PLIMSOLL_TEST_OF_STRAYS")
    stray = subprocess.Popen(["sleep", "300"], env={lock.VARIABLE: "killed", "PATH": "/usr/bin:/bin"})
    other = subprocess.Popen(["sleep", "300"], env={"PATH": "/usr/bin:/bin"})
    try:
        time.sleep(0.1)
        lock.kill_strays()
        assert stray.wait(timeout=5) == -9
        assert other.poll() is None
    finally:
        stray.kill()
        other.kill()
        other.wait()


def test_what_another_process_has_measured_while_it_was_waited_for_is_kept(tmp_path, monkeypatch):
    """A process that outlives its workflow has the lock, and writes the record that the next workflow is about to make."""
    path, target = plan_of(tmp_path), tmp_path / "1.json"
    (tmp_path / "image.json").write_text("{}")
    made = {"format": 1, "study": "s", "cell": {}, "repetition": 1, "fingerprint": "new", "status": "valid", "attempts": 1}

    @contextlib.contextmanager
    def waits(environments):
        record.write(target, made)
        yield

    monkeypatch.setattr(lock, "machine", waits)
    monkeypatch.setattr(measure, "_measure_all", lambda *_: pytest.fail("it was measured twice"))
    assert measure.measure(path, CELL["path"], 1, target, tmp_path / "image.json") == made
    assert record.read(target) == made


ENDS = """
import os, subprocess, sys, time
from pathlib import Path
from plimsoll.errors import guarded
from plimsoll.measuring import stop

def work():
    stop.with_workflow()
    print("at work", flush=True)
    try:
        time.sleep(60)
    finally:
        Path(sys.argv[1]).write_text("taken down")

if os.environ.get("JOB"):
    sys.exit(guarded(work))
stop.announce(Path(sys.argv[1]).parent)
# Between them is a shell, as in the workflow.
subprocess.run(["bash", "-c", '"$@" || true', "bash", sys.executable, *sys.argv], env={**os.environ, "JOB": "1"})
"""


def test_a_job_ends_in_order_when_its_workflow_is_killed(tmp_path):
    script, told = tmp_path / "workflow.py", tmp_path / "told.txt"
    script.write_text(ENDS)
    killed = subprocess.Popen([sys.executable, str(script), str(told)], stdout=subprocess.PIPE, text=True)
    assert killed.stdout.readline() == "at work\n"
    killed.kill()
    killed.wait()
    end = time.monotonic() + 10
    while not told.exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert told.read_text() == "taken down"
    assert killed.stdout.read() == ""

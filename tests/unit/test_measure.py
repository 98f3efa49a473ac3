"""Judging a run, from what its ranks reported."""

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from plimsoll import designs, measure, runtimes
from plimsoll.designs.splitting import attempts, ranks
from plimsoll.errors import Lasting, PlimsollError
from plimsoll.measuring import lock, plan_file, process, record
from plimsoll.workloads import kernels
from plimsoll.workloads.base import InvalidOutput

from tests.conftest import DATA, begun, recorded


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
    found = attempts.transport([rank(s, network) for s in segments])
    assert found["carried_by"] == carried


def test_bits_leave_out_what_is_no_part_of_the_benchmark():
    ranks = [rank(objects=[("hpcc", "aa"), ("linux-vdso.so.1", "01"), ("mca_btl_tcp.so", "02")])]
    assert attempts.bits(ranks) == {"hpcc": "aa"}


def test_ranks_with_other_bits_are_refused():
    with pytest.raises(InvalidOutput, match="did not all run the same libmpi"):
        attempts.bits([rank(), rank(objects=[("libmpi.so.40", "cc")])])


def blas(kernels="Zen", processor="AVX2", threads=1):
    return {"blas": {"kernels": kernels, "threads": threads, "processor": processor}}


def test_the_kernels_of_the_ranks_are_told_if_they_are_the_same_on_one_thread():
    assert attempts.library_kernels([blas(), blas()]) == {"OpenBLAS": "Zen"}
    with pytest.raises(InvalidOutput, match="did not all run the same kernels of OpenBLAS, but Haswell, Zen"):
        attempts.library_kernels([blas(), blas("Haswell")])
    with pytest.raises(InvalidOutput, match="OpenBLAS had 4 threads in a rank, not one"):
        attempts.library_kernels([blas(), blas(threads=4)])


@pytest.mark.parametrize(
    ("chosen", "processor", "remedy"),
    [
        ("Prescott", "AVX2", "Haswell"),
        # These are the kernels that Debian 12's OpenBLAS chose on an Emerald Rapids.
        ("Prescott", "AVX-512", "SkylakeX"),
        ("Sandybridge", "AVX2", "Haswell"),
        ("Haswell", "AVX-512", "SkylakeX"),
        ("neoversen1", "SVE", "armv8sve"),
        ("Prescott", "SSE", None),
        ("Sandybridge", "AVX", None),
        ("Zen", "AVX2", None),
        # OpenBLAS chooses it for a processor with AVX2.
        ("Excavator", "AVX2", None),
        ("Cooperlake", "AVX-512", None),
        ("armv8", "NEON", None),
        ("a64fx", "SVE", None),
    ],
)
def test_kernels_that_are_narrower_than_the_processor_stop_the_study(chosen, processor, remedy):
    if remedy is None:
        return kernels.refuse_narrow(chosen, processor)
    with pytest.raises(Lasting, match=f"its {chosen} kernels, .* has {processor}.*: set PLIMSOLL_BLAS_KERNELS={remedy},"):
        kernels.refuse_narrow(chosen, processor)


@pytest.mark.parametrize(("chosen", "processor"), [("Zen", "AVX3"), ("Zen", "NEON"), ("Zon", "AVX2"), ("", "SSE")])
def test_kernels_that_nobody_knows_are_no_measurement(chosen, processor):
    with pytest.raises(InvalidOutput, match="has no kernels"):
        kernels.refuse_narrow(chosen, processor)


@pytest.mark.alone
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


CELL = {
    **{"path": "uma/exact/E1/bare/any/beff", "fingerprint": "new", "reason": None, "runtime": "bare", "useful": True},
    **{"experiments": [], "host": [], "repetitions": 1},
}
HEAD = {
    **{"study": "s", "design": "splitting", "factors": [], "image": "hpcc", "seed": 1, "repetitions": 1, "profile": "ci"},
    "limits": {"attempts": 1, "starts": 2, "idle": {}, "neighbours": {}},
}


def plan_of(folder, **changes):
    path = folder / "plan.json"
    path.write_text(json.dumps({**HEAD, "cells": {CELL["path"]: {**CELL, **changes}}, "order": [[CELL["path"], 1]]}))
    return path


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"seed": 1', '"seed": "1"', "is damaged (seed: it is '1', and should be a whole number): delete it, and type"),
        ('"starts": 2, ', "", "is damaged (limits: it lacks 'starts')"),
        ('"cells": {', '"cells": [], "sells": {', "is damaged (its cells are no dictionaries)"),
        ('"order": [[', '"order": [5, [', "is damaged (its order does not consist of cells with repetitions)"),
        (", 1]]}", ", 2]]}", "has no repetition 1 of uma/exact/E1/bare/any/beff"),
        ('"experiments": []', '"experiments": {}', "is damaged (experiments: it is keys with values, and should be a list)"),
        ('"useful": true', '"useful": true, "launch": "x"', "it lacks 'affinity'"),
        ("}", "", "is damaged (it is no complete JSON"),
    ],
)
def test_a_damaged_plan_is_refused_before_anything_is_measured(tmp_path, old, new, words):
    path = plan_of(tmp_path)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(PlimsollError) as problem:
        measure.measure(path, CELL["path"], 1, tmp_path / "1.json", tmp_path / "image.json")
    assert words in str(problem.value) and not (tmp_path / "1.json").exists()


def test_a_plan_that_is_not_there_is_named(tmp_path):
    with pytest.raises(PlimsollError, match="plan.json cannot be read: No such file or directory"):
        measure.measure(tmp_path / "plan.json", "x", 1, tmp_path / "1.json", tmp_path / "image.json")


# A report as the ranks of a run left it.
REPORT = (DATA / "outputs/rank.json").read_text()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("", "", None),
        # The kernel writes the name of a cgroup like this if systemd has escaped a dash in it.
        ("1:cpu:/docker", "1:cpu:/serial\\x2dgetty", None),
        ("}", "", "rank 0 left no report"),
        ('"benchmark_seconds": 0.922593', '"benchmark_seconds": 0.922', "rank 0 left no report"),
        ('"benchmark_seconds": 0.922593', '"benchmark_seconds": 0.000000', "a number in it cannot be"),
        ('"benchmark_seconds": 0.922593', '"benchmark_seconds": NaN', "rank 0 left no report"),
        ('"benchmark_seconds": 0.922593', '"benchmark_seconds": "0.9"', "benchmark_seconds: it is '0.9'"),
        ('"rank": 0', '"rank": 1', "a number in it cannot be"),
        ('"cpus_allowed": "0-1"', '"cpus_allowed": "0-99999999"', "is no list of processors"),
        ('"cpus_allowed": "0-1"', '"cpus_allowed": ""', "its cpus_allowed is empty"),
        ('"voluntary": 4', '"voluntary": -4', "a number in it cannot be"),
        ('"eth0": 1642436300', '"eth0": 18446744073709551615', "network_bytes.eth0: it is 18446744073709551615, and should be"),
        ('["hpcc", ', '["hpcc", "x", ', "objects.1: it has 3 entries, and should have 2"),
        ('"migrations": 1,', "", "it lacks 'migrations'"),
        ('"threads": 1,', "", "it lacks 'threads'"),
        ("[100.000000, 100.250000]", "[100.250000, 100.250000]", "a number in it cannot be"),
        ("[100.000000, 100.250000]", "[100.000000]", "work.0: it has 1 entries, and should have 2"),
    ],
)
def test_a_rank_s_report_is_whole_or_refused(tmp_path, old, new, words):
    (tmp_path / "ranks").mkdir()
    (tmp_path / "ranks/0.json").write_text(REPORT.replace(old, new, 1) if old else REPORT)
    if words is None:
        assert ranks.read(tmp_path, 1)[0]["benchmark_seconds"] == 0.922593
        return
    with pytest.raises(InvalidOutput) as problem:
        ranks.read(tmp_path, 1)
    assert words in str(problem.value)


def test_a_cell_that_is_not_in_the_plan_is_refused(tmp_path):
    with pytest.raises(PlimsollError, match="has no cell uma/exact/E9"):
        measure.measure(plan_of(tmp_path), "uma/exact/E9/bare/any/beff", 1, tmp_path / "1.json", tmp_path / "image.json")


def test_a_cell_that_cannot_be_measured_here_is_refused_with_the_reason(tmp_path):
    path = plan_of(tmp_path, reason="this host has one socket")
    with pytest.raises(PlimsollError, match="cannot be measured here: this host has one socket"):
        measure.measure(path, CELL["path"], 1, tmp_path / "1.json", tmp_path / "image.json")


def test_a_plan_that_was_made_anew_meanwhile_is_refused(tmp_path):
    with pytest.raises(PlimsollError, match="was written again while this workflow ran"):
        measure.measure(plan_of(tmp_path), CELL["path"], 1, tmp_path / "1.json", tmp_path / "image.json", "old")


@pytest.mark.parametrize("design", sorted(designs.known()))
def test_the_measuring_path_imports_no_heavy_library(design):
    """`dataclasses` imports `inspect`, which takes as long as everything else together. Only runs with a cluster, which
    take a minute, may import `hashlib`, for HTTP."""
    heavy = ("pandas", "scipy", "numpy", "yaml", "pydantic", "psutil", "argparse", "dataclasses", "difflib")
    heavy += ("hashlib", "tempfile") if design != "tuning" else ()
    script = (
        "import sys, plimsoll.measure; from plimsoll import designs, runtimes; runtimes.known(); "
        f"designs.find('{design}').attempts; print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("name", "own"), [("bare", {"bare"}), ("podman", {"docker", "podman"}), ("docker-open", {"steps"})])
def test_a_run_imports_the_runtime_that_it_uses_and_no_other(name, own):
    files = {path.stem for path in Path(runtimes.__file__).parent.glob("*.py") if "RUNTIMES = " in path.read_text()}
    script = (
        f"import sys, plimsoll.measure; from plimsoll import designs, runtimes; print(runtimes.find('{name}').name); "
        f"designs.find('splitting').attempts; print(*(m for m in sys.modules if m.startswith('plimsoll.runtimes.')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found, imported = done.stdout.splitlines()
    assert found == name
    imported = {module.removeprefix("plimsoll.runtimes.") for module in imported.split()}
    if name in runtimes.known():
        assert imported & files == own
    assert own <= imported


def test_every_runtime_is_found_by_its_name_and_a_wrong_name_is_told():
    named = {**runtimes.known_steps(), **runtimes.known()}
    assert {name: runtimes.find(name) for name in named} == named
    with pytest.raises(PlimsollError, match=r"There is no runtime 'dokcer' \(did you mean docker\?\)"):
        runtimes.find("dokcer")


def test_strays_of_a_killed_run_are_found_by_their_environment(monkeypatch):
    # The variable is the test's own: nothing of a measurement at the same time may be killed.
    monkeypatch.setattr(lock, "VARIABLE", "PLIMSOLL_TEST_OF_STRAYS")
    stray = begun(["sleep", "300"], env={lock.VARIABLE: "killed", "PATH": "/usr/bin:/bin"})
    other = begun(["sleep", "300"], env={"PATH": "/usr/bin:/bin"})
    try:
        lock.kill_strays()
        assert stray.wait(timeout=60) == -9
        assert other.poll() is None
    finally:
        stray.kill()
        other.kill()
        other.wait()


def test_what_another_process_has_measured_while_it_was_waited_for_is_kept(tmp_path, monkeypatch):
    """A process that outlives its workflow has the lock, and writes the record that the next workflow is about to make."""
    path, target = plan_of(tmp_path), tmp_path / "1.json"
    (tmp_path / "image.json").write_text("{}")
    made = recorded(fingerprint="new")

    @contextlib.contextmanager
    def waits(runtimes):
        record.write(target, made)
        yield

    monkeypatch.setattr(lock, "machine", waits)
    # This cell has only the keys that the test needs.
    monkeypatch.setattr(plan_file, "refuse_misfits", lambda *_: None)
    monkeypatch.setattr(plan_file, "image", lambda path: {})
    monkeypatch.setattr(measure, "_measure_all", lambda *_: pytest.fail("it was measured twice"))
    assert measure.measure(path, CELL["path"], 1, target, tmp_path / "image.json") == made
    assert record.read(target) == made


ENDS = """
import os, subprocess, sys, time
from pathlib import Path
from plimsoll.errors import run_guarded
from plimsoll.measuring import stop

def work():
    stop.with_workflow()
    told = "taken down"
    try:
        print("at work", flush=True)
        time.sleep(120)
        told = "went on to its end"
    finally:
        Path(sys.argv[1]).write_text(told)

if os.environ.get("JOB"):
    sys.exit(run_guarded(work))
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
    # The job has the same output, so this reads until the job has ended, however slow the machine is.
    assert killed.stdout.read() == ""
    assert told.read_text() == "taken down"

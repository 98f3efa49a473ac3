"""Failures of resources: distinguished from failures of the measured programs, and repaired or waited for in bounded time."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from plimsoll.errors import WORKFLOW, Outage
from plimsoll.measuring import noise, resources, stop


class Means:
    """A resource of runs that is unavailable in the first `away` looks."""

    def __init__(self, away: int):
        self.away, self.looks, self.repaired = away, 0, []

    def examine(self):
        self.looks += 1
        if self.looks <= self.away:
            raise Outage("the engine does not answer", "start it")

    def repair(self, problem):
        self.repaired.append(problem.cause)


def test_what_comes_back_in_time_is_waited_for_and_repaired_once(monkeypatch, capsys):
    monkeypatch.setattr(resources, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(resources, "WAIT_SECONDS", 5)
    engine = Means(away=3)
    resources.restore(Outage("the engine does not answer", "start it"), engine.examine, engine.repair)
    assert engine.looks == 4 and engine.repaired == ["the engine does not answer"]
    assert capsys.readouterr().err.splitlines() == [
        "plimsoll: the engine does not answer. No run is lost. Trying to repair it for up to 5 s.",
        "plimsoll: it works again, and measuring goes on.",
    ]


@pytest.mark.alone
def test_what_does_not_come_back_is_an_outage_within_the_time(monkeypatch):
    monkeypatch.setattr(resources, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(resources, "WAIT_SECONDS", 0.3)
    engine, begun = Means(away=10**9), time.monotonic()
    with pytest.raises(Outage, match="the engine does not answer: start it"):
        resources.restore(Outage("a container ended", "look"), engine.examine, engine.repair)
    assert 0.3 <= time.monotonic() - begun < 1
    assert engine.repaired == ["a container ended", "the engine does not answer"]


def test_a_repair_that_fails_does_not_end_the_waiting(monkeypatch, capsys):
    monkeypatch.setattr(resources, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(resources, "WAIT_SECONDS", 5)
    engine = Means(away=2)

    def repair(problem):
        raise Outage("no copy", "build it")

    resources.restore(Outage("the image was removed", "build it"), engine.examine, repair)
    assert "Plimsoll could not repair it, and waits until it works again: no copy: build it." in capsys.readouterr().err


def test_errors_of_the_host_are_outages_and_others_are_not():
    found = resources.outage_of(OSError(errno.ENOSPC, "No space left on device", "/x/1.json"))
    assert "a disk of this host is full" in str(found) and "/x/1.json" in str(found) and "free some" in str(found)
    assert resources.outage_of(OSError(errno.ENOENT, "No such file")) is None


def test_a_full_disk_is_told_by_its_folder(tmp_path):
    if os.geteuid():
        pytest.skip("mounting a small disk needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(disk)], check=True)
    try:
        resources.refuse_full(disk)
        (disk / "fill").write_bytes(bytes(8 * 2**20))
        with pytest.raises(Outage, match=f"the disk of {disk} is full: free some space"):
            resources.refuse_full(disk)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    resources.refuse_full(tmp_path / "none")


def test_what_the_kernel_killed_before_is_not_this_run_s(monkeypatch):
    monkeypatch.setattr(noise, "killed_for_memory", lambda: 6)
    resources.refuse_killed(6)
    with pytest.raises(Outage, match="this host had no memory left"):
        resources.refuse_killed(5)


def test_the_kernel_counts_what_it_kills():
    assert noise.killed_for_memory() >= 0
    text = open("/proc/vmstat").read()
    assert ("oom_kill " not in text) or f"oom_kill {noise.killed_for_memory()}\n" in text


def test_a_run_asks_the_workflow_that_started_it_to_start_nothing_more(tmp_path):
    job = (
        f"from plimsoll.measuring import stop; from pathlib import Path; stop.workflow(Path({str(tmp_path / 's')!r}), 'Gone.')"
    )
    script = (
        "import signal, subprocess, sys; from pathlib import Path; from plimsoll.measuring import stop\n"
        "seen = []\n"
        "signal.signal(signal.SIGTERM, lambda *_: seen.append(1))\n"
        f"stop.announce(Path({str(tmp_path)!r}))\n"
        f"subprocess.run(['sh', '-c', sys.executable + ' -c \"$0\"; true', {job!r}], check=True)\n"
        f"print(len(seen), *stop.words(Path({str(tmp_path)!r})))\n"
        f"stop.announce(Path({str(tmp_path)!r})); print(*stop.words(Path({str(tmp_path)!r})))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "1 Gone.\n\n"


def test_a_process_that_did_not_start_the_run_is_left_alone(tmp_path, monkeypatch):
    other = subprocess.Popen(["sleep", "60"])
    try:
        monkeypatch.setenv(WORKFLOW, str(other.pid))
        stop.workflow(tmp_path, "Gone.")
        time.sleep(0.1)
        assert other.poll() is None
        other.send_signal(signal.SIGTERM)
        assert other.wait(timeout=60) == -signal.SIGTERM
    finally:
        other.kill()
        other.wait()


def test_complete_tells_the_cells_without_a_run_that_counts():
    from plimsoll.analysis import complete
    from plimsoll.errors import PlimsollError

    plan = {"study": "s", "profile": "ci", "limits": {"starts": 2}, "factors": ["x", "y"]}
    plan["order"] = [["a/b", 1], ["a/b", 2], ["a/c", 1]]
    rows = [
        {"x": "a", "y": "b", "status": "failed", "reason": "r1"},
        {"x": "a", "y": "b", "status": "censored", "reason": "r2"},
        {"x": "a", "y": "c", "status": "valid", "reason": ""},
    ]
    assert complete.check(json.loads(json.dumps(plan)), rows) == (
        "Each of the 2 cells of s that can be measured here has a run that counts."
    )
    rows[1]["status"] = "timeout"
    with pytest.raises(PlimsollError, match=r"^1 of 2 cells of s has no run that counts: a/b \(timeout: r2\)\. "):
        complete.check(plan, rows)

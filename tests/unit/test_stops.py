"""Programs of a run that are stopped and continued."""

import itertools
import os
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from plimsoll.host import cgroup, disk, freezer, processes
from plimsoll.measuring import noise, process, watch

MOUNTED = cgroup.mounts()


@contextmanager
def running(*words):
    program = subprocess.Popen(words)
    try:
        yield program
    finally:
        program.kill()
        program.wait()


def until(number, state):
    """Wait until a process is in this state (at most 5 s)."""
    end = time.monotonic() + 5
    while processes.facts(f"/proc/{number}/stat").state != state and time.monotonic() < end:
        time.sleep(0.01)


def test_a_program_that_was_stopped_while_it_was_measured_is_named():
    with running("sleep", "30") as program:
        stops = watch.Stops(MOUNTED)
        begun = time.monotonic()
        stops.look()
        program.send_signal(signal.SIGSTOP)
        until(program.pid, "T")
        before = time.monotonic()
        stops._next = 0.0
        stops.look()
        between = time.monotonic()
        program.send_signal(signal.SIGCONT)
        until(program.pid, "S")
        stops._next = 0.0
        stops.look()
        ended = time.monotonic()
    named = [f"sleep (process {program.pid}) was stopped"]
    assert stops.within([(begun, ended)]) == stops.within([(before, between)]) == named
    assert stops.within([(begun, before), (between, ended)]) == []


def test_a_program_is_found_by_its_parents_and_by_its_cgroup(tmp_path):
    words = "sleep 30 & echo $! >child; wait"
    with running("sh", "-c", f"cd {tmp_path}; {words}") as shell:
        end = time.monotonic() + 5
        while not ((tmp_path / "child").exists() and (tmp_path / "child").read_text()) and time.monotonic() < end:
            time.sleep(0.01)
        child = int((tmp_path / "child").read_text())
        try:
            assert {shell.pid, child} <= processes.descendants(os.getpid())
            assert child in processes.descendants(shell.pid) and shell.pid not in processes.descendants(shell.pid)
            with cgroup.counting([shell.pid], MOUNTED, f"plimsoll-test-{os.getpid()}") as groups:
                if groups:
                    assert shell.pid in cgroup.members(groups)
            os.kill(child, signal.SIGSTOP)
            until(child, "T")
            assert processes.stopped_pids([shell.pid, child, 2**22 + 1]) == [child]
        finally:
            os.kill(child, signal.SIGKILL)


def test_the_looks_take_no_more_than_their_share(monkeypatch):
    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

        def thread_time(self):
            return self.now

    clock, looks = Clock(), []
    monkeypatch.setattr(watch, "time", clock)
    stops = watch.Stops({})

    def looked(takes):
        def stopped():
            looks.append(clock.now)
            clock.now += takes
            return []

        return stopped

    def every_tenth(takes, until):
        monkeypatch.setattr(stops, "_stopped", looked(takes))
        looks.clear()
        while clock.now < until:
            stops.look()
            clock.now += 0.1
        return [round(later - earlier, 1) for earlier, later in itertools.pairwise(looks)]

    # Between two looks passes a thousand times what one look takes, but at most two seconds.
    assert set(every_tenth(0.0005, 110.0)) == {0.5}
    stops.of([], None)
    assert all(2.0 <= gap <= 2.2 for gap in every_tenth(0.01, 130.0)) and len(looks) > 5


def test_a_measuring_process_that_was_stopped_itself_says_so():
    stops = watch.Stops({})
    now = time.monotonic()
    stops.woken(now - 0.5)
    assert stops.within([(now - 10, now + 10)]) == []
    stops.woken(now - 3.04)
    assert stops.within([(now - 10, now + 10)]) == ["the measuring process did not run for 3.0 s"]


def test_a_run_whose_program_was_stopped_is_disturbed(tmp_path):
    class Stopping(watch.Watch):
        """Stops the program at the first look, and continues it at the second."""

        looks = 0

        def look(self):
            self.looks += 1
            if self.looks == 1:
                (self.child,) = processes.descendants(os.getpid()) - others
                os.kill(self.child, signal.SIGSTOP)
                until(self.child, "T")
            if self.looks == 2:
                os.kill(self.child, signal.SIGCONT)
            super().look()

    others = processes.descendants(os.getpid())
    machine = noise.Machine()
    looking = Stopping(disk.Room({}), watch.Stops(MOUNTED))
    before = noise.snapshot(machine, None, [], ())
    assert process.run_bounded(["sleep", "3"], {"PATH": "/usr/bin:/bin"}, tmp_path, 30, looking) == 0
    after = noise.snapshot(machine, None, [], ())
    stopped = looking.stops.within([(before.when, after.when)])
    during = noise.neighbours([(before, after)], machine.processors, 1.0, 1000.0, apart=True, stopped=stopped)
    assert during["disturbed"] and any(what.startswith("sleep (process ") for what in during["stopped"])
    reason = noise.disturbance(during)["reason"]
    assert reason == f"{' and '.join(stopped)} during the run"


@pytest.fixture
def freezable():
    """Yield a group of the freezer, and a group of the same name in another hierarchy if there are two."""
    root = MOUNTED.get("freezer", MOUNTED.get("unified"))
    if root is None or not os.access(root, os.W_OK):
        pytest.skip("only root makes groups, and freezes them")
    groups = list(dict.fromkeys(where / f"plimsoll-test-{os.getpid()}" for where in (root, MOUNTED.get("cpuacct", root))))
    for group in groups:
        group.mkdir()
    try:
        yield groups
    finally:
        for group in groups:
            group.rmdir()


def test_a_frozen_container_is_found(freezable):
    frozen, group = freezable[0], freezable[-1]
    words = ("freezer.state", "FROZEN", "THAWED") if (frozen / "freezer.state").exists() else ("cgroup.freeze", "1", "0")
    with running("sleep", "30") as program:
        # The watched group has all containers of a run, and one of them is frozen.
        (below := frozen / "docker-0123456789abcdef.scope").mkdir()
        try:
            (below / "cgroup.procs").write_text(str(program.pid))
            stops = watch.Stops(MOUNTED)
            stops.of([group], None)
            begun = time.monotonic()
            assert freezer.frozen([group], MOUNTED) == []
            (below / words[0]).write_text(words[1])
            try:
                end = time.monotonic() + 5
                while not freezer.frozen([group], MOUNTED) and time.monotonic() < end:
                    time.sleep(0.01)
                stops.look()
            finally:
                (below / words[0]).write_text(words[2])
        finally:
            program.kill()
            program.wait()
            below.rmdir()
    assert stops.within([(begun, time.monotonic())]) == ["a container (cgroup 0123456789ab) was paused"]


def test_groups_below_are_looked_into(tmp_path):
    for path, numbers in (("a", "1\n2\n"), ("a/b/c", "3\n"), ("d", "4\n")):
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / path / "cgroup.procs").write_text(numbers)
    (tmp_path / "a/b/cgroup.procs").write_text("")
    assert cgroup.members([tmp_path / "a", tmp_path / "gone"]) == {1, 2, 3}
    assert cgroup.members([]) == set()


def test_a_group_that_cannot_be_frozen_is_not(tmp_path):
    assert freezer.frozen([Path("/sys/fs/cgroup/none")], MOUNTED) == []
    assert freezer.frozen([tmp_path], {}) == []


def test_a_program_that_a_loader_was_asked_for_has_its_own_name():
    loader = next((path for path in Path("/lib64").glob("ld-linux*")), None) or next(Path("/lib").glob("ld-linux*"))
    words = [str(loader), "--inhibit-cache", "--library-path", "/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu"]
    with running(*words, shutil.which("sleep"), "30") as program:
        end = time.monotonic() + 5
        while processes.name(program.pid) != "sleep" and time.monotonic() < end:
            time.sleep(0.01)
        assert processes.name(program.pid) == "sleep"
    assert processes._loaded(["ld-linux", "--library-path", "/x"]) == processes._loaded(["ld-linux"]) == ""
    assert processes.name(program.pid) == "a program"

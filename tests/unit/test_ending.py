"""What a run has started ends in bounded time, prints a bounded amount, and leaves no process. Otherwise a sentence
names it."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from plimsoll.designs.nesting import gate
from plimsoll.errors import Outage, Unavailable
from plimsoll.host import cgroup, disk, processes
from plimsoll.measuring import lock, process, resources, strays, watch
from plimsoll.runtimes import commands
from plimsoll.workloads import loop, program_output

from tests import disks


@contextlib.contextmanager
def frozen(folder):
    """Yield a folder in which nothing can be written. A process that tries waits in the kernel."""
    place = folder / "place"
    with disks.mounted(folder / "disk", place, 16 * 2**20):
        subprocess.run(["fsfreeze", "--freeze", str(place)], check=True)
        try:
            yield place
        finally:
            subprocess.run(["fsfreeze", "--unfreeze", str(place)], check=True)


def wait_for_hanging(pid):
    """Return when a process has waited in the kernel in 20 checks in a row. Fail after 10 s."""
    seen, end = 0, time.monotonic() + 10
    while seen < 20:
        assert time.monotonic() < end, f"process {pid} does not hang"
        seen = seen + 1 if " (sh) D " in Path(f"/proc/{pid}/stat").read_text() else 0
        time.sleep(0.01)


@pytest.fixture
def hanging(tmp_path):
    """Yield a process that waits in the kernel, and that nothing ends until the test has ended."""
    if not shutil.which("fsfreeze"):
        pytest.skip("freezing a file system needs fsfreeze")
    with frozen(tmp_path) as place:
        child = subprocess.Popen(["sh", "-c", "echo ready && >file"], cwd=place, stdout=subprocess.PIPE)
        # A program that is being loaded also waits in the kernel, for the disk, and can be killed there.
        assert child.stdout.readline() == b"ready\n"
        wait_for_hanging(child.pid)
        yield child
    child.communicate()


def test_what_cannot_be_killed_is_given_up_on_and_named(hanging, monkeypatch):
    monkeypatch.setattr(process, "KILLED_SECONDS", 0.5)
    begun = time.monotonic()
    with pytest.raises(Outage, match=rf"^sh, process {hanging.pid}, was killed and does not end, as it is in the kernel \("):
        process.kill(hanging)
    assert time.monotonic() - begun < 5
    assert processes.undying() == {hanging.pid}
    with pytest.raises(Outage, match=rf"process {hanging.pid}, .*: look into the kernel's log \(dmesg\), and restart"):
        resources.refuse_undying()


def test_what_hangs_in_the_kernel_and_was_not_killed_is_nobody_s_problem(hanging):
    assert processes.undying() == set()
    resources.refuse_undying()


@pytest.mark.parametrize("ask", [lambda words: commands.output(words, 0.3), lambda words: commands.all_of([words], 0.3)])
def test_a_command_that_cannot_be_killed_is_waited_for_in_bounds(monkeypatch, ask):
    monkeypatch.setattr(process, "KILLED_SECONDS", 0.3)
    monkeypatch.setattr(process.os, "kill", lambda *_: None)
    children, started = [], subprocess.Popen
    monkeypatch.setattr(
        commands.subprocess, "Popen", lambda *words, **more: children.append(started(*words, **more)) or children[0]
    )
    try:
        with pytest.raises(Outage, match="sleep, process [0-9]+, was killed and does not end"):
            ask(["sleep", "60"])
    finally:
        monkeypatch.undo()
        children[0].kill()
        children[0].wait()


def test_who_has_a_pipe_of_a_killed_command_is_not_waited_for():
    """A grandchild keeps the pipe open after the command was killed."""
    begun = time.monotonic()
    with pytest.raises(Unavailable, match="did not answer within 0.3 s"):
        commands.output(["sh", "-c", "sleep 5 & sleep 60"], 0.3)
    assert time.monotonic() - begun < 3


# Prints without end, but slowly enough that a failing test does not fill the disk.
PRINTS = "while sleep 0.01; do head -c 100000 /dev/zero; done"


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(process, "MOST_BYTES", 2**20)
    monkeypatch.setattr(process, "LEFT_BYTES", 2**10)


@pytest.mark.parametrize(("to", "name"), [("1", "stdout.txt"), ("2", "stderr.txt")])
def test_a_program_that_prints_without_end_is_ended_and_its_output_cut(tmp_path, short, to, name):
    with pytest.raises(Unavailable, match=f"^it wrote more than 1 MiB to its {name}$"):
        process.run_bounded(["sh", "-c", f"echo $$ >pid; {PRINTS} >&{to}"], {"PATH": "/usr/bin:/bin"}, tmp_path, 60)
    assert not os.path.exists(f"/proc/{(tmp_path / 'pid').read_text().strip()}")
    # It went on for a moment after the cut.
    process.cut(tmp_path)
    assert (tmp_path / name).stat().st_size <= 2**20


def test_a_program_that_prints_much_and_ends_is_refused_too(tmp_path, short):
    with pytest.raises(Unavailable, match="it wrote more than 1 MiB"):
        process.run_bounded(["head", "-c", "3M", "/dev/zero"], {"PATH": "/usr/bin:/bin"}, tmp_path, 60)
    assert (tmp_path / "stdout.txt").stat().st_size == 2**10


def test_what_is_no_output_is_not_cut(tmp_path, short):
    (tmp_path / "a").mkdir()
    for name in ("a/short", "long"):
        (tmp_path / name).write_bytes(bytes(2**20 + (name == "long")))
    (tmp_path / "a/link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_bytes(bytes(2**21))
    process.refuse_endless([tmp_path / "a/link", tmp_path / "none", tmp_path / "a"])
    process.cut(tmp_path / "a")
    assert (tmp_path / "elsewhere").stat().st_size == 2**21 and (tmp_path / "a/short").stat().st_size == 2**20
    process.cut(tmp_path)
    assert (tmp_path / "long").stat().st_size == 2**10


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Yield a folder with a disk of 64 MiB. A program may not take more than 8 MiB of it if less than 48 MiB are left."""
    monkeypatch.setattr(disk, "TAKEN_BYTES", 8 * 2**20)
    monkeypatch.setattr(disk, "LEFT_BYTES", 48 * 2**20)
    with disks.mounted(tmp_path / "disk", place := tmp_path / "small", 64 * 2**20):
        yield place


def filling(place: Path) -> str:
    """Return a shell command that fills the disk within six seconds. Its PID is in the file `pid`."""
    return f"echo $$ >pid; while sleep 0.1; do head -c 1M /dev/urandom >>{place}/file; done"


def watching(room):
    return watch.Watch(room, watch.Stops({}))


def stopped(place: Path, folder: Path) -> bool:
    """Return whether the program that filled the disk has ended, long before the disk is full."""
    free = disk.free_bytes(place)
    time.sleep(0.3)
    ended = not os.path.exists(f"/proc/{(folder / 'pid').read_text().strip()}")
    return ended and disk.free_bytes(place) > free - 2**20 > 16 * 2**20


def test_a_program_that_fills_a_disk_is_ended_before_that_is_full(tmp_path, small):
    room = disk.Room({"the results": tmp_path, "the files": small, "others": tmp_path / "none"})
    reason = r"^it was stopped before the disk of the files [(]this attempt took 0[.]0 GiB, and .* GiB are free[)] was full$"
    with pytest.raises(Unavailable, match=reason):
        process.run_bounded(["sh", "-c", filling(small)], {"PATH": "/usr/bin:/bin"}, tmp_path, 60, watching(room))
    assert room.refused and stopped(small, tmp_path)
    # As long as the file is there, it may be from another program.
    with pytest.raises(Outage, match="^something fills the disk of the files [(].*[)], and .*: free some space[.]$"):
        room.refuse_filled()
    process.cut(small, 2**20)
    room.refuse_filled()


def test_a_disk_that_was_nearly_full_before_is_no_run_s_fault(tmp_path, small):
    (small / "file").write_bytes(bytes(2**24))
    room = disk.Room({"the files": small})
    (small / "more").write_bytes(bytes(2**22))
    room.refuse_filling()
    (small / "more").write_bytes(bytes(2**24))
    room.begin()
    room.refuse_filling()


def test_all_folders_on_the_same_disk_are_named(small):
    room = disk.Room({"the results": small})
    room.watch({"the containers": small})
    (small / "file").write_bytes(bytes(2**25))
    with pytest.raises(Unavailable, match="the disk of the results and of the containers [(]this attempt took"):
        room.refuse_filling()


def test_a_folder_that_cannot_be_seen_any_more_is_no_reason(tmp_path):
    (gone := tmp_path / "gone").mkdir()
    room = disk.Room({"the files": gone})
    gone.rmdir()
    room.refuse_filling()


def test_a_creation_that_fills_a_disk_is_refused_with_nothing_left(tmp_path, small, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unavailable, match="before the disk of the files [(]this attempt took"):
        gate.pass_together([["sh", "-c", filling(small)]], tmp_path, 30, watch=watching(disk.Room({"the files": small})))
    assert stopped(small, tmp_path)


def test_a_creation_that_prints_without_end_is_refused_with_nothing_left(tmp_path, short):
    words = ["sh", "-c", f"({PRINTS}) & echo $! >{tmp_path}/pid; wait"]
    with pytest.raises(Unavailable, match="more than 1 MiB to its 0.out"):
        gate.pass_together([words], tmp_path, 30)
    number = int((tmp_path / "pid").read_text())
    time.sleep(0.2)
    # The process that adopted it may be slow to reap it.
    assert number not in processes.started_since(0)


def test_the_files_that_an_iteration_prints_to_are_known_while_it_runs(tmp_path):
    assert loop.printed_now(tmp_path) == [tmp_path / "1.out", tmp_path / "1.err"]
    for name in ("1.out", "1.err", "9.out", "9.err", "10.out", "log.jsonl", "loop.err"):
        (tmp_path / name).touch()
    assert loop.printed_now(tmp_path) == [tmp_path / "10.out", tmp_path / "10.err"]
    assert loop.output_of(tmp_path, 3) == loop.printed_by(tmp_path, 3)[0]


def test_of_a_long_file_the_end_is_read(tmp_path):
    path = tmp_path / "long"
    with open(path, "wb") as file:
        file.truncate(2**33)
        file.seek(0, os.SEEK_END)
        file.write(b"\nwhy it failed\n\n")
    assert program_output.last_line(path, "nothing") == "why it failed"
    path.write_text(" \n\n")
    assert program_output.last_line(path, "nothing") == program_output.last_line(tmp_path / "none", "nothing") == "nothing"


LEAVES = "setsid sleep 300 >/dev/null 2>&1 & exit 0"


def end(name: str) -> None:
    """End the process that a text such as `sleep (process 12)` names."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(re.search(r"process (\d+)", name)[1]), 9)


def test_what_a_program_leaves_at_work_is_found_by_the_run_s_mark(monkeypatch):
    # The variable is the test's own: a sweep at the same time kills processes with the variable of runs.
    monkeypatch.setattr(lock, "VARIABLE", "PLIMSOLL_TEST_OF_STRAYS")
    identity, since = f"test{os.getpid()}", processes.now()
    variables = {lock.VARIABLE: identity, "PATH": "/usr/bin:/bin"}
    assert strays.describe(identity, [], since) == ""
    subprocess.run(["sh", "-c", LEAVES], env=variables, check=True)
    left = strays.describe(identity, [], since)
    try:
        assert re.fullmatch(r"sleep \(process \d+\)", left)
        # It is no stray of another run, nor one since a later moment.
        assert strays.describe("another", [], since) == ""
        time.sleep(0.05)
        assert strays.describe(identity, [], processes.now()) == ""
    finally:
        end(left)


def test_what_is_on_its_way_out_is_no_stray(monkeypatch):
    monkeypatch.setattr(lock, "VARIABLE", "PLIMSOLL_TEST_OF_STRAYS")
    identity, since = f"test{os.getpid()}", processes.now()
    subprocess.run(
        ["sh", "-c", "setsid sleep 0.3 & exit 0"], env={lock.VARIABLE: identity, "PATH": "/usr/bin:/bin"}, check=True
    )
    assert strays.describe(identity, [], since) == ""


def test_what_has_thrown_its_mark_away_is_found_by_its_group():
    mounted = cgroup.mounts()
    if os.geteuid() or "unified" not in mounted:
        pytest.skip("making a group needs root and version 2")
    group = mounted["unified"] / f"plimsoll-test-{os.getpid()}"
    (group / "below").mkdir(parents=True)
    since, left = processes.now(), ""
    try:
        joined = f"echo $$ >{group}/below/cgroup.procs; {LEAVES}"
        subprocess.run(["sh", "-c", joined], env={"PATH": "/usr/bin:/bin"}, check=True)
        left = strays.describe("none", [group], since)
        assert left.startswith("sleep (process ")
    finally:
        if left:
            end(left)
        time.sleep(0.2)
        (group / "below").rmdir()
        group.rmdir()


def test_a_child_s_exit_code_is_kept_when_it_has_ended_before_it_is_killed():
    child = subprocess.Popen([sys.executable, "-S", "-c", "raise SystemExit(3)"])
    assert process.ended_within(child.pid, 10)
    assert process.kill(child) == 3 == process.kill(child)


def test_what_a_container_was_started_for_is_its_own_however_late_it_begins():
    """A stray has the same parent: the container's first process, which adopts it."""
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("a namespace of processes needs root and unshare")
    words = ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", "sleep 300 & sleep 0.1; sleep 300 & sleep 300"]
    outer = subprocess.Popen(words)
    try:
        time.sleep(0.5)
        first = int(open(f"/proc/{outer.pid}/task/{outer.pid}/children").read())
        children = [int(number) for number in open(f"/proc/{first}/task/{first}/children").read().split()]
        assert len(children) == 3
        assert processes.of_containers({first, *children}) == {min(children)}
        # Outside of containers, the first child of a process is not spared.
        assert processes.of_containers({outer.pid, first}) == set()
    finally:
        outer.kill()
        outer.wait()


def test_what_a_container_adopts_is_not_what_it_was_started_for():
    """An instance of Apptainer starts nothing itself. What runs in it is started from outside, in another session."""
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("a namespace of processes needs root and unshare")
    leaves = "(setsid sleep 300 &); while :; do wait; sleep 0.01; done"
    words = ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", leaves]
    outer = subprocess.Popen(words)
    try:
        first, adopted = 0, []
        for _ in range(200):
            time.sleep(0.02)
            first = int(open(f"/proc/{outer.pid}/task/{outer.pid}/children").read() or 0)
            children = open(f"/proc/{first}/task/{first}/children").read().split() if first else []
            adopted = [int(each) for each in children if os.getsid(int(each)) == int(each)]
            if adopted:
                break
        assert adopted
        assert processes.of_containers({first, *adopted}) == set()
    finally:
        outer.kill()
        outer.wait()

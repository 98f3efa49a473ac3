import os
import pwd
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from plimsoll.host import cgroup
from plimsoll.measuring import noise

# Helpers, by process number and start time.
DAEMON, NEW = ("41", b"3"), ("90", b"8")
BURN = [sys.executable, "-c", "import time\nend = time.time() + 30\nwhile time.time() < end: pass"]

# Each test process has its own group: one process may leave a group while another is still in it.
GROUP = f"plimsoll-test-{os.getpid()}"


@pytest.fixture
def neighbour():
    process = subprocess.Popen(BURN)
    time.sleep(0.2)
    yield process
    process.kill()
    process.wait()


def snapshot(**changes):
    parts = {"when": 0.0, "machine": 0.0, "launched": 0.0, "containers": 0.0, "helpers": {}, "stolen": 0.0}
    return noise.Snapshot(**{**parts, **changes})


def test_a_busy_neighbour_is_seen(neighbour, monkeypatch):
    machine = noise.Machine()
    found = noise.wait_until_idle(machine, 0.3 / machine.processors, 0.05, 0.2)
    assert not found["idle"]
    assert found["busy_share"] > 0.6 / machine.processors
    assert found["waited_seconds"] >= 0.2
    told = f"the machine was not idle within {found['waited_seconds']:.0f} s (busiest: {found['busiest']}"
    monkeypatch.setattr(noise.machine_lock, "of_others", list)
    assert noise.not_idle(found) == f"{told})"
    monkeypatch.setattr(noise.machine_lock, "of_others", lambda: ["ann"])
    assert noise.not_idle(found) == f"{told}; a measurement of ann was killed, and its leftovers may be running)"


@pytest.mark.alone
def test_the_busiest_process_is_named_with_its_user(monkeypatch, neighbour):
    # The machine may have other busy processes.
    processes = noise._processes
    monkeypatch.setattr(noise, "_processes", lambda: (one for one in processes() if one.number == str(neighbour.pid)))
    name = Path(f"/proc/{neighbour.pid}/comm").read_text().strip()
    assert noise.busiest() == f"{name}, process {neighbour.pid} of {pwd.getpwuid(os.geteuid()).pw_name}"
    monkeypatch.setattr(noise, "_processes", lambda: iter([]))
    assert noise.busiest() == "no process that lasts"


@pytest.mark.alone
def test_who_starts_one_short_process_after_another_is_the_busiest(monkeypatch):
    shell = subprocess.Popen(["sh", "-c", "while :; do sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'; done"])
    try:
        processes = noise._processes
        own = {str(shell.pid)}
        monkeypatch.setattr(noise, "_processes", lambda: (one for one in processes() if {one.number, one.parent} & own))
        time.sleep(0.1)
        assert noise.busiest(0.5).startswith(f"sh, process {shell.pid} of ")
    finally:
        shell.kill()
        shell.wait()


def test_a_neighbour_s_time_is_not_taken_for_the_run_s(neighbour):
    machine = noise.Machine()
    account = cgroup.account(cgroup.mounts(), GROUP)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    before = noise.snapshot(machine, account, [], ())
    subprocess.run(
        [sys.executable, "-c", "import time\nend = time.time() + 0.5\nwhile time.time() < end: pass"],
        check=True,
    )
    after = noise.snapshot(machine, account, [], ())
    found = noise.neighbours([(before, after)], machine.processors, 0.05, 0.05, apart=True)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = ended.ru_utime + ended.ru_stime - children.ru_utime - children.ru_stime
    assert found["disturbed"]
    # Kernel threads also do work of their own.
    kernel = sum(used - before.helpers.get(thread, 0.0) for thread, used in after.helpers.items())
    assert found["own_seconds"] - kernel == pytest.approx(own, abs=0.1)
    # The machine may have other neighbours than the one of this test.
    assert 0.5 * found["seconds"] < found["neighbour_seconds"] < machine.processors * found["seconds"] - own + 0.1


def test_what_the_run_and_its_helpers_used_is_not_a_neighbour_s():
    before = snapshot(helpers={DAEMON: 40.0})
    after = snapshot(when=1.0, machine=1.9, launched=0.5, containers=1.0, helpers={DAEMON: 40.3, NEW: 0.06})
    found = noise.neighbours([(before, after)], 2, 0.03, 0.03, apart=True)
    assert found["neighbour_seconds"] == pytest.approx(0.04)
    assert not found["disturbed"]


def test_a_kernel_thread_that_ends_takes_nothing_from_the_run():
    """Kernel threads begin and end, with all the time that they have used since boot."""
    before = snapshot(helpers={DAEMON: 40.0, ("77", b"5"): 28.0})
    after = snapshot(when=1.0, machine=1.5, launched=1.2, helpers={DAEMON: 40.3})
    found = noise.neighbours([(before, after)], 2, 0.03, 0.03, apart=True)
    assert found["own_seconds"] == pytest.approx(1.5) and found["neighbour_seconds"] == 0 and not found["disturbed"]


def test_the_pieces_of_a_run_are_taken_together():
    pieces = [
        (snapshot(when=1.0, machine=5.0), snapshot(when=2.0, machine=6.2, launched=1.0)),
        (snapshot(when=4.0, machine=9.0, launched=1.0), snapshot(when=5.0, machine=10.0, launched=2.0)),
    ]
    found = noise.neighbours(pieces, 2, 0.03, 0.15, apart=True)
    assert found["seconds"] == 2 and found["neighbour_seconds"] == pytest.approx(0.2) and found["disturbed"]


@pytest.mark.parametrize(("used", "disturbed"), [(0.05, False), (0.14, False), (0.2, True)])
def test_thresholds(used, disturbed):
    found = noise.neighbours([(snapshot(), snapshot(when=2.0, machine=used))], 2, 0.03, 0.15, apart=True)
    assert found["disturbed"] is disturbed


def test_stolen_time_disturbs():
    assert noise.neighbours([(snapshot(), snapshot(when=1.0, stolen=0.5))], 2, 0.03, 0.15, apart=True)["disturbed"]


def test_where_a_run_s_own_time_is_not_known_only_what_was_stolen_disturbs():
    busy = [(snapshot(), snapshot(when=1.0, machine=2.0))]
    found = noise.neighbours(busy, 2, 0.03, 0.15, apart=False)
    assert not found["apart"] and found["neighbour_seconds"] is found["neighbour_share"] is None and not found["disturbed"]
    found = noise.neighbours(busy, 2, 0.03, 0.15, apart=True)
    assert found["disturbed"] and found["apart"]
    stolen = noise.neighbours([(snapshot(), snapshot(when=1.0, stolen=0.5))], 2, 0.03, 0.15, apart=False)
    assert noise.disturbance(stolen)["reason"] == "a hypervisor stole 0.50 s of processor time during the run"


def clocks(monkeypatch, epoch: float = 0.0, boot: float = 0.0) -> None:
    """Set two of the kernel's clocks ahead by these times (s)."""
    usual, read = time.time, time.clock_gettime
    monkeypatch.setattr(time, "time", lambda: usual() + epoch)
    monkeypatch.setattr(time, "clock_gettime", lambda clock: read(clock) + boot * (clock == time.CLOCK_BOOTTIME))


@pytest.mark.parametrize(
    ("epoch", "boot", "reason"),
    [
        (30.0, 0.0, "the clock was set by +30.00 s during the run"),
        (-0.2, 0.0, "the clock was set by -0.20 s during the run"),
        (20.0, 20.0, "the machine slept 20.00 s during the run"),
        (0.02, 0.0, None),
        (0.0, 0.0, None),
    ],
)
def test_a_clock_that_is_set_and_a_machine_that_sleeps_disturb(monkeypatch, epoch, boot, reason):
    machine = noise.Machine()
    before = noise.snapshot(machine, None, [], ())
    clocks(monkeypatch, epoch, boot)
    after = noise.snapshot(machine, None, [], ())
    found = noise.neighbours([(before, after)], machine.processors, 1.0, 1000.0, apart=True)
    assert found["disturbed"] is (reason is not None)
    if reason:
        assert noise.disturbance(found) == {"status": "disturbed", "reason": reason}


def test_a_clock_that_runs_as_fast_as_the_kernel_lets_it_does_not_disturb():
    hour = [(snapshot(), snapshot(when=3600.0, epoch=1.8))]
    assert not noise.neighbours(hour, 2, 0.03, 0.15, apart=True)["disturbed"]
    assert noise.neighbours([(snapshot(), snapshot(when=3600.0, epoch=2.0))], 2, 0.03, 0.15, apart=True)["set_seconds"] == 2.0
    # Nothing is measured between two pieces of a run.
    apart = [(snapshot(), snapshot(when=1.0)), (snapshot(when=2.0, epoch=9.0), snapshot(when=3.0, epoch=9.0))]
    assert not noise.neighbours(apart, 2, 0.03, 0.15, apart=True)["disturbed"]


def test_the_accounting_group_is_not_scheduled_as_one():
    """If the cpu controller is one of cgroup version 2, the group would be scheduled as one. Then there is no such group."""
    found = cgroup.mounts()
    group = cgroup.account(found, GROUP)
    if group is not None:
        assert "cpu" not in (group / "cgroup.controllers").read_text().split()
        assert str(group.name) in Path("/proc/self/cgroup").read_text()


@pytest.fixture(autouse=True)
def leave_the_group():
    """Move this process back to the root group, and remove the test's group."""
    yield
    root = cgroup.mounts().get("unified")
    if root and (root / GROUP).is_dir():
        (root / "cgroup.procs").write_text(str(os.getpid()))
        (root / GROUP).rmdir()


def test_cgroup_mounts():
    hybrid = "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
    assert {k: str(v) for k, v in cgroup.mounts(hybrid).items()} == {
        "cpu": "/sys/fs/cgroup/cpu,cpuacct",
        "cpuacct": "/sys/fs/cgroup/cpu,cpuacct",
        "unified": "/sys/fs/cgroup/unified",
    }
    assert cgroup.version(cgroup.mounts(hybrid)) == "1"
    assert cgroup.version(cgroup.mounts("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")) == "2"
    assert cgroup.version({}) == "none"

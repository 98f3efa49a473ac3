"""Quotas and heat that keep processors from a run, and memory on a disk: both disturb a run, and records say so."""

import contextlib
import os
import shutil
import subprocess
import time

import pytest
from plimsoll.host import cgroup, slowdowns
from plimsoll.measuring import noise

from tests import disks
from tests.unit.test_noise import BURN, snapshot

GROUP = "plimsoll-test-slowed"
# Number of processors of a made-up machine.
PROCESSORS = 2
GOES_THROUGH = "m = bytearray(24 << 20)\nfor turn in range(2):\n    for at in range(0, len(m), 4096): m[at] = turn"


@contextlib.contextmanager
def limited(controller: str, files: dict[str, str]):
    """Yield the folder of a cgroup of version 1 with limits."""
    mounted = cgroup.mounts()
    if os.geteuid() or controller not in mounted:
        pytest.skip(f"this needs root and version 1's controller {controller}")
    group = mounted[controller] / GROUP
    cgroup.remove(GROUP)
    group.mkdir()
    try:
        for name, value in files.items():
            (group / name).write_text(value)
        yield group
    finally:
        cgroup.remove(GROUP)


def disturbed(before: noise.Snapshot, after: noise.Snapshot) -> str | None:
    """Return why the time between two snapshots disturbs at the quick profile's thresholds; None if it does not."""
    found = noise.neighbours([(before, after)], PROCESSORS, 0.03, 0.15, apart=False)
    return noise.disturbance(found)["reason"] if found["disturbed"] else None


def kept(before: noise.Snapshot, after: noise.Snapshot) -> float:
    """Return the seconds that processors were kept from a run, rounded as in records. Otherwise the message's two
    digits may differ."""
    return round(sum(noise._kept_from([(before, after)]).values()), 3)


def test_a_quota_above_a_container_s_group_is_seen():
    machine = noise.Machine()
    # The quota is so small that it takes effect even if other programs leave this one only a part of a processor.
    with limited("cpu", {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "2000"}) as group:
        # The container's own group has no quota.
        (group / "c0").mkdir()
        process = subprocess.Popen(["sh", "-c", f"echo $$ >{group}/c0/cgroup.procs && exec {BURN[0]} -c '{BURN[2]}'"])
        try:
            before = noise.snapshot(machine, None, [group / "c0"], ())
            time.sleep(1)
            after = noise.snapshot(machine, None, [group / "c0"], ())
        finally:
            process.kill()
            process.wait()
        assert 0.2 < (seconds := kept(before, after)) < 1.2 * (after.when - before.when)
        assert f"a quota of {group} kept processors from the run for {seconds:.2f} s" in disturbed(before, after)
        # What is kept from others does not matter to this process.
        assert str(group) in after.throttled and str(group) not in noise.snapshot(machine, None, [], ()).throttled


@pytest.mark.alone
def test_this_process_s_own_quota_is_seen():
    machine = noise.Machine()
    own = cgroup.of_process(os.getpid(), machine.mounted, "cpu")
    with limited("cpu", {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "4000"}) as group:
        try:
            (group / "cgroup.procs").write_text(str(os.getpid()))
            burn(0.2)
            before = noise.snapshot(machine, None, [], ())
            burn(0.5)
            assert kept(before, noise.snapshot(machine, None, [], ())) > 0.1
        finally:
            (own / "cgroup.procs").write_text(str(os.getpid()))


def burn(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.mark.parametrize(
    ("file", "told", "seconds"),
    [("cpu", "nr_throttled 3\nthrottled_time 500000000\n", 0.5), ("unified", "usage_usec 7\nthrottled_usec 250000\n", 0.25)],
)
def test_the_quota_of_a_container_around_the_workflow_is_its_root_s(tmp_path, monkeypatch, file, told, seconds):
    """In such a container, the workflow sees its own group as the root."""
    (tmp_path / "cpu.stat").write_text(told)
    monkeypatch.setattr(slowdowns, "PROCESSORS", tmp_path)
    monkeypatch.setattr(cgroup, "of_process", lambda *_: tmp_path)
    found = slowdowns.throttled_seconds([], {file: tmp_path})
    assert found == {str(tmp_path): pytest.approx(seconds), slowdowns.HEAT: 0}


def test_heat_counts_once_for_each_processor(tmp_path, monkeypatch):
    for number, (core, package) in enumerate([("200", "1500"), ("700", "500")]):
        folder = tmp_path / f"cpu{number}/thermal_throttle"
        folder.mkdir(parents=True)
        for name, value in zip(slowdowns.HOT, (core, package), strict=True):
            (folder / name).write_text(value)
    (tmp_path / "cpufreq").mkdir()
    monkeypatch.setattr(slowdowns, "PROCESSORS", tmp_path)
    assert slowdowns.throttled_seconds([], {}) == {slowdowns.HEAT: pytest.approx(2.2)}


def test_processors_that_tell_nothing_of_heat_are_cool(tmp_path, monkeypatch):
    (tmp_path / "cpu0/thermal_throttle").mkdir(parents=True)
    monkeypatch.setattr(slowdowns, "PROCESSORS", tmp_path)
    assert slowdowns.throttled_seconds([], {}) == {slowdowns.HEAT: 0}


@pytest.mark.parametrize(
    ("processors", "own", "took", "seen"),
    [
        (2, 1.0, 0.1, False),  # too short
        (2, 30.0, 0.5, False),  # too small a share of what the run used
        (2, 1.0, 0.5, True),
        (256, 1.0, 0.5, True),  # one rank on a large machine
    ],
)
def test_what_is_kept_from_a_run_is_held_against_what_it_used(processors, own, took, seen):
    before, after = snapshot(throttled={"a": 3.0}), snapshot(when=own + took, launched=own, throttled={"a": 3.0 + took})
    found = noise.neighbours([(before, after)], processors, 0.03, 0.15, apart=True)
    assert found["disturbed"] is seen and found["throttled_seconds"] == pytest.approx(took)
    if seen:
        assert noise.disturbance(found)["reason"] == "a quota of a kept processors from the run for 0.50 s"


def test_heat_is_told_as_heat_and_a_group_that_came_or_went_is_not_counted():
    before = snapshot(throttled={slowdowns.HEAT: 1.0, "gone": 5.0})
    after = snapshot(when=1.0, throttled={slowdowns.HEAT: 2.0, "new": 7.0})
    assert disturbed(before, after) == "heat kept processors from the run for 1.00 s"


@pytest.mark.parametrize(
    ("seconds", "megabytes", "seen"), [(0.2, 0.9, False), (0.2, 1.2, True), (60.0, 50.0, False), (60.0, 70.0, True)]
)
def test_what_is_swapped_disturbs(seconds, megabytes, seen):
    found = disturbed(snapshot(), snapshot(when=seconds, swapped=megabytes * 2**20))
    assert (found is not None) is seen
    if found:
        assert found == f"{megabytes * 2**20 / 1e6:.1f} MB were moved to and from swap space during the run"


@pytest.fixture
def swap(tmp_path):
    """Provide swap space of 64 MiB, on a disk."""
    if os.geteuid() or not shutil.which("mkswap"):
        pytest.skip("swap space of its own needs root and mkswap")
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(disks.swap(tmp_path / "swap", 64 * 2**20))
        except subprocess.CalledProcessError as refused:
            pytest.skip(f"this machine takes no swap space: {refused.stderr.decode().strip()}")
        yield


def test_a_program_whose_memory_is_on_a_disk_is_seen(swap):
    machine = noise.Machine()
    with limited("memory", {"memory.limit_in_bytes": str(16 * 2**20)}) as group:
        before = noise.snapshot(machine, None, [], ())
        words = ["sh", "-c", f"echo $$ >{group}/cgroup.procs && exec {BURN[0]} -c '{GOES_THROUGH}'"]
        subprocess.run(words, check=True)
        after = noise.snapshot(machine, None, [], ())
    assert after.swapped - before.swapped > 8 * 2**20
    assert "MB were moved to and from swap space" in disturbed(before, after)

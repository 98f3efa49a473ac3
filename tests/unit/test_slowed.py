"""What keeps processors from a run, and memory that is on a disk: both disturb it, and records say so."""

import contextlib
import os
import subprocess
import time
from pathlib import Path

import pytest
from plimsoll.host import cgroup, slowed
from plimsoll.measuring import noise

from tests.unit.test_noise import BURN, snapshot

GROUP = "plimsoll-test-slowed"
GOES_THROUGH = "m = bytearray(24 << 20)\nfor turn in range(2):\n    for at in range(0, len(m), 4096): m[at] = turn"


@contextlib.contextmanager
def limited(controller: str, files: dict[str, str]):
    """A group of version 1 with limits; the file by which a process enters it."""
    mounted = cgroup.mounts()
    if os.geteuid() or controller not in mounted:
        pytest.skip(f"this needs root and version 1's controller {controller}")
    group = mounted[controller] / GROUP
    group.mkdir()
    try:
        for name, value in files.items():
            (group / name).write_text(value)
        yield group
    finally:
        cgroup.remove(GROUP)


def disturbed(before: noise.Snapshot, after: noise.Snapshot) -> str | None:
    """The reason, if what is between two moments disturbs at the quick profile's thresholds."""
    found = noise.neighbours([(before, after)], os.cpu_count() or 1, 0.03, 0.15, apart=False)
    return noise.disturbed(found)["reason"] if found["disturbed"] else None


def test_a_quota_above_a_container_s_group_is_seen():
    machine = noise.Machine()
    with limited("cpu", {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "10000"}) as group:
        # The container's own group has none.
        (group / "c0").mkdir()
        process = subprocess.Popen(["sh", "-c", f"echo $$ >{group}/c0/cgroup.procs && exec {BURN[0]} -c '{BURN[2]}'"])
        try:
            before = noise.snapshot(machine, None, [group / "c0"], ())
            time.sleep(1)
            after = noise.snapshot(machine, None, [group / "c0"], ())
        finally:
            process.kill()
            process.wait()
        assert 0.2 < after.throttled - before.throttled < 0.9
        assert "a quota or heat kept processors from it for 0." in disturbed(before, after)
        others = noise.snapshot(machine, None, [], ())
        # What is kept from others is nothing to this one.
        assert others.throttled - slowed.throttled_seconds([], machine.mounted) == 0 and others.throttled < after.throttled


def test_this_process_s_own_quota_is_seen():
    mounted = cgroup.mounts()
    own = cgroup.of_process(os.getpid(), mounted, "cpu")
    with limited("cpu", {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "4000"}) as group:
        before = slowed.throttled_seconds([], mounted)
        try:
            (group / "cgroup.procs").write_text(str(os.getpid()))
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                pass
            assert slowed.throttled_seconds([], mounted) - before > 0.1
        finally:
            (own / "cgroup.procs").write_text(str(os.getpid()))


def test_heat_counts_once_for_each_processor(tmp_path, monkeypatch):
    for number, (core, package) in enumerate([("200", "1500"), ("700", "500")]):
        folder = tmp_path / f"cpu{number}/thermal_throttle"
        folder.mkdir(parents=True)
        for name, value in zip(slowed.HOT, (core, package), strict=True):
            (folder / name).write_text(value)
    (tmp_path / "cpufreq").mkdir()
    monkeypatch.setattr(slowed, "PROCESSORS", tmp_path)
    assert slowed.throttled_seconds([], {}) == pytest.approx(2.2)


def test_processors_that_tell_nothing_of_heat_are_cool(tmp_path, monkeypatch):
    (tmp_path / "cpu0/thermal_throttle").mkdir(parents=True)
    monkeypatch.setattr(slowed, "PROCESSORS", tmp_path)
    assert slowed.throttled_seconds([], {}) == 0


@pytest.mark.parametrize(("took", "reason"), [(0.1, None), (0.5, "a quota or heat kept processors from it for 0.50 s")])
def test_as_much_as_of_a_neighbour_disturbs(took, reason):
    found = disturbed(snapshot(), snapshot(when=1.0, throttled=took))
    assert found is None if reason is None else found.endswith(reason)


@pytest.mark.parametrize(
    ("seconds", "megabytes", "seen"), [(0.2, 0.9, False), (0.2, 1.2, True), (60.0, 50.0, False), (60.0, 70.0, True)]
)
def test_what_is_swapped_disturbs(seconds, megabytes, seen):
    found = disturbed(snapshot(), snapshot(when=seconds, swapped=megabytes * 2**20))
    assert (found is not None) is seen
    if found:
        assert f"; {megabytes * 2**20 / 1e6:.1f} MB were moved to or from swap space" in found


@pytest.fixture
def swap(tmp_path):
    """Swap space of 64 MB, on a disk."""
    path = tmp_path / "swap"
    path.write_bytes(bytes(64 * 2**20))
    path.chmod(0o600)
    if os.geteuid() or subprocess.run(["mkswap", path], capture_output=True).returncode:
        pytest.skip("swap space of its own needs root and mkswap")
    if (done := subprocess.run(["swapon", path], capture_output=True, text=True)).returncode:
        pytest.skip(f"this machine takes no swap space: {done.stderr.strip()}")
    yield
    subprocess.run(["swapoff", path], check=True)


def test_a_program_whose_memory_is_on_a_disk_is_seen(swap):
    machine = noise.Machine()
    with limited("memory", {"memory.limit_in_bytes": str(16 * 2**20)}) as group:
        before = noise.snapshot(machine, None, [], ())
        words = ["sh", "-c", f"echo $$ >{group}/cgroup.procs && exec {BURN[0]} -c '{GOES_THROUGH}'"]
        subprocess.run(words, check=True)
        after = noise.snapshot(machine, None, [], ())
    assert after.swapped - before.swapped > 8 * 2**20
    assert "MB were moved to or from swap space" in disturbed(before, after)


def test_places_without_cgroups_are_not_throttled():
    assert slowed.throttled_seconds([Path("/none")], {}) == pytest.approx(slowed._hot_seconds())

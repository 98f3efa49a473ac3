"""Cost of checking whether programs of a run were stopped, by their number; twenty looks each."""

import statistics
import subprocess
import time
from pathlib import Path

from plimsoll.host import cgroup
from plimsoll.measuring import watch
from plimsoll.measuring.process import LOOK_SECONDS

NUMBERS, LOOKS = (2, 8, 64, 256), 20


def main() -> None:
    """Print one row per number of programs: by their group, by their parents, and in groups of their own, as containers are."""
    mounted = cgroup.mounts()
    print(f"{'programs':>8} {'found by':<10} {'µs a look':>9} {'next look after':>15}")
    for number in NUMBERS:
        programs = [subprocess.Popen(["sleep", "600"]) for _ in range(number)]
        try:
            for how, groups, account in _ways(programs, mounted):
                stops = watch.Stops(mounted)
                stops.of(groups, account)
                seconds = _look(stops)
                after = max(LOOK_SECONDS, min(watch.LONGEST, seconds / watch.SHARE))
                print(f"{number:>8} {how:<10} {1e6 * seconds:>9.0f} {after:>13.1f} s", flush=True)
        finally:
            for program in programs:
                program.kill()
                program.wait()
            _remove(mounted)


def _ways(programs: list[subprocess.Popen], mounted: dict[str, Path]):
    yield "parents", [], None
    root = mounted.get("cpuacct", mounted.get("unified"))
    if root is None:
        return
    groups = [root / f"plimsoll-bench-{number}" for number in range(len(programs))]
    try:
        for group, program in zip(groups, programs, strict=True):
            group.mkdir(exist_ok=True)
            (group / "cgroup.procs").write_text(str(program.pid))
    except OSError as problem:
        print(f"{'':>8} no groups can be made here: {problem}")
        return
    yield "groups", groups, groups[0]


def _look(stops: watch.Stops) -> float:
    """Return the median processor time of a look (s)."""
    taken = []
    for _ in range(LOOKS):
        stops._next = 0.0
        begun = time.process_time()
        stops.look()
        taken.append(time.process_time() - begun)
    return statistics.median(taken)


def _remove(mounted: dict[str, Path]) -> None:
    root = mounted.get("cpuacct", mounted.get("unified"))
    for group in root.glob("plimsoll-bench-*") if root else ():
        group.rmdir()

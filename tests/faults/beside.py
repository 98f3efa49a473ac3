"""Search for strays: processes of one run that still run while another run is measured."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from plimsoll.host import processes
from plimsoll.measuring import lock

# Time between two looks (s). A look reads one file per process, so more of them would disturb the measurement.
EVERY_SECONDS = 0.2
# A process that is seen in so many successive looks is not just ending.
LOOKS = 3


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """Yield a list that has, at the end, a sentence about each stray. Nothing else may measure on this host."""
    found: dict[str, None] = {}
    told: list[str] = []
    done = threading.Event()
    watching = threading.Thread(target=_watch, args=(found, done), daemon=True)
    watching.start()
    try:
        yield told
    finally:
        done.set()
        watching.join()
        told += found


def _watch(found: dict[str, None], done: threading.Event) -> None:
    seen: dict[tuple[int, str], int] = {}
    while not done.wait(EVERY_SECONDS):
        there = strays(marked())
        seen = {one: seen.get(one, 0) + 1 for one in there}
        found.update({f"stray beside a run: {there[one]}": None for one, looks in seen.items() if looks == LOOKS})


def marked() -> list[tuple[int, int, str, str]]:
    """Return (start time, number, run, name) of each process that has the mark of a run."""
    found = []
    for number, run in lock.of_runs().items():
        with contextlib.suppress(OSError, ValueError):
            name, fields = processes.stat_of(Path(f"/proc/{number}/stat"))
            if fields[0] not in (b"Z", b"X"):
                found.append((int(fields[19]), number, run, name))
    return found


def strays(there: list[tuple[int, int, str, str]]) -> dict[tuple[int, str], str]:
    """Return, by number and run, a description of each process that does not belong to the run which began last."""
    begun: dict[str, int] = {}
    for started, _, run, _ in there:
        begun[run] = min(started, begun.get(run, started))
    last = max(begun, key=begun.__getitem__, default="")
    return {(number, run): f"{name} of the run {run} beside {last}" for _, number, run, name in there if run != last}

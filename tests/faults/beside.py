"""Whether a process of one run is at work while another run is measured."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from plimsoll.host import processes
from plimsoll.measuring import lock

# A look reads one file for each process: more of them would be neighbours of what is measured (s).
EVERY_SECONDS = 0.2
# What is there in so many looks one after the other is not just on its way out.
LOOKS = 3


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """Sentences about strays that were seen meanwhile; nobody else may measure on this host."""
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
    """(when it was started, number, run, name) of each process that has the mark of a run."""
    found = []
    for number, run in lock.of_runs().items():
        with contextlib.suppress(OSError, ValueError):
            name, fields = processes.stat_of(Path(f"/proc/{number}/stat"))
            if fields[0] not in (b"Z", b"X"):
                found.append((int(fields[19]), number, run, name))
    return found


def strays(there: list[tuple[int, int, str, str]]) -> dict[tuple[int, str], str]:
    """Of processes that have a run's mark those that are not of the run which began last, in words, by number and run."""
    begun: dict[str, int] = {}
    for started, _, run, _ in there:
        begun[run] = min(started, begun.get(run, started))
    last = max(begun, key=begun.__getitem__, default="")
    return {(number, run): f"{name} of the run {run} beside {last}" for _, number, run, name in there if run != last}

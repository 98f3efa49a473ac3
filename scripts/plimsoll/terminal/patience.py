"""Stages say what they do when they begin, and again while they take long, so that the terminal is never silent for long."""

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from plimsoll.host import threads

EVERY_SECONDS = 9.0
# Which figures this start of the workflow draws, and which of them are begun: one name on each line.
QUEUE, BEGUN = "figures.queue", "figures.begun"


@contextmanager
def told(what: str, every: float = EVERY_SECONDS) -> Iterator[None]:
    """Say what is done now, and say it again at intervals, with the seconds that it has taken, until it is done."""
    begun, done = time.monotonic(), threading.Event()

    def repeat() -> None:
        while not done.wait(every):
            _say(f"{what}: {time.monotonic() - begun:.0f} s")

    _say(what)
    thread = threads.started(repeat, daemon=True)
    try:
        yield
    finally:
        done.set()
        thread.join()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def note_figures(results: Path, figures: Iterable[tuple[str, str]]) -> None:
    """Note which figures (study, name) are drawn from now on, so that each can say which of how many it is."""
    by_study: dict[str, list[str]] = {}
    for study, name in figures:
        by_study.setdefault(study, []).append(name)
    for study, names in by_study.items():
        folder = results / study / "progress"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / QUEUE).write_text("".join(f"{name}\n" for name in names))
        (folder / BEGUN).write_text("")


def place(results: Path, study: str, figure: str) -> str:
    """`3 of 38` for the third figure that is drawn since they were noted; empty for one that was not."""
    folder = results / study / "progress"
    try:
        queue = (folder / QUEUE).read_text().split()
        if figure not in queue:
            return ""
        with open(folder / BEGUN, "a") as file:
            file.write(f"{figure}\n")
        begun = set((folder / BEGUN).read_text().split())
    except OSError:
        return ""
    return f"{len(begun & set(queue))} of {len(queue)}"

"""Print what a stage does when it begins, and again while it takes long, so that the terminal is never silent for long."""

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from plimsoll.host import threads

EVERY_SECONDS = 9.0
# Files with one name per line: the figures that this start of the workflow draws, and those of them that are begun.
QUEUE, BEGUN = "figures.queue", "figures.begun"


@contextmanager
def announce(what: str, every: float = EVERY_SECONDS) -> Iterator[None]:
    """Print what is done now. Print it again every `every` seconds, with the seconds that it has taken, until it is done."""
    begun, done = time.monotonic(), threading.Event()

    def repeat() -> None:
        while not done.wait(every):
            print(f"{what}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)

    print(what, file=sys.stderr, flush=True)
    thread = threads.start(repeat, daemon=True)
    try:
        yield
    finally:
        done.set()
        thread.join()


def note_figures(results: Path, figures: Iterable[tuple[str, str]]) -> None:
    """Record which figures (study, name) are drawn from now on, so that each can say which of how many it is."""
    by_study: dict[str, list[str]] = {}
    for study, name in figures:
        by_study.setdefault(study, []).append(name)
    for study, names in by_study.items():
        folder = results / study / "progress"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / QUEUE).write_text("".join(f"{name}\n" for name in names))
        (folder / BEGUN).write_text("")


def place(results: Path, study: str, figure: str) -> str:
    """Note that a figure is begun, and return its place: `3 of 38` for the third that is drawn.

    Return an empty text for a figure that was not noted.
    """
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

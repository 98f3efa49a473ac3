"""Which run of how many, what it is, and the time left: one line a run, on the terminal and in a log file.

The workflow writes the queue of the runs that it is about to measure (`begin`); each measurement crosses itself off.
"""

import json
import os
import sys
import time
from pathlib import Path


def begin(folder: Path, queue: list[str]) -> None:
    """Note the runs that are to be measured now, in order ('cell/repetition')."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".queue.{os.getpid()}"
    temporary.write_text(json.dumps(queue))
    temporary.rename(folder / "queue.json")
    (folder / "done.jsonl").write_text("")


def finish(folder: Path, run: str, seconds: float, status: str, summary: str) -> None:
    """Cross a run off, and print and log its line."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "done.jsonl", "a") as file:
        file.write(json.dumps([run, seconds, time.time()]) + "\n")
    line = describe(folder, run, seconds, status, summary)
    print(line, file=sys.stderr, flush=True)
    with open(folder / "measure.log", "a") as file:
        file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")


def describe(folder: Path, run: str, seconds: float, status: str, summary: str) -> str:
    """The line of one finished run."""
    try:
        queue = json.loads((folder / "queue.json").read_text())
    except (OSError, ValueError):
        queue = []
    done = [json.loads(line) for line in (folder / "done.jsonl").read_text().splitlines()]
    total = max(len(queue), len(done))
    left = remaining(queue, done)
    place = f"[{len(done):>{len(str(total))}}/{total}]"
    return f"{place} {run:<58} {seconds:6.1f} s  {status:<9} {clock(left)} left" + (f"  {summary}" if summary else "")


def remaining(queue: list[str], done: list[list]) -> float:
    """Seconds that the rest of the queue should take; `done` has a run, its seconds and the moment of its end each.

    Each run as long as its cell's runs took, or the mean of all; and between two runs as much as until now, on average.
    """
    if not done:
        return 0.0
    by_cell: dict[str, list[float]] = {}
    for run, seconds, _ in done:
        by_cell.setdefault(run.rpartition("/")[0], []).append(seconds)
    total = sum(seconds for _, seconds, _ in done)
    elapsed = done[-1][2] - done[0][2] + done[0][1]
    between = max(0.0, elapsed - total) / max(1, len(done) - 1)
    expected = {cell: sum(times) / len(times) for cell, times in by_cell.items()}
    finished = {run for run, _, _ in done}
    left = [expected.get(run.rpartition("/")[0], total / len(done)) for run in queue if run not in finished]
    return sum(left) + between * len(left)


def clock(seconds: float) -> str:
    """Seconds as 1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

"""Which runs are measured, and a line for each: its number among all runs, the time left, its status and its name.

The workflow writes the queue of the runs that it is about to measure (`begin`). Each measurement crosses itself off. Its
line goes to the workflow's log, and measure.log has more. The terminal counts what is crossed off
(plimsoll.terminal.live).
"""

import json
import sys
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from plimsoll import documents
from plimsoll.errors import plain
from plimsoll.interchange import Record
from plimsoll.measuring import status

# Columns of a terminal.
WIDTH = 80
# File with a line for each run that is crossed off.
DONE = "done.jsonl"
# Limit for a plausible time (s): no run takes so long, and none ends so late.
LATEST = 1e12
# The plan's expectation counts as much as runs of this length (s): the first run may have waited for something.
TRUSTED_SECONDS = 20.0
# Repeats are averaged as if this many more runs had passed without one: a single early repeat says little.
TRUSTED_RUNS = 20
# A run that is crossed off: its name, seconds (None if it was not measured), moment of the end, status, attempts.
Row = tuple[str, float | None, float, str | None, int]


def begin(folder: Path, queue: list[str]) -> None:
    """Note the runs that are to be measured now, in order ('cell/repetition')."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / ".queue.new"
    temporary.write_text(json.dumps(queue))
    temporary.rename(folder / "queue.json")
    (folder / DONE).write_text("")


def waiting(folder: Path) -> set[str]:
    """Return the runs that this start of the workflow has yet to measure ('cell/repetition')."""
    queue, done = _read(folder)
    return set(queue) - {row[0] for row in done}


def measured_runs(folder: Path) -> list[list]:
    """Return what this start of the workflow has measured so far, in order: run, seconds, moment of the end, status,
    attempts."""
    return [row for row in _read(folder)[1] if row[1] is not None]


def skip(folder: Path, run: str) -> None:
    """Cross off a run that need not be measured after all."""
    _cross_off(folder, [run, None, time.time(), None, 0])


def finish(folder: Path, run: str, seconds: float, result: Record) -> None:
    """Cross off a measured run, and print and log its line. After the last run, print the sum too.

    `result` is the run's record, `seconds` the time that it took.
    """
    _cross_off(folder, [run, seconds, time.time(), result["status"], result["attempts"]])
    queue, done = _read(folder)
    lines = [describe(queue, done, result)]
    if remark := plain(" ".join((_remark(result) or "").split())):
        lines.append(shorten(f"    {remark}", WIDTH, 1))
    if queue and {row[0] for row in done} >= set(queue):
        lines.append(f"{folder.parent.name}: {total(done)}")
    print("\n".join(lines), file=sys.stderr, flush=True)
    with open(folder / "measure.log", "a") as file:
        said = f"{result['status']:<9} {seconds:8.1f} s  {run}" + (f"  {remark}" if remark else "")
        file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} [{len(done)}/{max(len(queue), len(done))}] {said}\n")


def _cross_off(folder: Path, row: list) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / DONE, "a") as file:
        file.write(json.dumps(row) + "\n")


def _read(folder: Path) -> tuple[list[str], list[list]]:
    """Return the queue, and what is crossed off: run, seconds (None if it was not measured), moment of the end, status,
    attempts."""
    try:
        queue = documents.load(folder / "queue.json", list[str])
    except documents.Misfit:
        queue = []
    try:
        done = (folder / DONE).read_text(errors="replace")
    except OSError:
        done = ""
    return queue, [row for line in done.splitlines() if (row := row_of(line))]


def row_of(line: str) -> list | None:
    """Return a run that is crossed off, from its line; None for a damaged line, as a kill leaves it.

    These lines are for people, so that damage to one is no reason to stop.
    """
    try:
        row = json.loads(line)
        documents.fit(row, Row)
    except (ValueError, RecursionError, documents.Misfit):
        return None
    return row if 0 <= (row[1] or 0) < LATEST and abs(row[2]) < LATEST else None


def describe(queue: list[str], done: list[list], result: Record) -> str:
    """Return the line of the run that was crossed off last, within WIDTH columns.

    What matters comes first, then as much of the run's name as fits. `!` marks a run that does not count, `+` one that
    counts after other attempts.
    """
    run, seconds = done[-1][:2]
    count = max(len(queue), len(done))
    mark = "!" if result["status"] not in status.COUNTED else "+" if result["attempts"] > 1 else " "
    place, left = f"[{len(done):>{len(str(count))}}/{count}]", clock(remaining(queue, done))
    start = f"{place} {left:>7} left {mark} {result['status']:<9} {seconds:5.1f}s "
    return start + shorten(run, WIDTH - len(start))


def shorten(text: str, width: int, place: float = 0.5) -> str:
    """Return the text, or as much of it as fits into `width` with an ellipsis.

    The ellipsis stands in the middle, or at another share of the width (`place`).
    """
    if len(text) <= width:
        return text
    begin = round((width - 1) * place)
    return f"{text[:begin]}…{text[len(text) - (width - 1 - begin) :]}"


def _remark(result: Record) -> str:
    """Return why a run does not count, or why it was repeated; an empty text for other runs."""
    if result["status"] not in status.COUNTED:
        return result["reason"]
    if not result["invalid_attempts"]:
        return ""
    last = result["invalid_attempts"][-1]
    return f"attempt {result['attempts']}; the one before was {last['status']}: {last['reason']}"


def total(done: list[list]) -> str:
    """Return in words how many runs were measured, by status, and how many of them were repeated."""
    measured = [row for row in done if row[1] is not None]
    counts = [f"{number} {name}" for name in status.NAMES if (number := sum(row[3] == name for row in measured))]
    repeated = sum(row[4] > 1 for row in measured)
    return ", ".join([*counts, *([f"{repeated} repeated"] if repeated else [])])


def remaining(queue: list[str], done: list[list], planned: Mapping[str, float] | None = None) -> float:
    """Return how long the rest of the queue should take (s).

    Each row of `done` begins with a run, its seconds and the moment of its end. A run is expected to last as long as
    its cell's runs did on average. A cell without such runs is expected to take what was `planned` for it (s, by cell),
    scaled as the measured cells differ from their plan. Without a plan it is the mean of all runs. The pause that is
    expected between two runs is added.
    """
    planned, finished = planned or {}, {row[0] for row in done}
    cells = [run.rpartition("/")[0] for run in queue if run not in finished]
    measured = [row for row in done if row[1] is not None]
    if not measured:
        return sum(planned.get(cell, 0.0) for cell in cells)
    by_cell: dict[str, list[float]] = {}
    for run, seconds, *_ in measured:
        by_cell.setdefault(run.rpartition("/")[0], []).append(seconds)
    sum_of_all = sum(row[1] for row in measured)
    between = _pause(measured)
    expected = {cell: sum(times) / len(times) for cell, times in by_cell.items()}
    scale, mean = _scale(by_cell, planned), sum_of_all / len(measured)

    def of(cell: str) -> float:
        return expected.get(cell) or (planned[cell] * scale if cell in planned else mean)

    return sum(map(of, cells)) + between * len(cells)


def _pause(measured: list[list]) -> float:
    """Return how much time is expected to pass between two runs (s), with the attempts that are repeated.

    It is the mean pause before a run that was not repeated. What repeats took in addition is averaged over all runs and
    TRUSTED_RUNS more.
    """
    gaps = [(after[2] - before[2] - after[1], after[4] > 1) for before, after in pairwise(measured)]
    usual = [gap for gap, repeated in gaps if not repeated]
    pause = sum(usual) / len(usual) if usual else 0.0
    more = sum(gap - pause for gap, repeated in gaps if repeated)
    return max(0.0, pause + more / (len(gaps) + TRUSTED_RUNS))


def _scale(measured: Mapping[str, list[float]], planned: Mapping[str, float]) -> float:
    """Return by which factor runs take longer than `planned` (s, by cell), from the runs that were `measured` so far."""
    known = {cell: times for cell, times in measured.items() if cell in planned}
    took, expected = sum(map(sum, known.values())), sum(planned[cell] * len(times) for cell, times in known.items())
    return (took + TRUSTED_SECONDS) / (expected + TRUSTED_SECONDS)


def clock(seconds: float) -> str:
    """Return seconds as a text such as 1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

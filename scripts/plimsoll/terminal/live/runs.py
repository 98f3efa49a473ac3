"""Runs that a workflow measures, counted by the files in which they are crossed off (plimsoll.measuring.progress)."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from plimsoll.config.studies import Study
from plimsoll.errors import DamagedFile, plain
from plimsoll.interchange import Plan
from plimsoll.measuring import failing_groups, progress, record, status
from plimsoll.terminal.live import words

# Of runs that fail alike, this many are reported in full.
MOST_ALIKE = 3
# After a run that takes longer than this (s), the time left stays as it is: something may be waited for.
LONG_SECONDS = 30.0


class Queue(NamedTuple):
    """Runs of a study that this workflow is about to measure.

    - `folder`: the study's results.
    - `runs`: 'cell/repetition', in order.
    - `seconds`: by cell, the time that the plan expects for a run.
    - `words`: returns the name of a cell.
    """

    folder: Path
    runs: list[str]
    seconds: Mapping[str, float]
    words: Callable[[str], str]

    @classmethod
    def of(cls, study: Study, plan: Plan, runs: list[str]) -> "Queue":
        """Return the queue of a study with this plan."""
        cells = plan["cells"]
        # A cell that cannot be measured has no expectation.
        seconds = {path: cell["expected_seconds"] for path, cell in cells.items() if not cell["reason"]}
        return cls(Path("results", study["id"]), runs, seconds, lambda path: words.of_cell(study, cells[path]))


class OfStudy:
    """The runs of one study, as far as they are measured."""

    def __init__(self, queue: Queue):
        self.queue, self.done = queue, []
        self._position, self._alike = 0, Counter()
        self._estimate()

    def update(self) -> list[str]:
        """Read what was crossed off since the last call, and return a sentence for each run that does not count."""
        rows = self._new()
        if rows:
            self.done += rows
            self._estimate()
        return [said for row in rows if row[3] not in (None, *status.COUNTED) and (said := self._problem(row))]

    def named(self, run: str) -> str:
        """Return the name of a run's cell."""
        return self.queue.words(run.rpartition("/")[0])

    @property
    def repeated(self) -> int:
        """Number of runs that took more than one attempt."""
        return sum(row[4] > 1 for row in self.done)

    def _new(self) -> list[list]:
        try:
            with open(self.queue.folder / "progress" / progress.DONE, errors="replace") as file:
                file.seek(self._position)
                read = file.read()
        except OSError:
            return []
        whole = read[: read.rfind("\n") + 1]
        self._position += len(whole.encode())
        return [row for line in whole.splitlines() if (row := progress.row_of(line))]

    @property
    def left(self) -> float:
        """Seconds that the other runs are expected to take. The run that is measured now counts down for a while."""
        return max(0.0, self._left - min(time.monotonic() - self._estimated, LONG_SECONDS)) if self.done else self._left

    def _estimate(self) -> None:
        self._left = progress.remaining(self.queue.runs, self.done, self.queue.seconds)
        self._estimated = time.monotonic()

    def _problem(self, row: list) -> str:
        """Return what happened to a run that does not count, and what that means; empty if enough like it were reported."""
        run, found = row[0], row[3]
        try:
            made = record.read(self.queue.folder / "runs" / f"{run}.json")
        except (DamagedFile, OSError):
            return ""
        key = failing_groups.likeness_key(made)
        self._alike[key] += 1
        if self._alike[key] > MOST_ALIKE:
            return ""
        attempts = f"{row[4]} attempt{'s' if row[4] > 1 else ''}"
        reason = plain(" ".join((made["reason"] or "no reason was given").split())).rstrip(".")
        more = " More runs like it are only counted." if self._alike[key] == MOST_ALIKE else ""
        cell, _, number = run.rpartition("/")
        return (
            f"{found} after {attempts}: {self.queue.words(cell)} (repetition {number}): {reason}. It gives no value. The next "
            f"start tries it again, unless {self.queue.folder.name} has used up its starts (docs/reference/statuses.md).{more}"
        )


class Runs:
    """The runs of all studies of a workflow."""

    def __init__(self, queues: list[Queue] = ()):
        self.studies = {queue.folder.name: OfStudy(queue) for queue in queues}

    def update(self) -> list[str]:
        """Read what was crossed off since the last call, and return a sentence for each run that does not count."""
        return [said for study in self.studies.values() for said in study.update()]

    @property
    def all(self) -> int:
        """Number of runs that were to be measured."""
        return sum(len(study.queue.runs) for study in self.studies.values())

    @property
    def done(self) -> int:
        """Number of runs that are crossed off."""
        return min(self.all, sum(len(study.done) for study in self.studies.values()))

    @property
    def left(self) -> float:
        """Seconds that the other runs are expected to take."""
        return sum(study.left for study in self.studies.values())

    @property
    def repeated(self) -> int:
        """Number of runs that took more than one attempt."""
        return sum(study.repeated for study in self.studies.values())

    def named(self, study: str, run: str) -> str:
        """Return the name of a run's cell; the run's own name if it was not expected."""
        return self.studies[study].named(run) if study in self.studies else run

    def totals(self) -> list[str]:
        """Return for each study how many runs were measured, by status."""
        measured = {name: study.done for name, study in self.studies.items() if any(row[1] is not None for row in study.done)}
        return [f"{name}: {progress.total(rows)}" for name, rows in measured.items()]

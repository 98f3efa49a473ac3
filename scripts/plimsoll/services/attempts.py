"""The outer attempt at a run that keeps services up: start, measure, remove, judge."""

import time
from abc import ABC, abstractmethod

from plimsoll import design, runtimes
from plimsoll.errors import Unavailable
from plimsoll.measuring import lock, noise, status
from plimsoll.measuring.attempt import Attempt
from plimsoll.workloads.base import InvalidOutput


class Run(ABC):
    """An attempt in progress: what it has started and seen.

    `spans` are pairs of snapshots of the machine, taken before and after what is measured. `counted` says whether the
    processor time of all its containers is counted.
    """

    attempt: Attempt
    spans: noise.Spans
    counted: bool

    @abstractmethod
    def measure(self) -> dict:
        """Measure, and return what was measured, for the record.

        InvalidOutput if what was measured does not count, Unavailable if it could not be measured.
        """

    @abstractmethod
    def take_down(self) -> None:
        """Remove everything that the run has started."""

    def read(self) -> dict:
        """Return what can be read after the run was removed, for the record: the checksums of the image's files.

        InvalidOutput if what was measured does not count.
        """
        return {"bits": {path: known["sha256"] for path, known in self.attempt.image["files"].items()}}

    def found(self) -> dict:
        """Return what is known of a run that has failed, for the record."""
        return {}

    def problem(self, measured: dict) -> str | None:
        """Return why a run does not count although it was measured; None if it counts."""
        return None


class ServiceAttempts(design.Attempts, ABC):
    """Attempts of a design whose runs are a `Run` each."""

    @abstractmethod
    def start(self, attempt: Attempt) -> Run:
        """Return the run of an attempt, before anything of it is started. Unavailable if there can be none."""

    def measure(self, run: Run) -> dict:
        """Return what a run measures. A design may check something before, and add what can be read after it."""
        return run.measure()

    def attempt(self, attempt: Attempt) -> dict:
        """Start, measure, remove and judge a run. Return the attempt's part of the record.

        The status is `valid`, `disturbed` by neighbours, `invalid` (wrong output), or `failed` (something was unavailable).
        """
        try:
            run = self.start(attempt)
        except Unavailable as problem:
            return {"status": status.FAILED, "reason": str(problem)}
        try:
            measured = self._measured(run)
        except InvalidOutput as problem:
            return {**run.found(), "status": status.INVALID, "reason": str(problem)}
        except Unavailable as problem:
            return {**run.found(), "status": status.FAILED, "reason": str(problem)}
        during = attempt.notes["noise"]["during"]
        if problem := run.problem(measured):
            return {**measured, "status": status.INVALID, "reason": problem}
        if during["disturbed"]:
            return {**measured, **noise.disturbance(during)}
        return {**measured, "status": status.VALID, "reason": None}

    def _measured(self, run: Run) -> dict:
        """Return what a run measures. Remove it, and note how long both took and what else the machine did."""
        notes, begun = run.attempt.notes, time.monotonic()
        try:
            measured = self.measure(run)
        finally:
            notes["seconds"]["run"] = round(time.monotonic() - begun, 4)
            notes["seconds"]["remove"] = lock.take_down(run.take_down, runtimes.known)
        notes["noise"]["during"] = run.attempt.beside(run.spans, apart=run.counted)
        return {**measured, **run.read()}

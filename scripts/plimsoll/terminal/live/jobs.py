"""Snakemake's jobs, by its events: which are planned, which run, and which have ended."""

import time
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from plimsoll.terminal.live import words

# A rule of which nothing is known takes this long (s).
UNKNOWN_SECONDS = 3.0
# Snakemake's row for all rules together.
TOTAL = "total"


class Job(NamedTuple):
    """A job that runs: its rule, wildcards, log, and when it began (s, monotonic)."""

    rule: str
    wildcards: Mapping[str, str]
    log: str
    began: float

    @property
    def words(self) -> str:
        """What the job does."""
        return words.of_job(self.rule, self.wildcards)


class Jobs:
    """The jobs of one workflow.

    Jobs of words.UNCOUNTED are not counted: runs are counted by their progress files, because one job may measure several.
    """

    def __init__(self) -> None:
        self.running: dict[int, Job] = {}
        self.cores = 1
        self._planned: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()

    def plan(self, stats: Mapping[str, int]) -> None:
        """Note how many jobs each rule has."""
        self._planned = Counter({rule: number for rule, number in stats.items() if rule not in (TOTAL, *words.UNCOUNTED)})

    def start(self, number: int, rule: str, wildcards: Mapping[str, str], logs: list[str]) -> None:
        """Note that a job has started. `number` is Snakemake's."""
        if rule == words.MEASURE or rule not in words.UNCOUNTED:
            self.running[number] = Job(rule, dict(wildcards), logs[0] if logs else "", time.monotonic())

    def end(self, number: int) -> Job | None:
        """Note that a job has ended, and return it. Return None for a job that was not started here."""
        job = self.running.pop(number, None)
        if job:
            self._ended[job.rule] += 1
            self._seconds[job.rule] += time.monotonic() - job.began
        return job

    @property
    def current(self) -> Job | None:
        """The job that a user wants to know about: one that measures, or otherwise the last one that was started."""
        running = list(self.running.values())
        return next((job for job in running if job.rule == words.MEASURE), running[-1] if running else None)

    @property
    def all(self) -> int:
        """Number of jobs that are counted."""
        return sum(self._planned.values())

    @property
    def done(self) -> int:
        """Number of counted jobs that have ended."""
        return min(self.all, sum(number for rule, number in self._ended.items() if rule not in words.UNCOUNTED))

    @property
    def left(self) -> float:
        """Seconds that the counted jobs are expected to take that have not ended."""
        whole = sum(max(0, n - self._ended[rule]) * self._each(rule) for rule, n in self._planned.items())
        counted = [job for job in self.running.values() if job.rule not in words.UNCOUNTED]
        begun = sum(min(time.monotonic() - job.began, self._each(job.rule)) for job in counted)
        return max(0.0, whole - begun) / self.cores

    def _each(self, rule: str) -> float:
        """Return how long a job of a rule takes (s): the mean of those that have ended, if there are any."""
        if self._ended[rule]:
            return self._seconds[rule] / self._ended[rule]
        return words.STAGES[rule].seconds if rule in words.STAGES else UNKNOWN_SECONDS

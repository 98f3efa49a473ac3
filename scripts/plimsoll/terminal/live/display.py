"""What the user sees while a workflow runs, put together from Snakemake's events, its jobs' lines and progress files."""

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.text import Text

from plimsoll.errors import plain
from plimsoll.host import threads
from plimsoll.measuring import stop
from plimsoll.measuring.progress import clock
from plimsoll.terminal import interruption
from plimsoll.terminal.live import call, words
from plimsoll.terminal.live.jobs import Job, Jobs
from plimsoll.terminal.live.runs import Queue, Runs
from plimsoll.terminal.live.screen import LOG, Screen

RESULTS = Path("results")
# Seconds between two looks. Everything that is done in one takes about a millisecond, because measurements go on.
EVERY_SECONDS = 1.0
# Beginnings of lines that people should read. All others are for the log.
OURS = "plimsoll: "
# End of such a line if a job waits for another workflow. Two workflows that take turns say so before each run.
WAITS = ("; waiting for it.", ". Waiting for it.")
# A job's log is complete this long after the job (s), because another process writes it.
COMPLETE_SECONDS = 0.5
# Bytes at the end of a job's log in which its last line is looked for.
END_BYTES = 8192
PROBLEM, FAILURE = "yellow", "bold red"
# Between the parts of the line that says what is going on.
BETWEEN = "  "
# If less than this is left for its words (columns), the total time is left out; below FEWEST, the words are.
FEW, FEWEST = 44, 12


class Now(NamedTuple):
    """What is going on.

    `done` and `all` count the steps of all workflows of this command. `left` and `elapsed` are in seconds. `left` is
    None if nothing is known about it. With `estimated`, a later workflow decides how many steps there will be.
    """

    phase: str
    what: str
    done: int
    all: int
    estimated: bool
    left: float | None
    elapsed: float
    repeated: int


class Display:
    """The display of one workflow."""

    def __init__(self) -> None:
        self.begun = self.failed = False
        self.screen, self.jobs, self.runs, self.later = Screen(), Jobs(), Runs(), call.Later()
        self._failures: list[tuple[float, Job]] = []
        self._waits = self._has_waited = False
        self.lock, self._ended = threading.RLock(), threading.Event()

    def begin(self) -> None:
        """Take the terminal, unless that was done before. Raise OSError if the system does not allow that."""
        with self.lock:
            if self.begun:
                return
            self.call, is_first = call.read(RESULTS)
            self.screen.open()
            self.begun = True
            self.screen.begin_log(RESULTS, is_first)
            call.write(RESULTS, self.call)
            interruption.write = self.screen.aloud
            atexit.register(self.close)
            self._look()
        # Without a thread, the terminal shows the beginning and the end.
        with contextlib.suppress(OSError):
            threads.start(self._keep_looking, daemon=True)

    def expect(self, queues: Sequence[Queue], later: call.Later) -> None:
        """Take the runs that are about to be measured, and what later workflows of this command should do."""
        with self.lock:
            self.runs, self.later = Runs(list(queues)), later

    def keep(self, text: str) -> None:
        """Write a text of Snakemake to the log."""
        self.screen.keep(text)

    def say(self, text: str, style: str = "") -> None:
        """Print a text above the line, and write it to the log. After Ctrl-C it is for the log only."""
        with self.lock:
            self.screen.keep(text)
            if not interruption.happened.is_set():
                self.screen.say(plain(text), style)

    def note_failure(self, job: Job) -> None:
        """Note that a job failed. Its log may be complete only a moment later, so it is reported then."""
        if not (interruption.happened.is_set() or stop.restarts(RESULTS) or stop.words(RESULTS)):
            self.failed = True
            self._failures.append((time.monotonic(), job))

    def _report_failures(self) -> None:
        while self._failures and time.monotonic() - self._failures[0][0] >= COMPLETE_SECONDS:
            self._report_failure(self._failures.pop(0)[1])

    def _report_failure(self, job: Job) -> None:
        """Say that a job failed, and what that means, unless the job has said it itself."""
        last = _last_line(Path(job.log))
        if last.startswith(OURS):
            return
        what = self._what(job)
        self.say(
            f"{OURS}{what} failed ({last or 'it printed nothing'}). What was measured is kept, and all steps go on that "
            f"do not need this. {job.log or 'The log'} says more.",
            FAILURE,
        )

    def report_error(self, text: str) -> None:
        """Print an error of Snakemake that is not about a job."""
        self.failed = True
        self.say(text, FAILURE)

    def fail(self) -> None:
        """Give the terminal back after a workflow that failed."""
        self.failed = True
        self.close()

    def close(self, goes_on: bool = False) -> None:
        """Give the terminal back. Say what was measured, and where the log is, unless the command `goes_on`."""
        with self.lock:
            if not self.begun or self._ended.is_set():
                return
            self._ended.set()
            try:
                if self._failures:
                    time.sleep(COMPLETE_SECONDS)
                self._look(draw=False)
            finally:
                # Lines of the last moment, such as those of this process.
                left = self.screen.close()
                interruption.write = interruption.to_stream
            self._take(left)
            self._finish(goes_on)

    def _finish(self, goes_on: bool) -> None:
        done = self.call["done"] + self.runs.done + self.jobs.done
        call.write(RESULTS, {**self.call, "done": done, "repeated": self.call["repeated"] + self.runs.repeated})
        if goes_on:
            return
        for total in self.runs.totals():
            self.say(total)
        if self.failed or not call.followed():
            self.say(f"The log of all steps: {RESULTS / LOG}")

    def _keep_looking(self) -> None:
        while not self._ended.wait(EVERY_SECONDS):
            with self.lock:
                if not self._ended.is_set():
                    self._look()

    def _look(self, draw: bool = True) -> None:
        """Show what is new, and the line."""
        self._take(self.screen.lines())
        for problem in self.runs.update():
            self.say(problem, PROBLEM)
        self._report_failures()
        if draw and not interruption.happened.is_set():
            self.screen.draw(line(self.now(), self.screen.width))

    def _take(self, lines: Sequence[str]) -> None:
        for each in lines:
            self._waits = each.endswith(WAITS)
            if each.startswith(OURS) and not (self._waits and self._has_waited):
                self.say(each, PROBLEM)
            else:
                self.screen.keep(each)
            self._has_waited |= self._waits

    def now(self) -> Now:
        """Return what is going on."""
        job = self.jobs.current
        known = self.runs.all or self.jobs.all
        return Now(
            phase=words.WAITING if self._waits else words.phase(job.rule) if job else words.PREPARING,
            what=self._what(job) if job else "",
            done=self.call["done"] + self.runs.done + self.jobs.done,
            all=self.call["done"] + self.runs.all + self.jobs.all + self.later.steps if known else 0,
            estimated=self.later.runs > 0,
            left=self.jobs.left + self.later.left(self.runs.left, time.time()) if known else None,
            elapsed=time.time() - self.call["began"],
            repeated=self.call["repeated"] + self.runs.repeated,
        )

    def _what(self, job: Job) -> str:
        if job.rule == words.MEASURE:
            return self.runs.named(job.wildcards.get("study", ""), job.wildcards.get("run", ""))
        return job.words


def _last_line(log: Path) -> str:
    """Return the last line of a log that is not empty; an empty text if there is none."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - END_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return next((plain(text.strip()) for text in reversed(lines) if text.strip()), "")


def line(now: Now, width: int) -> Text:
    """Return the line that says what is going on, within `width` columns.

    If it is too long, the end of `now.what` is cut first.
    """
    counted = f" {now.done}/{'~' if now.estimated else ''}{now.all}" if now.all else ""
    spans = [(now.phase, "bold cyan"), (counted, "bold")]
    after = _times(now, True)
    room = _room(width, spans, after)
    if room < min(FEW, len(now.what)):
        after = _times(now, False)
        room = _room(width, spans, after)
    what = _begun(now.what, room) if room >= FEWEST else ""
    for part, style in ((what, ""), *after):
        if part:
            spans += [(BETWEEN, ""), (part, style)]
    assembled = Text.assemble(*spans, no_wrap=True, overflow="crop", end="")
    assembled.truncate(width)
    return assembled


def _times(now: Now, total: bool) -> list[tuple[str, str]]:
    if now.left is None:
        times = clock(now.elapsed)
    else:
        times = f"{clock(now.left)} left" + (f" (total {clock(now.elapsed + now.left)})" if total else "")
    return [(times, "green"), (f"{now.repeated} repeated" if now.repeated else "", "yellow")]


def _room(width: int, spans: list[tuple[str, str]], after: list[tuple[str, str]]) -> int:
    """Return the columns that are left for the words between these spans."""
    used = sum(len(words) for words, _ in spans)
    return width - used - sum(len(BETWEEN) + len(words) for words, _ in after if words) - len(BETWEEN)


def _begun(words: str, room: int) -> str:
    return words if len(words) <= room else f"{words[: room - 1].rstrip(' ,')}…"


# The display of this process, if a workflow runs in it with the logger plugin (plimsoll.terminal.live.events).
current: Display | None = None

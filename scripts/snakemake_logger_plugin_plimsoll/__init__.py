"""Snakemake's logger plugin `plimsoll` (profiles/default). Snakemake finds it by the name of this package.

Snakemake imports it before it reads a Snakefile. It may then come from another clone than the Snakefile, so it imports
nothing of `plimsoll`. The workflow puts its display into `taker` (plimsoll.terminal.live.events). Without one, and in a
dry run or a verbose one, Snakemake's own lines are shown.
"""

import os
import sys
from collections.abc import Callable
from logging import ERROR, LogRecord
from typing import Protocol

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

# If set, Snakemake's lines are shown as they are.
VERBOSE = "PLIMSOLL_VERBOSE"


class Taker(Protocol):
    """What takes the records of Snakemake in place of the terminal."""

    def begin(self) -> bool:
        """Begin when the workflow starts, and return whether that was possible."""

    def take(self, record: LogRecord, text: str) -> None:
        """Take a record, with the text that Snakemake would print."""

    def close(self) -> None:
        """End when Snakemake does."""


class LogHandler(LogHandlerBase):
    """Handler of Snakemake's log records. Snakemake calls `emit` in a thread of its own."""

    def __post_init__(self) -> None:
        global current
        current = self
        settings = self.common_settings
        self.taker: Taker | None = None
        is_silent = any(about.name == "ALL" for about in settings.quiet or ())
        self.is_plain = settings.dryrun or settings.verbose or is_silent or os.environ.get(VERBOSE, "0") not in ("", "0")
        self._early: list[LogRecord] = []
        self._show: Callable[[LogRecord], None] | None = self._print if self.is_plain else None

    def emit(self, record: LogRecord) -> None:
        """Show a record, or keep it until the workflow starts."""
        try:
            if self._show:
                self._show(record)
                return
            self._early.append(record)
            if _event(record) == LogEvent.WORKFLOW_STARTED or record.levelno >= ERROR:
                self._decide(self._take if self.taker and self.taker.begin() else self._print)
        except Exception:  # as in logging.Handler: an error of a log is no reason to stop
            self.handleError(record)

    def close(self) -> None:
        """Show what was kept, and end the display."""
        if not self._show:
            self._decide(self._print)
        if self.taker:
            self.taker.close()
        super().close()

    def _decide(self, show: Callable[[LogRecord], None]) -> None:
        self._show, early, self._early = show, self._early, []
        for record in early:
            show(record)

    def _take(self, record: LogRecord) -> None:
        self.taker.take(record, self._text(record))

    def _print(self, record: LogRecord) -> None:
        """Show a record as Snakemake would."""
        from snakemake.logging import DefaultFilter

        settings = self.common_settings
        quiet, debug = settings.quiet, settings.debug_dag
        choose = DefaultFilter(quiet, debug, settings.verbose, settings.dryrun, settings.printshellcmds)
        if choose.filter(record) and _event(record) != LogEvent.PROGRESS and (text := self._text(record)):
            print(text, file=sys.stdout if settings.stdout else sys.stderr, flush=True)

    def _text(self, record: LogRecord) -> str:
        text = self.format(record)
        return "" if text in (None, "None") else text

    @property
    def writes_to_stream(self) -> bool:
        """True: no other handler of Snakemake's writes to the terminal."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """False: Snakemake does not name the log."""
        return False

    @property
    def has_filter(self) -> bool:
        """True: it needs the events of all jobs."""
        return True

    @property
    def has_formatter(self) -> bool:
        """False: texts are Snakemake's."""
        return False

    @property
    def needs_rulegraph(self) -> bool:
        """False: it shows no graph."""
        return False


def _event(record: LogRecord) -> LogEvent | None:
    return getattr(record, "event", None)


# The handler of this process, if Snakemake runs in it with this plugin.
current: LogHandler | None = None

"""Snakemake's logger plugin: it passes Snakemake's events on to the display.

A workflow of another project, a dry run and a verbose one see Snakemake's own lines.
"""

import os
import sys
from collections.abc import Callable
from logging import ERROR, LogRecord

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from plimsoll.terminal.live import display, words

# If set, Snakemake's lines are shown as they are.
VERBOSE = "PLIMSOLL_VERBOSE"
NOTHING = "Nothing to be done"
# Snakemake says so if a job failed. The job's own error is enough.
OF_JOBS = ("RuleException", "At least one job did not complete successfully")
# Events of which nothing is written to the log, because the jobs' own lines say it.
SILENT = (LogEvent.PROGRESS, LogEvent.SHELLCMD, LogEvent.JOB_STARTED, LogEvent.JOB_FINISHED, LogEvent.DEBUG_DAG)


class LogHandler(LogHandlerBase):
    """Handler of Snakemake's log records. It is called in a thread of Snakemake's."""

    def __post_init__(self) -> None:
        settings = self.common_settings
        self._early: list[LogRecord] = []
        self._show: Callable[[LogRecord], None] | None = None
        if settings.dryrun or settings.verbose or os.environ.get(VERBOSE, "0") not in ("", "0"):
            self._show = self._print
        else:
            display.current = display.Display()
        self._events = {
            LogEvent.RUN_INFO: self._planned,
            LogEvent.RESOURCES_INFO: self._resources,
            LogEvent.JOB_INFO: self._started,
            LogEvent.JOB_FINISHED: self._finished,
            LogEvent.JOB_ERROR: self._failed,
            LogEvent.ERROR: self._error,
        }

    def emit(self, record: LogRecord) -> None:
        """Show a record, or keep it until it is known whether the workflow is one of this project."""
        try:
            if self._show:
                self._show(record)
                return
            self._early.append(record)
            if _event(record) == LogEvent.WORKFLOW_STARTED or record.levelno >= ERROR:
                self._decide()
        except Exception:  # as in logging.Handler: an error of a log is no reason to stop
            self.handleError(record)

    def close(self) -> None:
        """Show what was kept, and give the terminal back."""
        if not self._show:
            self._show = self._print
            self._flush()
        if display.current:
            display.current.close()
        super().close()

    def _decide(self) -> None:
        shown = display.current
        if shown and shown.claimed:
            try:
                shown.begin()
            except OSError:
                shown.claimed = False
        self._show = self._take if shown and shown.begun else self._print
        self._flush()

    def _flush(self) -> None:
        early, self._early = self._early, []
        for record in early:
            self._show(record)

    def _print(self, record: LogRecord) -> None:
        """Show a record as Snakemake would."""
        from snakemake.logging import DefaultFilter

        settings = self.common_settings
        choose = DefaultFilter(settings.quiet, settings.debug_dag, settings.verbose, settings.dryrun, settings.printshellcmds)
        if choose.filter(record) and _event(record) != LogEvent.PROGRESS and (text := self._text(record)):
            print(text, file=sys.stdout if settings.stdout else sys.stderr, flush=True)

    def _take(self, record: LogRecord) -> None:
        """Pass a record on to the display."""
        event = _event(record)
        if event in self._events:
            with display.current.lock:
                self._events[event](record)
        if event not in SILENT and not (event == LogEvent.JOB_INFO and record.rule_name in (words.MEASURE, words.BUNDLE)):
            display.current.keep(self._text(record))
        if event is None and self._text(record).startswith(NOTHING):
            display.current.say("Nothing to be done: everything that was asked for is there.")

    def _text(self, record: LogRecord) -> str:
        text = self.format(record)
        return "" if text in (None, "None") else text

    def _planned(self, record: LogRecord) -> None:
        display.current.jobs.plan(record.stats)

    def _resources(self, record: LogRecord) -> None:
        display.current.jobs.cores = max(1, getattr(record, "cores", 0) or display.current.jobs.cores)

    def _started(self, record: LogRecord) -> None:
        display.current.jobs.start(record.jobid, record.rule_name, record.wildcards, list(record.log))

    def _finished(self, record: LogRecord) -> None:
        display.current.jobs.end(record.job_id)

    def _failed(self, record: LogRecord) -> None:
        if job := display.current.jobs.end(record.jobid):
            display.current.report_failure(job)

    def _error(self, record: LogRecord) -> None:
        text = self._text(record)
        if not any(known in text for known in OF_JOBS):
            display.current.report_error(text)

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

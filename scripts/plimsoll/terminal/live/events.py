"""Pass Snakemake's events on to the display of a workflow."""

import contextlib
import sys
from collections.abc import Mapping
from logging import LogRecord

from snakemake_interface_logger_plugins.common import LogEvent

from plimsoll import spelling
from plimsoll.terminal.live import display, words
from plimsoll.terminal.live.display import OURS, Display

PLUGIN = "snakemake_logger_plugin_plimsoll"
NOTHING = "Nothing to be done"
# Errors of Snakemake that follow from a failed job, whose own error is enough: exceptions, and the beginning of a message.
OF_JOBS, ENDED = ("RuleException", "CalledProcessError", "SpawnedJobError"), "WorkflowError:\nAt least one job did not"
# What a user has asked for cannot be made.
NO_RULE = "MissingRuleException"
# Events of which nothing is written to the log, because the jobs' own lines say it.
SILENT = (LogEvent.PROGRESS, LogEvent.SHELLCMD, LogEvent.JOB_STARTED, LogEvent.JOB_FINISHED, LogEvent.DEBUG_DAG)


def claim() -> None:
    """Show this workflow by the display, if Snakemake uses the logger plugin of this project and is to show little."""
    handler = getattr(sys.modules.get(PLUGIN), "current", None)
    if handler and not handler.is_plain:
        display.current = Display()
        handler.taker = Events(display.current)


class Events:
    """What the plugin passes Snakemake's records to (snakemake_logger_plugin_plimsoll.Taker)."""

    def __init__(self, shown: Display):
        self.shown = shown
        self._of = {
            LogEvent.RUN_INFO: self._planned,
            LogEvent.RESOURCES_INFO: self._resources,
            LogEvent.JOB_INFO: self._started,
            LogEvent.JOB_FINISHED: self._finished,
            LogEvent.JOB_ERROR: self._failed,
            LogEvent.ERROR: self._error,
        }

    def begin(self) -> bool:
        """Take the terminal, and return whether the system allows that."""
        with contextlib.suppress(OSError):
            self.shown.begin()
        return self.shown.begun

    def take(self, record: LogRecord, text: str) -> None:
        """Show what an event means, and write its text to the log."""
        event = getattr(record, "event", None)
        with self.shown.lock:
            if event in self._of:
                self._of[event](record, text)
            if event not in SILENT and not (event == LogEvent.JOB_INFO and words.own(record.rule_name) in words.UNCOUNTED):
                self.shown.keep(text)
            if event is None and text.startswith(NOTHING):
                self.shown.say("Nothing to be done: everything that was asked for is there.")

    def close(self) -> None:
        """Give the terminal back."""
        self.shown.close()

    def _planned(self, record: LogRecord, text: str) -> None:
        stats: Mapping[str, int] = record.stats
        self.shown.jobs.plan({words.own(rule): number for rule, number in stats.items()})

    def _resources(self, record: LogRecord, text: str) -> None:
        self.shown.jobs.cores = max(1, getattr(record, "cores", 0) or self.shown.jobs.cores)

    def _started(self, record: LogRecord, text: str) -> None:
        self.shown.jobs.start(record.jobid, words.own(record.rule_name), record.wildcards, list(record.log))

    def _finished(self, record: LogRecord, text: str) -> None:
        self.shown.jobs.end(record.job_id)

    def _failed(self, record: LogRecord, text: str) -> None:
        if job := self.shown.jobs.end(record.jobid):
            self.shown.note_failure(job)

    def _error(self, record: LogRecord, text: str) -> None:
        if record.exception == NO_RULE:
            said = text.partition("\n")[2].partition(" (if you")[0].rstrip(".")
            text = f"{OURS}{said}, and nothing was done. `{spelling.command('list')}` lists what can be made."
        if record.exception not in OF_JOBS and not text.startswith(ENDED):
            self.shown.report_error(text)

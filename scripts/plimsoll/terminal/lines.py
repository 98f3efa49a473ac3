"""Snakemake's own lines: what it says of every job is left out, and the findings are told after its last line."""

import atexit
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from snakemake_interface_logger_plugins.common import LogEvent

from plimsoll.measuring import stop
from plimsoll.terminal import interruption

# What Snakemake prints for every job, around the line that says which run it was (plimsoll.measuring.progress).
CHATTER = ("Select jobs to execute", "Execute ", "Finished jobid")
# What it says of the records that another run's launch has left: it is meant so.
BY_ANOTHER = "were not present when the DAG was created"
NOTHING = "Nothing to be done"
# Targets after which the findings are told; none at all stands for the first.
TELLING = ("all", "results/claims.html")


class Filter(logging.Filter):
    """Lets through what is worth a line, and nothing once the workflow restarts. `telling` is whether the findings are told
    where there was nothing to be done, and `at_end` is called there."""

    def __init__(self, telling: bool, studies: list[str], at_end: Callable[[], object] = lambda: None):
        super().__init__()
        self.telling, self.studies, self.at_end = telling, studies, at_end

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is shown."""
        if interruption.happened.is_set() or stop.restarts(Path("results")):
            return False
        text = record.getMessage()
        if text.startswith(NOTHING):
            self.at_end()
            if self.telling:
                tell_at_exit(self.studies)
        return not text.startswith(CHATTER) and BY_ANOTHER not in text and getattr(record, "event", None) != LogEvent.PROGRESS


def asked_for_all(targets: tuple[str, ...], dry: bool) -> bool:
    """Whether a request, once it is done, ends with the findings."""
    return not dry and (not targets or bool(set(targets) & set(TELLING)))


def tell_at_exit(studies: list[str]) -> None:
    """Tell the findings of studies after Snakemake's last line."""
    command = [sys.executable, "-m", "plimsoll", "findings", f"studies={','.join(studies)}"]
    # Snakemake has left its working directory by then.
    atexit.register(subprocess.run, command, cwd=Path.cwd(), stdout=sys.stderr, timeout=60)

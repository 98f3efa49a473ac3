"""Filter Snakemake's own lines: leave out what it says of every job, and print the claims after its last line."""

import atexit
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from snakemake_interface_logger_plugins.common import LogEvent

from plimsoll.measuring import stop
from plimsoll.terminal import interruption

# Snakemake prints these lines for every job, around the line that names the run (plimsoll.measuring.progress).
CHATTER = ("Select jobs to execute", "Execute ", "Finished jobid")
# Snakemake warns so about records that the launch of another run has left, which is intended.
BY_ANOTHER = "were not present when the DAG was created"
NOTHING = "Nothing to be done"
# The claims are printed after these targets. A command without a target stands for the first.
TELLING = ("all", "results/claims.html")


class Filter(logging.Filter):
    """Log filter that lets through what is worth a line, and nothing once the workflow restarts or was interrupted.

    If there was nothing to be done, it calls `at_end`. With `telling`, the claims of the `studies` are then printed.
    """

    def __init__(self, telling: bool, studies: list[str], at_end: Callable[[], object] = lambda: None):
        super().__init__()
        self.telling, self.studies, self.at_end = telling, studies, at_end

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is shown."""
        if interruption.happened.is_set() or stop.restarts(Path("results")):
            return False
        text = record.getMessage()
        if text.startswith(NOTHING):
            self.at_end()
            if self.telling:
                tell_at_exit(self.studies)
        return not text.startswith(CHATTER) and BY_ANOTHER not in text and getattr(record, "event", None) != LogEvent.PROGRESS


def asked_for_all(targets: tuple[str, ...], dry: bool) -> bool:
    """Return whether a request ends with the claims: it is not a dry run, and has no target or one of TELLING."""
    return not dry and (not targets or bool(set(targets) & set(TELLING)))


def tell_at_exit(studies: list[str]) -> None:
    """Print the claims of studies after Snakemake's last line."""
    command = [sys.executable, "-m", "plimsoll", "findings", f"studies={','.join(studies)}"]
    # Snakemake has left its working directory by then.
    atexit.register(subprocess.run, command, cwd=Path.cwd(), stdout=sys.stderr, timeout=60)

"""The log of a program that ran over and over (containers/microservices/iterate.c)."""

import json
from pathlib import Path

from plimsoll.workloads.base import FOLDER

PROGRAM = f"{FOLDER}/iterate"


def command(folder: Path, begin: float, limit: float, count: int) -> list[str]:
    """The words before a program that run it `count` times (0: without end), from the moment `begin` (s of CLOCK_MONOTONIC) on,
    each time for `limit` seconds at most. Its log and output are in `folder`, which must be there."""
    return [PROGRAM, str(log_of(folder)), str(folder), f"{begin:.6f}", f"{limit:g}", str(count)]


def log_of(folder: Path) -> Path:
    """Where the log of the loop in a folder is."""
    return folder / "log.jsonl"


def read(log: Path) -> list[dict]:
    """Iterations that a loop has logged, in order; a line that is being written is left out."""
    try:
        text = log.read_text()
    except OSError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

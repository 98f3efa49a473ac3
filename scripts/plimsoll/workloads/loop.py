"""The log of a program that ran over and over (containers/microservices/iterate.c)."""

import json
import math
import os
import re
from pathlib import Path

from plimsoll.errors import shown
from plimsoll.workloads import printed
from plimsoll.workloads.base import FOLDER, InvalidOutput

PROGRAM = f"{FOLDER}/iterate"
# A line for each iteration, as iterate.c writes it. A loop may go on for a day.
_NUMBER = "-?(?:0|[1-9][0-9]{0,17})"
_SECONDS = rf"{_NUMBER}\.[0-9]{{6}}"
_VALUES = {
    "iteration": "[1-9][0-9]{0,8}",
    **dict.fromkeys(("begin", "end"), _SECONDS),
    **dict.fromkeys(("exit_code", "signal"), _NUMBER),
    "late": "(?:true|false)",
    "left": '"[A-Za-z0-9+._?-]{0,15}"',
    **dict.fromkeys(("user_seconds", "system_seconds"), _SECONDS),
    **dict.fromkeys(("read_bytes", "written_bytes"), _NUMBER),
}
LINE = re.compile("[{]" + ", ".join(f'"{name}": {value}' for name, value in _VALUES.items()) + "[}]")
MOST_BYTES = 2**28
# The number of an iteration, in the names of its files.
ITERATION = re.compile("[0-9]{1,9}")


def command(folder: Path, begin: float, limit: float, count: int) -> list[str]:
    """The words before a program that run it `count` times (0: without end), from the moment `begin` (s of CLOCK_MONOTONIC) on,
    each time for `limit` seconds at most. Its log and output are in `folder`, which must be there."""
    return [PROGRAM, str(log_of(folder)), str(folder), f"{begin:.6f}", f"{limit:g}", str(count)]


def log_of(folder: Path) -> Path:
    """Where the log of the loop in a folder is."""
    return folder / "log.jsonl"


def read(log: Path) -> list[dict]:
    """Iterations that a loop has logged, in order; a line that is being written is left out. InvalidOutput if the log is not as
    the loop writes it: each iteration once, one after the other."""
    if not _is_there(log):
        return []
    iterations, end = [], -math.inf
    # What follows the last end of a line is being written.
    for line in printed.text_of(log, MOST_BYTES).split("\n")[:-1]:
        if not LINE.fullmatch(line):
            raise InvalidOutput(f"the log of its iterations has the line {shown(line)}")
        iteration = json.loads(line)
        if iteration["iteration"] != len(iterations) + 1 or not end <= iteration["begin"] <= iteration["end"]:
            raise InvalidOutput(f"iteration {iteration['iteration']} does not follow the one before it in the log")
        end = iteration["end"]
        iterations.append(iteration)
    return iterations


def all_of(folder: Path) -> list[dict]:
    """The iterations of a loop that has ended. InvalidOutput as for `read`, and if the log lacks its last lines: of an
    iteration that was ended with the loop there is an output, and no line."""
    iterations = read(log_of(folder))
    if _is_there(output_of(folder, len(iterations) + 2)):
        raise InvalidOutput(f"the log of its iterations ends after {len(iterations)} of them, and it began others")
    return iterations


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as problem:
        raise InvalidOutput(f"nobody may look into the folder {path.parent.name} of its iterations") from problem


def output_of(folder: Path, iteration: int) -> Path:
    """Where an iteration of the loop in a folder has printed to."""
    return folder / f"{iteration}.out"


def printed_by(folder: Path, iteration: int) -> list[Path]:
    """The files to which an iteration of the loop in a folder prints."""
    return [folder / f"{iteration}.{kind}" for kind in ("out", "err")]


def printed_now(folder: Path) -> list[Path]:
    """The files to which the iteration prints that the loop in a folder is at. InvalidOutput if the folder has gone."""
    try:
        names = [name.partition(".")[0] for name in os.listdir(folder)]
    except OSError as problem:
        raise InvalidOutput(f"the folder {folder.name} of its iterations has gone") from problem
    return printed_by(folder, max((int(name) for name in names if ITERATION.fullmatch(name)), default=1))

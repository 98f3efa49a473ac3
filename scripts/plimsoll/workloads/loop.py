"""The log of a program that runs in a loop (containers/microservices/iterate.c)."""

import json
import math
import os
import re
from pathlib import Path

from plimsoll.errors import quote
from plimsoll.workloads import program_output
from plimsoll.workloads.base import FOLDER, InvalidOutput

PROGRAM = f"{FOLDER}/iterate"
# Form of the line that iterate.c writes per iteration. A loop may go on for a day.
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
# Number of an iteration in the names of its files.
ITERATION = re.compile("[0-9]{1,9}")


def command(folder: Path, begin: float, limit: float, count: int) -> list[str]:
    """Return the words to put before a program so that it runs `count` times (0: without end).

    The first iteration begins at `begin` (s of CLOCK_MONOTONIC); each may take `limit` seconds. Log and output lie in
    `folder`, which must exist.
    """
    return [PROGRAM, str(log_of(folder)), str(folder), f"{begin:.6f}", f"{limit:g}", str(count)]


def log_of(folder: Path) -> Path:
    """Return the path of the log of the loop in a folder."""
    return folder / "log.jsonl"


def read(log: Path) -> list[dict]:
    """Return the iterations that a loop has logged, in order. A line that is still being written is left out.

    Raise InvalidOutput if the log has another form than the loop writes: each iteration once, one after the other.
    """
    if not _is_there(log):
        return []
    iterations, end = [], -math.inf
    # Text after the last line break is still being written.
    for line in program_output.text_of(log, MOST_BYTES).split("\n")[:-1]:
        if not LINE.fullmatch(line):
            raise InvalidOutput(f"the log of its iterations has the line {quote(line)}")
        iteration = json.loads(line)
        if iteration["iteration"] != len(iterations) + 1 or not end <= iteration["begin"] <= iteration["end"]:
            raise InvalidOutput(f"iteration {iteration['iteration']} does not follow the one before it in the log")
        end = iteration["end"]
        iterations.append(iteration)
    return iterations


def all_of(folder: Path) -> list[dict]:
    """Return the iterations of a loop that has ended.

    Raise InvalidOutput as `read` does, and if the log lacks its last lines. An iteration that was ended together with
    the loop has an output file but no line, so one such file is allowed.
    """
    iterations = read(log_of(folder))
    if _is_there(output_of(folder, len(iterations) + 2)):
        raise InvalidOutput(f"the log of its iterations ends after {len(iterations)} of them, and it began others")
    return iterations


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as problem:
        raise InvalidOutput(f"the folder {path.parent.name} of its iterations cannot be read") from problem


def output_of(folder: Path, iteration: int) -> Path:
    """Return the path of the output of an iteration."""
    return folder / f"{iteration}.out"


def printed_by(folder: Path, iteration: int) -> list[Path]:
    """Return the paths of the files to which an iteration prints."""
    return [folder / f"{iteration}.{kind}" for kind in ("out", "err")]


def printed_now(folder: Path) -> list[Path]:
    """Return the paths of the files to which the loop's current iteration prints. Raise InvalidOutput if the folder is gone."""
    try:
        names = [name.partition(".")[0] for name in os.listdir(folder)]
    except OSError as problem:
        raise InvalidOutput(f"the folder {folder.name} of its iterations has gone") from problem
    return printed_by(folder, max((int(name) for name in names if ITERATION.fullmatch(name)), default=1))

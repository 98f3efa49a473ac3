"""What runs of a program left: their times, their output, and the numbers in it."""

import json
import math
import re
import subprocess
from pathlib import Path

from plimsoll.designs.program.factors import ProgramCell, Timed
from plimsoll.errors import quote
from plimsoll.host import run_files
from plimsoll.workloads.base import InvalidOutput

STDOUT, STDERR = "stdout.txt", "stderr.txt"
PRINTED = (STDOUT, STDERR)
LOG = "timed.jsonl"
# What is read of an output, at most (bytes).
MOST_BYTES = 2**26
CANNOT_START = 127
# Time limit of a check of the program's answer (s).
CHECK_SECONDS = 60
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
KIBIBYTES = 1024
LEFT = "the program ended and left processes running, so its time is unknown"


def run_logs(folder: Path, cell: ProgramCell) -> list[dict]:
    """Return what was logged of each run, with the warm-up. InvalidOutput, in words, if one of them went wrong."""
    lines = run_files.text(folder / LOG, MOST_BYTES).splitlines()
    runs = [json.loads(line) for line in lines]
    limit = cell["parameters"]["limit_seconds"]
    for run in runs:
        if problem := _problem(run, folder / str(run["run"]), limit):
            raise InvalidOutput(problem)
    if len(runs) <= cell["runs"]:
        raise InvalidOutput(f"only {len(runs)} of {cell['runs'] + 1} runs of the program ended")
    return runs


def _problem(run: dict, folder: Path, limit: float) -> str | None:
    said = (run_files.text(folder / STDERR, MOST_BYTES).strip().splitlines() or ["it printed no error"])[-1]
    if run["late"]:
        return f"the program did not end within {limit:g} s"
    if run["left"]:
        return LEFT
    if run["signal"]:
        return f"the program was killed by signal {run['signal']}"
    if run["code"] == CANNOT_START:
        return f"the program could not be started: {said}"
    return f"the program failed with exit status {run['code']}: {said}" if run["code"] else None


def read(folder: Path, run: dict, own: dict[str, float], parameters: dict) -> Timed:
    """Return the values of a run by metric, and the digest of its output.

    `own` has values of the start. InvalidOutput if a number is missing or below 0, or the answer is wrong.
    """
    printed = run_files.text(folder / STDOUT, MOST_BYTES)
    values = {
        "wall": run["wall"],
        "user": run["user"],
        "system": run["system"],
        "processor": run["user"] + run["system"],
        "memory": run["memory"] / KIBIBYTES,
        "waits": float(run["waits"]),
        "preempted": float(run["preempted"]),
        "faults": float(run["minor_faults"] + run["major_faults"]),
        **own,
    }
    metrics = parameters.get("metrics", {})
    for name, metric in metrics.items():
        values[name] = number(name, metric, printed, folder / "work")
        if values[name] < 0:
            raise InvalidOutput(f"the metric {name} is {values[name]:g}, and below 0 there is no relative change")
    _check(parameters.get("check"), folder)
    # A number that is measured differs from run to run, and is no sign of a wrong answer.
    measured = [metric["pattern"] for metric in metrics.values() if metric["source"] != "json"]
    return {"values": values, "output": digest(printed, [*parameters.get("filter", []), *measured])}


def number(name: str, metric: dict, printed: str, folder: Path) -> float:
    """Return a metric's number in an output, or in a JSON file. InvalidOutput if there is none, or more than one."""
    if metric["source"] == "json":
        return _of_json(name, metric, folder)
    found = re.findall(metric["pattern"], printed, re.MULTILINE)
    if len(found) != 1:
        what = "no number" if not found else f"{len(found)} numbers"
        last = next((line for line in reversed(printed.splitlines()) if line.strip()), "")
        ends = f"; its last line is {quote(last)}" if last else ", because it is empty"
        raise InvalidOutput(f"the output has {what} for {name} ({quote(metric['pattern'])}){ends}")
    if not NUMBER.fullmatch(found[0]):
        raise InvalidOutput(f"{quote(found[0])} is no number, and {name} needs one ({quote(metric['pattern'])})")
    return float(found[0])


def _of_json(name: str, metric: dict, folder: Path) -> float:
    # The variables of a run are written before each start.
    if not _is_written(folder / metric["file"], folder.parents[1] / "variables"):
        raise InvalidOutput(f"the run did not write {metric['file']}, which {name} needs")
    try:
        value = json.loads(run_files.text(folder / metric["file"], MOST_BYTES))
        for key in metric["key"].split("."):
            value = value[int(key)] if isinstance(value, list) else value[key]
    except (ValueError, LookupError, TypeError) as problem:
        raise InvalidOutput(f"{metric['file']} has no {metric['key']}, which {name} needs") from problem
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidOutput(f"{metric['key']} in {metric['file']} is no number, and {name} needs one")
    return float(value)


def _is_written(file: Path, before: Path) -> bool:
    """Return whether a file is there, and no older than the file `before`, if that is there.

    A copy of a file of the user's folder is as old as the file.
    """
    try:
        written = file.lstat().st_mtime_ns
    except OSError:
        return False
    return not before.exists() or written >= before.lstat().st_mtime_ns


def digest(printed: str, filters: list[str]) -> str:
    """Return the SHA-256 of an output without what the filters match."""
    for pattern in filters:
        printed = re.sub(pattern, "", printed, flags=re.MULTILINE)
    import hashlib  # here, because planning and other stages import this module, too

    return hashlib.sha256(printed.encode()).hexdigest()


def _check(command: list[str] | None, folder: Path) -> None:
    """Run the user's check in the folder of a run, with its output as input. InvalidOutput if it does not succeed."""
    if not command:
        return
    try:
        with open(folder / STDOUT, "rb") as printed:
            streams = {"stdin": printed, "capture_output": True, "text": True, "errors": "replace"}
            done = subprocess.run(command, cwd=folder / "work", timeout=CHECK_SECONDS, **streams)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise InvalidOutput(f"the check could not be made: {problem}") from problem
    if done.returncode:
        said = (done.stderr + done.stdout).strip().splitlines()
        raise InvalidOutput(f"the check says that the answer is wrong: {said[-1] if said else f'status {done.returncode}'}")


def refuse_others(timed: list[Timed], parameters: dict) -> None:
    """Raise InvalidOutput if a run printed something else than the study's first run on this host."""
    wanted = parameters.get("output")
    if wanted and any(one["output"] != wanted for one in timed):
        raise InvalidOutput("its output differs from the first run's: the answers differ, and times mean nothing")

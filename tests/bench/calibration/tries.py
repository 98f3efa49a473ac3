"""Tries of programs whose costs are known: none at all (fifty tries), or one in each of four steps (25 tries).

Each try is `plimsoll try --runtimes docker` as a user types it, on the files of this host. It finds what it should if
the steps that cost something are exactly those in which a cost was planted. Tries are appended to those of earlier
starts, so a campaign may be divided.
"""

import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from plimsoll.designs.program.factors import FILES, FIRST, STEPS
from plimsoll.designs.program.side_differences import is_costly

from tests import planted
from tests.bench.calibration import FOLDER, read, wilson, write
from tests.conftest import PROJECT

NAME = "tries"


class Kind(NamedTuple):
    """A program to try: its text and the program that runs it, the steps in which costs are planted, and the minutes of a
    try."""

    text: str
    by: str
    steps: tuple[str, ...] = ()
    minutes: float = 0.5


# Computes with no calls of the system in between.
ALIKE = "awk 'BEGIN { for (i = 0; i < 1500000; i++) s += i; print s }'\n"
KINDS = {
    "alike": Kind(ALIKE, "sh"),
    "planted": Kind(planted.IN_FOUR_STEPS, "/usr/bin/python3", planted.FOUR_STEPS, minutes=3),
}


def main(alike: int = 50, costly: int = 25) -> None:
    """Make the tries that are still missing of these numbers, and print what was found in all of them."""
    rows = read(NAME).astype(object).fillna("").to_dict("records") if (FOLDER / f"{NAME}.csv").exists() else []
    for name, number in (("planted", costly), ("alike", alike)):
        for _ in range(number - sum(row["kind"] == name for row in rows)):
            rows.append(_try(name))
            print(*rows[-1].values(), flush=True)
            write(pd.DataFrame(rows), NAME)
    tell(pd.DataFrame(rows))


def _try(name: str) -> dict:
    """Try a program of a kind, and return the row of its try."""
    kind, begun = KINDS[name], time.time()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, contextlib.ExitStack() as stack:
        (Path(folder) / "program").write_text(kind.text)
        environment = {**os.environ, "PYTHONPATH": str(PROJECT / "scripts")}
        if kind.steps:
            environment["PATH"] = stack.enter_context(planted.client())
        words = ["try", "--json", "--runtimes", "docker", "--minutes", f"{kind.minutes:g}", "--", kind.by, "program"]
        command = [sys.executable, "-m", "plimsoll.cli", *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        told = {"found": "", "blocks": 0, "widest": "", "failed": done.stderr.strip().splitlines()[-1]}
    else:
        told = {**_found(json.loads(done.stdout)["comparisons"]), "failed": ""}
    planted_in = "; ".join(kind.steps)
    return {"kind": name, "began": round(begun), "seconds": round(time.time() - begun), "planted": planted_in, **told}


def _found(comparisons: list[dict]) -> dict:
    """Return the steps that cost the wall time something, the blocks of the first stage, and its widest interval's reach."""
    wall = [row for row in pd.DataFrame(comparisons).itertuples() if row.metric == "wall"]
    split = any(row.stage == STEPS for row in wall)
    # A default's whole cost is no step. Where no steps were measured, its container is one.
    steps = {
        row.adds
        for row in wall
        if is_costly(row) and (not split or row.stage == STEPS or (row.stage == FIRST and row.runtime == FILES))
    }
    first = [row for row in wall if row.stage == FIRST and not math.isnan(row.low)]
    reach = max((max(abs(row.low), abs(row.high)) for row in first), default=math.nan)
    return {"found": "; ".join(sorted(steps)), "blocks": min((row.n for row in first), default=0), "widest": round(reach, 4)}


def tell(tries: pd.DataFrame) -> None:
    """Print how many tries found what they should, with 95 % intervals."""
    done = tries[tries["failed"] == ""]
    print(f"{len(tries)} tries, {len(tries) - len(done)} without an answer")
    none = done[done["kind"] == "alike"]
    _share("nothing was planted, and something was found", (none["found"] != "").sum(), len(none))
    own = done[done["kind"] != "alike"]
    steps = [(set(row.planted.split("; ")), set(filter(None, row.found.split("; ")))) for row in own.itertuples()]
    _share("a planted step was named", sum(len(there & found) for there, found in steps), sum(len(there) for there, _ in steps))
    _share("a step was named in which nothing was planted", sum(bool(found - there) for there, found in steps), len(steps))


def _share(what: str, number: int, whole: int) -> None:
    if whole:
        low, high = wilson(number, whole)
        print(f"{what}: {number} of {whole} [{low:.3f}, {high:.3f}]")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

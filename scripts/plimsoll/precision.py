"""More repetitions where they are needed: until every comparison's interval is narrow enough, or a maximum is reached.

The rule looks at the width of intervals and never at p or at a verdict. Stopping when a p gets small enough would make small
p-values as often as one cares to look; stopping when an interval is narrow enough does not favour either side.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import pandas as pd

from plimsoll import record
from plimsoll.errors import PlimsollError

ASKED = "repetitions.json"
# Stopping as soon as an interval happens to be narrow favours samples whose spread happens to be small, and their intervals are
# too narrow. So it is the width with a spread at the upper end of its own one-sided 80 % interval that must get there.
CAUTION = 0.8
# Widths of few values are guesses: a cell gets at most this many times what it has before we look again.
GROWTH = 2
WITHIN_BLOCKS = ("paired t within blocks", "none: too few blocks")


def asked(results: Path, profile: str) -> dict[str, int]:
    """Repetitions by cell that earlier rounds asked for, of this profile. PlimsollError if the file is damaged."""
    path = results / ASKED
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text())
        return found["cells"] if found["profile"] == profile else {}
    except (ValueError, KeyError, TypeError) as error:
        raise PlimsollError(
            f"{path} is damaged ({error}): delete it, and only the additional repetitions are forgotten."
        ) from error


def widths(comparisons: pd.DataFrame, tests: pd.DataFrame) -> pd.DataFrame:
    """What is compared, with the width of its interval: columns `what`, `metric`, `a`, `b` (cells), `n` and `width`.

    Both of a claim's comparison and of a test the interval is that of a ratio, and its width is a fraction of that ratio: an
    interval from 76 to 84 is as wide as one from 0.95 to 1.05. Differences of losses are fractions already. Comparisons
    that have too few blocks for an interval are infinitely wide; those of another kind (counts, ranks, dispersion) are left
    out.
    """
    found = []
    for row in comparisons[comparisons["test"].isin(WITHIN_BLOCKS)].itertuples():
        # Only ratios have been put through the paper's own procedure too.
        scale = 1 + row.effect if pd.notna(row.paper_p) else 1
        width = (row.high - row.low) / scale if pd.notna(row.low) else math.inf
        found.append((row.claim, row.metric, row.cell_a, row.cell_b, row.n, width))
    for row in tests[tests["ratio_low"].notna()].to_dict("records") if "ratio_low" in tests else []:
        width = (row["ratio_high"] - row["ratio_low"]) / row["ratio"]
        n = min(row["n_a"], row["n_b"])
        found.append((row["comparison"], row["metric"], row["cell"], row["reference"], n, width))
    return pd.DataFrame(found, columns=["what", "metric", "a", "b", "n", "width"])


def cautious(found: pd.DataFrame) -> pd.Series:
    """Widths that the intervals would have with a spread at the upper end of its own interval (CAUTION)."""
    from scipy import stats

    degrees = (found["n"] - 1).clip(lower=1)
    return found["width"] * (degrees / stats.chi2.ppf(1 - CAUTION, degrees)) ** 0.5


def next_repetitions(now: dict[str, int], found: pd.DataFrame, target: float, maximum: int) -> dict[str, int]:
    """Repetitions by cell for the next round; equal to `now` where nothing more is asked for.

    The width of an interval falls with the square root of the number of repetitions, so that much is asked for, but at most
    GROWTH times what there is, and at least one more.
    """
    wanted = dict(now)
    found = found.assign(width=cautious(found))
    for row in found[found["width"] > target].itertuples():
        for cell in (row.a, row.b):
            if cell in now:
                estimate = now[cell] * min(GROWTH, (row.width / target) ** 2)
                wanted[cell] = max(wanted[cell], min(math.ceil(estimate), maximum))
    return {cell: max(number, now[cell]) for cell, number in wanted.items()}


def reach(study: str, target: float, maximum: int, settings: list[str]) -> None:
    """Measure round after round; leaves results/<study>/precision.csv, which says of every comparison whether it got there.

    Raises PlimsollError for a target that is no positive number, or if the workflow fails.
    """
    if not target > 0 or maximum < 1:
        raise PlimsollError("The width must be above 0 and the maximum at least 1.")
    folder = Path("results") / study
    while True:
        command = [sys.executable, "-m", "snakemake", "--cores", "1", f"{folder}/claims.json", f"{folder}/tables/tests.csv"]
        if subprocess.run([*command, "--config", *settings] if settings else command).returncode:
            raise PlimsollError("The workflow failed; its messages are above. What was measured is kept.")
        plan = json.loads((folder / "plan.json").read_text())
        now = {path: cell["repetitions"] for path, cell in plan["cells"].items() if cell["reason"] is None}
        found = widths(pd.read_csv(folder / "comparisons.csv"), _read(folder / "tables/tests.csv"))
        wanted = next_repetitions(now, found, target, maximum)
        if wanted == now:
            break
        more = sum(wanted.values()) - sum(now.values())
        wide = (cautious(found) > target).sum()
        print(
            f"plimsoll: {wide} of {len(found)} intervals are wider than {target:g}, or may well be: {more} more runs.",
            flush=True,
        )
        record.write(folder / ASKED, {"profile": plan["profile"], "cells": wanted})
    reached = found.assign(reached=cautious(found) <= target, target=target, repetitions=found["a"].map(now))
    reached.to_csv(folder / "precision.csv", index=False)
    count = reached["reached"].sum()
    print(f"plimsoll: {count} of {len(reached)} intervals are narrow enough ({target:g}); {folder}/precision.csv has each.")


def _read(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()

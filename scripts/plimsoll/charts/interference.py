"""What the charts of interference share: the views of cells in order, their names, and the sentences of captions."""

import numpy as np
import pandas as pd

from plimsoll.charts import style
from plimsoll.interference import table

CASES = {
    "1": "case 1: alone, limits",
    "2": "case 2: one container",
    "3a": "case 3a: two containers",
    "3b": "case 3b: two, limits",
}
# All of it is Docker: tints and hatches of its colour tell the cases apart.
COLOURS = {"1": "#9ecbe4", "2": style.COLOURS["docker"], "3a": "#4a9bc9", "3b": "#0a4f78"}
HATCHES = {"1": "", "2": "", "3a": "//", "3b": "xx"}
# A second sign beside the shade, for each of several metrics in a panel.
MARKERS = ("o", "s", "^", "D")
SHADES = ("#1b1b3a", "#7a5195", "#c7762e", "#2a9d8f")


def summarise(observations: pd.DataFrame, metrics: list[str], plan: dict) -> pd.DataFrame:
    """One row a metric and view of a cell, those without an iteration that counts as well: the statistics of its iterations,
    the interference ratio with its interval, and in `paper_..` what the papers print."""
    found = table.statistics_of(observations)
    rows = [
        {**view, "metric": metric, "runtime": plan["runtime"]}
        for metric in metrics
        for view in views(plan, plan["benchmark_of"][metric])
    ]
    whole = pd.DataFrame(rows).merge(found[found["metric"].isin(metrics)], on=table.VIEW, how="left")
    whole["n"] = whole["n"].fillna(0).astype(int)
    for column in ("label", "unit", "better"):
        whole[column] = whole["metric"].map({name: described[column] for name, described in plan["metrics"].items()})
    columns = ("mean", "sd", "min", "max", "interference_ratio", "unit")
    paper = pd.DataFrame(plan["paper"], columns=[*table.OF_PAPER, *columns])
    return whole.merge(paper.rename(columns={name: f"paper_{name}" for name in columns}), on=table.OF_PAPER, how="left")


def views(plan: dict, benchmark: str) -> list[dict]:
    """Views of a microservice in the order of the papers: alone, then beside each other in cases 2, 3a and 3b."""
    others = list(plan["benchmarks"])
    present = {(cell["case"], frozenset(cell["members"]), len(cell["members"])) for cell in plan["cells"]}
    found = [{"benchmark": benchmark, "case": "1", "co_runner": "none"}]
    for case in ("2", "3a", "3b"):
        for other in others:
            if (case, frozenset({benchmark, other}), 2) in present:
                found.append({"benchmark": benchmark, "case": case, "co_runner": other})
    return found


def letter(plan: dict, benchmark: str) -> str:
    """The papers' letter of a microservice, with a star if another program stands in for it."""
    return plan["benchmarks"][benchmark]["letter"]


def name(plan: dict, row) -> str:
    """L, or L(+S)."""
    own = letter(plan, row.benchmark)
    return own if row.co_runner == "none" else f"{own}(+{letter(plan, row.co_runner)})"


def key(plan: dict) -> str:
    """A sentence that says what the letters stand for, and which are substitutes."""
    words = [f"{letter(plan, name)}: {described['label']}" for name, described in plan["benchmarks"].items()]
    stars = [
        f" {letter(plan, name)} stands in for {described['stands_for']}."
        for name, described in plan["benchmarks"].items()
        if described["stands_for"]
    ]
    return f"{'; '.join(words)}.{''.join(stars)}"


def sample_size(summary: pd.DataFrame) -> str:
    """Iterations a bar and blocks, for captions."""
    counts, blocks = summary.loc[summary["n"] > 0, "n"], summary["blocks"].max()
    if counts.empty:
        return "No iteration counts."
    return f"n = {counts.min()} to {counts.max()} iterations that count, in {blocks:.0f} block{'s' if blocks > 1 else ''}."


def interval(summary: pd.DataFrame) -> str:
    """What the intervals of ratios are of, for captions."""
    ways = {
        "blocks": "Student's, of the logarithms of ratios within blocks",
        "iterations": "a bootstrap of the iterations; it does not know how one start differs from the next",
    }
    found = [ways[way] for way in ways if (summary["interval_of"] == way).any()]
    return f"95 % intervals: {' or '.join(found)}." if found else ""


def without(summary: pd.DataFrame, plan: dict) -> str:
    """A sentence about views without an iteration that counts."""
    missing = [f"{name(plan, row)} in case {row.case}" for row in summary[summary["n"] == 0].itertuples()]
    return f" No iteration counts of {', '.join(dict.fromkeys(missing))}." if missing else ""


def finite(*values) -> bool:
    """Whether all values are numbers."""
    return all(value is not None and np.isfinite(value) for value in values)

"""Shared parts of the interference charts: the views of cells in order, their names, and sentences of captions."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from plimsoll import workloads
from plimsoll.designs.interference import tests as statistics_table
from plimsoll.designs.interference.cells import BASELINE as ALONE
from plimsoll.designs.interference.factors import FREE, PLACEMENTS
from plimsoll.designs.interference.words import CASES as WHERE
from plimsoll.figures import bars, style
from plimsoll.figures.data import FigureData
from plimsoll.figures.findings import Change

CASES = {
    "1": "case 1: alone, limits",
    "2": "case 2: one container",
    "3a": "case 3a: two containers",
    "3b": "case 3b: two, limits",
}
# Cases with a single microservice.
OF_ONE = (ALONE, "1a")
# All cases run in Docker: tints and hatches of Docker's colour tell them apart.
COLOURS = {"1": "#9ecbe4", "2": "#0072b2", "3a": "#4a9bc9", "3b": "#0a4f78"}
HATCHES = {"1": "", "2": "", "3a": "//", "3b": "xx"}
# Each of several metrics in a panel has a marker besides its shade.
MARKERS = ("o", "s", "^", "D")
SHADES = ("#1b1b3a", "#7a5195", "#c7762e", "#2a9d8f")


def summarise(data: FigureData) -> pd.DataFrame:
    """Return one row per metric and view of a cell, in the study's first runtime and the papers' placement.

    A row has the statistics of its iterations, the interference ratio with its interval, and in columns `paper_...` the
    papers' values. Views without an iteration that counts have a row too, with n = 0.
    """
    statistics = statistics_table.statistics_of(data.observations)
    benchmark_of, metrics = data.options["benchmark_of"], list(data.metrics)
    rows = [
        {**view, "metric": metric, "runtime": data.options["runtime"], "placement": FREE}
        for metric in metrics
        for view in views(data, benchmark_of[metric])
    ]
    whole = pd.DataFrame(rows).merge(statistics[statistics["metric"].isin(metrics)], on=statistics_table.VIEW, how="left")
    for number in ("n", "blocks"):
        whole[number] = whole[number].fillna(0).astype(int)
    for column in ("label", "unit", "better"):
        whole[column] = whole["metric"].map({name: described[column] for name, described in data.metrics.items()})
    columns = ("mean", "sd", "min", "max", "interference_ratio", "unit")
    paper = pd.DataFrame(data.options["paper"], columns=[*statistics_table.OF_PAPER, *columns])
    return whole.merge(
        paper.rename(columns={name: f"paper_{name}" for name in columns}), on=statistics_table.OF_PAPER, how="left"
    )


def views(data: FigureData, benchmark: str) -> list[dict]:
    """Return the views of a microservice in the papers' order: alone, then beside each other one, by case.

    A view has `benchmark`, `case` and `co_runner`.
    """
    present = {(cell["case"], frozenset(cell["members"]), len(cell["members"])) for cell in data.cells}
    shown = [{"benchmark": benchmark, "case": ALONE, "co_runner": "none"}]
    for case in pair_cases(cell["case"] for cell in data.cells):
        for other in data.options["benchmarks"]:
            if (case, frozenset({benchmark, other}), 2) in present:
                shown.append({"benchmark": benchmark, "case": case, "co_runner": other})
    return shown


def pair_cases(cases: Iterable[str]) -> list[str]:
    """Return the cases with two microservices, in the papers' order."""
    return [case for case in style.in_order(CASES, cases) if case not in OF_ONE]


def case_label(case: str) -> str:
    """Return a case's name for people."""
    return CASES.get(case, f"case {case}")


def look(case: str) -> tuple[str, str]:
    """Return colour and hatch of a case."""
    return COLOURS.get(case, style.FALLBACK[0]), HATCHES.get(case, style.FALLBACK_HATCHES[0])


def letter(data: FigureData, benchmark: str) -> str:
    """Return the papers' letter of a microservice, with a star if another program stands in for it."""
    return data.options["benchmarks"][benchmark]["letter"]


def name(data: FigureData, row) -> str:
    """Return the name of a row's view in the papers' letters: L, or L(+S)."""
    own = letter(data, row.benchmark)
    return own if row.co_runner == "none" else f"{own}(+{letter(data, row.co_runner)})"


def placed(data: FigureData) -> str:
    """Return a sentence on where clients and servers ran; empty if no microservice of the figure has a server."""
    shown = {cell["placement"] for cell in data.cells if any(workloads.find(name).roles for name in cell["members"])}
    words = "; ".join(words for placement, words in PLACEMENTS.items() if placement in shown)
    return f" {words[0].upper()}{words[1:]}." if words else ""


def key(data: FigureData) -> str:
    """Return sentences on what the letters mean, which microservices are substitutes, and where clients and servers ran."""
    benchmarks = data.options["benchmarks"]
    words = [f"{letter(data, name)}: {described['label']}" for name, described in benchmarks.items()]
    stars = [
        f" {letter(data, name)} stands in for {described['stands_for']}."
        for name, described in benchmarks.items()
        if described["stands_for"]
    ]
    return f"{'; '.join(words)}.{''.join(stars)}{placed(data)}"


def sample_size(summary: pd.DataFrame) -> str:
    """Return a caption's sentence on the number of iterations per view and the number of blocks."""
    counts, blocks = summary.loc[summary["n"] > 0, "n"], summary["blocks"].max()
    if counts.empty:
        return "No iteration counts."
    return f"n = {counts.min()} to {counts.max()} iterations that count, in {blocks:.0f} block{'s' if blocks > 1 else ''}."


def interval(summary: pd.DataFrame) -> str:
    """Return a caption's sentence on how the ratios' intervals were made; empty if no ratio has one."""
    ways = {
        "blocks": "Student's, of the logarithms of ratios within blocks",
        "iterations": "a bootstrap of the iterations; it does not know how one start differs from the next",
    }
    used = [ways[way] for way in ways if (summary["interval_of"] == way).any()]
    return f"95 % intervals: {' or '.join(used)}." if used else ""


def note_on_missing(summary: pd.DataFrame, data: FigureData) -> str:
    """Return a sentence that names the views without an iteration that counts; empty if there are none."""
    missing = [f"{name(data, row)} in case {row.case}" for row in summary[summary["n"] == 0].itertuples()]
    return f" No iteration counts of {', '.join(dict.fromkeys(missing))}." if missing else ""


def finite(*values) -> bool:
    """Return whether all values are finite numbers."""
    return all(value is not None and np.isfinite(value) for value in values)


def metric_name(data: FigureData, metric: str) -> str:
    """Return a metric with its microservice, such as "Bonnie++, block input"."""
    service, label = data.options["benchmarks"][data.options["benchmark_of"][metric]]["label"], data.metrics[metric]["label"]
    if label in service or service in label:
        return max(service, label, key=len)
    return f"{service}, {label[0].lower()}{label[1:]}"


def findings(data: FigureData, summary: pd.DataFrame) -> str:
    """Return sentences on what a figure shows, for readers who cannot see it.

    They give both ends of the ratios whose interval leaves out 0, and how many such ratios there are.
    """
    rows = summary.dropna(subset=["interference_ratio", "ratio_low", "ratio_high"]).itertuples()
    ratios = [Change(_in_words(data, row), row.interference_ratio, row.ratio_low, row.ratio_high) for row in rows]
    if not ratios:
        return "Too few iterations count to compare with running alone."
    telling = sorted((one for one in ratios if one.differs), key=lambda one: one.change)
    return " ".join([*_ends(telling), bars.how_many_differ(len(telling), f"{len(ratios)} combinations", "running alone")])


def _in_words(data: FigureData, row) -> str:
    """Return a row's view in words: STREAM TRIAD beside Linpack in one shared container."""
    partner = data.options["benchmarks"][row.co_runner]["label"]
    return f"{metric_name(data, row.metric)} beside {partner} in {WHERE.get(row.case, case_label(row.case))}"


def _ends(ratios: list[Change]) -> list[str]:
    """Return sentences on the first and the last of sorted ratios: losses, gains, or one of each."""
    if not ratios:
        return []
    low, high = ratios[0], ratios[-1]
    ends = {
        "Largest loss" if low.change < 0 else "Smallest gain": low,
        "Largest gain" if high.change > 0 else "Smallest loss": high,
    }
    return [f"{end}: {one.in_words}." for end, one in ends.items() if len(ratios) > 1 or end.startswith("Largest")]

"""Shared parts of the charts of overhead: runtimes in order with their looks, and sentences for captions."""

import pandas as pd
from matplotlib.lines import Line2D

from plimsoll.designs.overhead import words
from plimsoll.designs.overhead.factors import BARE, VOLUME
from plimsoll.figures import drawn_values, findings, style
from plimsoll.figures.data import FigureData

PAPER = {"marker": "D", "markersize": 3.4, "markerfacecolor": "white", "markeredgecolor": "#777777", "linestyle": ""}
PAPER |= drawn_values.NO_INTERVAL
WIDTH = 0.8
# Hatch of a runtime with a volume, to separate it from the same runtime with its own files.
VOLUME_HATCH = "//"


def runtimes(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Return (runtime, storage) of each combination in a table, bare metal first."""
    keys = list(table[["runtime", "storage"]].drop_duplicates().itertuples(index=False, name=None))
    order = list(style.looks({runtime for runtime, _ in keys}))
    return sorted(keys, key=lambda key: (order.index(key[0]), key[1] == VOLUME))


def looks(keys: list[tuple[str, str]]) -> dict[tuple[str, str], style.Look]:
    """Return the look of each (runtime, storage)."""
    of_runtime = style.looks({runtime for runtime, _ in keys})
    told = {}
    for runtime, storage in keys:
        look = of_runtime[runtime]
        hatch = VOLUME_HATCH if storage == VOLUME else look.hatch
        told[runtime, storage] = style.Look(look.colour, hatch, words.environment(runtime, storage))
    return told


def place(number: int, position: int, of: int) -> float:
    """Return where the middle of a bar is: bar `position` of the `of` bars in group `number`."""
    return number + (position - (of - 1) / 2) * WIDTH / of


def names(data: FigureData) -> list[str]:
    """Return the metrics' labels, short enough to fit below an axis."""
    return [described["label"].removeprefix("HardInfo ").replace(" ", "\n", 1) for described in data.metrics.values()]


def directed(data: FigureData) -> list[str]:
    """Return the metrics' labels for an axis. Each says which direction is better if the metrics differ in it."""
    directions = [described["better"] for described in data.metrics.values()]
    if len(set(directions)) < 2:
        return names(data)
    return [f"{label}\n({better}\nis better)" for label, better in zip(names(data), directions, strict=True)]


def of_how_many(data: FigureData, summary: pd.DataFrame) -> str:
    """Return sentences for a caption: the number of iterations and blocks, and what was not measured."""
    if summary.empty:
        return "No iteration counts."
    low, high, most = int(summary["n"].min()), int(summary["n"].max()), int(summary["blocks"].max())
    counted = f"n = {low}" if low == high else f"n = {low} to {high}"
    missing = f" Not measured here: {'; '.join(dict.fromkeys(data.missing))}." if data.missing else ""
    return (
        f"{counted} iterations that count, in up to {most} block{'' if most == 1 else 's'} (profile {data.profile}).{missing}"
    )


def handles(keys: list[tuple[str, str]], paper: bool) -> list:
    """Return the entries of a legend: one per (runtime, storage), and one for the paper's values if they are drawn."""
    of_paper = [Line2D([], [], label="the paper", **PAPER)] if paper else []
    return [*style.patches(looks(keys).values()), *of_paper]


def not_bare(keys: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the (runtime, storage) that are compared with bare metal."""
    return [key for key in keys if key[0] != BARE]


def changes(summary: pd.DataFrame) -> list[findings.Change]:
    """Return how far each mean is from bare metal's, by metric and (runtime, storage)."""
    rows = summary.dropna(subset=["change"]).itertuples()
    return [findings.Change(_named(row), row.change, row.change_low, row.change_high) for row in rows]


def _named(row) -> str:
    """Return the metric and environment of a row, and that lower values are better if they are."""
    better = " (lower is better)" if row.better == "lower" else ""
    return f"{row.label}, {words.environment(row.runtime, row.storage)}{better}"

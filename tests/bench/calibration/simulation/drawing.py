"""Figures of the simulation: verdicts by true effect, and error rates beside their nominal levels."""

from pathlib import Path

import numpy as np
import pandas as pd
from plimsoll.claims import verdicts

# By number of blocks: colour (Okabe and Ito's) and marker.
BLOCKS = {3: ("#d55e00", "v"), 5: ("#e69f00", "s"), 10: ("#56b4e9", "o"), 20: ("#0072b2", "^")}
LINES = {verdicts.REPRODUCED: "-", verdicts.CONTRADICTED: "--"}
OF_SIZES = {verdicts.AS_LARGE: "-", verdicts.SMALLER: "--", verdicts.LARGER: ":", verdicts.OPPOSITE: "-."}
# Panels of the first figure: title, what is expected, whether a size is printed, the lines, and the numbers of blocks.
PANELS = (
    ("Claim: higher", "higher", False, LINES, tuple(BLOCKS)),
    ("Claim: 10 % higher", "higher", True, LINES, tuple(BLOCKS)),
    ("Claim: no difference (within 5 %)", "no_difference", False, LINES, tuple(BLOCKS)),
    ("Claim: 10 % higher; the answer about the size", "higher", True, OF_SIZES, (5, 20)),
)
# Rows of the second figure: the label, and the query that selects rows of the table.
ROWS = {
    "difference": "family == 'one comparison' and noise in @good and expected == 'higher' and named == ''",
    "difference with a size": "family == 'one comparison' and noise in @good and named != ''",
    "likeness": "family == 'one comparison' and noise in @good and expected == 'no_difference'",
    "not lower": "family == 'by effect' and cells == 1 and expected == 'not_lower'",
    "each of 4 to 64": "family == 'several' and holds == 'each'",
    "most of 4 to 64": "family == 'several' and holds == 'most'",
    "some of 4 to 64": "family == 'several' and holds == 'some'",
    "average of 4 to 64": "family == 'several' and holds == 'average'",
    "average of both directions": "family == 'mixed directions'",
    "most and average of a run's metrics": "family == 'metrics of one run'",
    "one of 42 cells": "family == 'one of many cells'",
    "64 comparisons that lend": "family == 'many cells'",
    "best of 4, order of 4": "family == 'orders'",
    "rule with an exception": "family == 'parts'",
    "each of three arrangements": "family == 'arrangements'",
    "relative loss": "family == 'relative loss'",
    "memory contention ratio": "family == 'memory contention ratio'",
    "dispersion, 6 values in a block": "family == 'spread, 6 in a block' and quantity == 'dispersion'",
    "dispersion, 2 values in a block": "family == 'spread, 2 in a block' and quantity == 'dispersion'",
    "dispersion, 1 value in a block": "family == 'spread, 1 in a block' and quantity == 'dispersion' and noise == 'log-normal'",
    "dispersion, 1 value, bimodal or skewed": "family == 'spread, 1 in a block' and quantity == 'dispersion' and noise in @odd",
    "variation, 6 values in a block": "family == 'spread, 6 in a block' and quantity == 'variation' and noise == 'log-normal'",
    "variation, 6 values, bimodal or skewed": "family == 'spread, 6 in a block' and quantity == 'variation' and noise in @odd",
    "variation, 2 values in a block": "family == 'spread, 2 in a block' and quantity == 'variation'",
    "variation, 1 value in a block": "family == 'spread, 1 in a block' and quantity == 'variation' and noise == 'log-normal'",
    "variation, 1 value, bimodal or skewed": "family == 'spread, 1 in a block' and quantity == 'variation' and noise in @odd",
    "printed share": "quantity == 'printed value'",
    "counts of events": "family.str.startswith('events')",
    "trend": "family == 'trend'",
    "runs at their limit": "family == 'at their limit'",
    "lasting deviations of cells": "noise == 'lasting deviations'",
}


def draw(table: pd.DataFrame, stem: Path) -> None:
    """Save both figures: <stem>.png, and <stem>_errors.png."""
    import matplotlib

    matplotlib.use("Agg")
    from plimsoll.figures import style

    style.apply()
    for figure, name in ((_by_effect(table, style), stem.name), (_errors(table, style), f"{stem.name}_errors")):
        figure.savefig(stem.with_name(f"{name}.png"), dpi=200)


def _by_effect(table: pd.DataFrame, style):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(2 * style.COLUMN_INCHES, 4.6), sharex=True, sharey=True, layout="constrained")
    of_one = table[(table["family"] == "by effect") & (table["cells"] == 1)]
    for axis, (title, expected, sized, lines, numbers) in zip(axes.flat, PANELS, strict=True):
        named = "0.1 to 0.1" if sized else ""
        chosen = of_one[(of_one["expected"] == expected) & (of_one["named"] == named)]
        for blocks in numbers:
            (colour, marker), group = BLOCKS[blocks], chosen[chosen["blocks"] == blocks]
            for column, line in lines.items():
                x = group["truth"].str.rstrip("%").astype(float)
                axis.plot(x, 100 * group[column], color=colour, linestyle=line, marker=marker, markersize=2.5, linewidth=1)
        axis.set_title(title, loc="left")
        axis.axvline(0, color="#808080", linewidth=0.5)
        axis.legend(
            handles=[plt.Line2D([], [], color="#404040", linestyle=line, label=name) for name, line in lines.items()],
            **{"frameon": False, "loc": "upper center", "ncols": len(lines), "columnspacing": 1.2},
        )
        axis.set(ylim=(-4, 118), yticks=range(0, 101, 20))
    for axis in axes[1]:
        axis.set_xlabel("true difference (%)")
    for axis in axes[:, 0]:
        axis.set_ylabel("share of the verdicts (%)")
    style.legend_below(figure, _keys(plt), ncols=4)
    return figure


def _keys(plt) -> list:
    return [
        plt.Line2D([], [], color=colour, marker=marker, markersize=4, linewidth=1, label=f"{blocks} blocks")
        for blocks, (colour, marker) in BLOCKS.items()
    ]


def _errors(table: pd.DataFrame, style):
    """Return a figure with each row's worst error rate over its nominal level, and its worst coverage."""
    import matplotlib.pyplot as plt

    noises = {
        "good": ["log-normal", "normal", "bimodal", "common disturbance", "drift of a session"],
        "odd": ["bimodal", "skewed"],
    }
    chosen = {label: table.query(query, engine="python", local_dict=noises) for label, query in ROWS.items()}
    rows = {label: found for label, found in chosen.items() if len(found)}
    figure, axes = plt.subplots(1, 3, figsize=(2 * style.COLUMN_INCHES, 4.8), sharey=True, layout="constrained")
    places = np.arange(len(rows))[::-1]
    for place, found in zip(places, rows.values(), strict=True):
        for blocks, group in found.groupby("blocks"):
            look = {"color": BLOCKS[blocks][0], "marker": BLOCKS[blocks][1], "markersize": 4, "linestyle": "", "alpha": 0.9}
            y = place + 0.3 - 0.2 * list(BLOCKS).index(blocks)
            for axis, kind in zip(axes, ("found", "refused"), strict=False):
                axis.plot((group[f"wrongly_{kind}"] / group[f"nominal_{kind}"]).max(), y, **look)
            axes[2].plot(100 * group["covers"].min(), y, **look)
    for axis, title in zip(axes, ("wrongly reproduced", "wrongly contradicted", "interval covers the truth"), strict=True):
        axis.set_title(title, loc="left")
        axis.grid(axis="x")
    for axis, level, unit in zip(axes, (1, 1, 95), (*["times the nominal level"] * 2, "share of the draws (%)"), strict=True):
        axis.axvline(level, color="#404040", linewidth=0.8, linestyle="--")
        axis.set_xlabel(unit)
    for axis in axes[:2]:
        axis.set_xlim(left=0)
    axes[0].set_yticks(places, rows)
    style.legend_below(figure, _keys(plt), ncols=4)
    return figure

"""jha2021's figures 5, 7, 9 and 12, jha2018's 4 and 7: what each microservice reaches alone and beside each other one."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plimsoll.charts import interference, style

# Dots of single iterations, at most so many a bar.
DOTS = 40


def draw(summary: pd.DataFrame, observations: pd.DataFrame, plan: dict, bars: str) -> Figure:
    """For each metric a panel of ours and, where the papers print values, one of theirs below it."""
    style.apply()
    metrics = list(dict.fromkeys(summary["metric"]))
    known = [metric for metric in metrics if summary.loc[summary["metric"] == metric, "paper_mean"].notna().any()]
    rows = [(metric, ours) for metric in metrics for ours in ((True, False) if metric in known else (True,))]
    heights = [1.5 if ours else 1.0 for _, ours in rows]
    size = (2 * style.COLUMN_INCHES, sum(heights) + 0.25 * len(rows) + 0.3)
    figure, axes = plt.subplots(len(rows), 1, figsize=size, height_ratios=heights, squeeze=False, layout="constrained")
    for axis, (metric, ours) in zip(axes[:, 0], rows, strict=True):
        part = summary[summary["metric"] == metric].reset_index(drop=True)
        if ours:
            _ours(axis, part, observations[observations["metric"] == metric], plan, bars)
        else:
            _theirs(axis, part)
        _ticks(axis, part, plan)
    looks = [
        Patch(facecolor=interference.COLOURS[case], hatch=interference.HATCHES[case], edgecolor="white", label=label)
        for case, label in interference.CASES.items()
    ]
    figure.legend(handles=looks, loc="outside upper center", ncols=4, frameon=False, handlelength=1.4)
    return figure


def _places(part: pd.DataFrame) -> np.ndarray:
    """Places of the bars, with a gap between the cases."""
    return np.arange(len(part)) + 0.7 * (part["case"] != part["case"].shift()).cumsum().to_numpy()


def _bar(axis: Axes, x: float, case: str, mean: float, low: float, high: float) -> None:
    axis.bar(
        x,
        mean,
        0.85,
        color=interference.COLOURS[case],
        hatch=interference.HATCHES[case],
        edgecolor="white",
        linewidth=0.3,
        zorder=2,
    )
    if interference.finite(low, high):
        error = [[mean - low], [high - mean]]
        axis.errorbar(x, mean, error, color="black", linewidth=0.7, capsize=1.5, capthick=0.7, zorder=4)


def _ours(axis: Axes, part: pd.DataFrame, observations: pd.DataFrame, plan: dict, bars: str) -> None:
    groups = dict(iter(observations.groupby(["case", "co_runner"])))
    for x, row in zip(_places(part), part.itertuples(), strict=True):
        if not row.n:
            axis.text(x, 0, "none counts", rotation=90, ha="center", va="bottom", fontsize=5.5)
            continue
        low, high = (row.minimum, row.maximum) if bars == "minimum and maximum" else (row.mean - row.sd, row.mean + row.sd)
        _bar(axis, x, row.case, row.mean, low, high)
        values = groups[row.case, row.co_runner]["value"].to_numpy(float)
        values = values[:: max(1, len(values) // DOTS)]
        spread = x + np.linspace(-0.25, 0.25, len(values))
        axis.plot(spread, values, ".", color="black", markersize=1.6, alpha=0.5, markeredgewidth=0, zorder=5)
    alone = part.loc[(part["case"] == "1") & (part["n"] > 0), "mean"]
    if len(alone):
        axis.axhline(alone.iloc[0], color="black", linewidth=0.5, linestyle=":", zorder=3)
    label, unit, better = part[["label", "unit", "better"]].iloc[0]
    axis.set_ylabel(f"{label}\n({unit})")
    axis.set_title(f"here ({better} is better)", loc="left", fontsize=6.5, pad=2)


def _theirs(axis: Axes, part: pd.DataFrame) -> None:
    for x, row in zip(_places(part), part.itertuples(), strict=True):
        if not interference.finite(row.paper_mean):
            continue
        low, high = row.paper_mean - row.paper_sd, row.paper_mean + row.paper_sd
        _bar(axis, x, row.case, row.paper_mean, low, high)
    alone = part.loc[part["case"] == "1", "paper_mean"].dropna()
    if len(alone):
        axis.axhline(alone.iloc[0], color="black", linewidth=0.5, linestyle=":", zorder=3)
    axis.set_ylabel(f"({part['paper_unit'].dropna().iloc[0]})")
    axis.set_title("the paper (mean and SD)", loc="left", fontsize=6.5, pad=2)


def _ticks(axis: Axes, part: pd.DataFrame, plan: dict) -> None:
    places = _places(part)
    names = [interference.name(plan, row) for row in part.itertuples()]
    axis.set_xticks(places, names, rotation=60, ha="right", rotation_mode="anchor", fontsize=5.8)
    axis.tick_params(axis="x", length=0)
    axis.set_xlim(places[0] - 0.8, places[-1] + 0.8)


def caption(summary: pd.DataFrame, plan: dict, bars: str) -> str:
    """What is shown, what the error bars are, and how many iterations."""
    return (
        f"Mean of the iterations that count; error bars: {bars}; dots: iterations; dotted: alone (case 1). "
        f"{interference.sample_size(summary)} {interference.key(plan)}{interference.without(summary, plan)}"
    )

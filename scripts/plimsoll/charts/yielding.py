"""liu2020's figure 29: run time with yielding left to Open MPI, switched off and switched on."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from plimsoll import runtimes
from plimsoll.charts import bars, cells, style

SHADES = {"default": (0.55, ""), "disabled": (1.0, ""), "enabled": (0.25, "")}


def summarise(observations: pd.DataFrame, metrics: list[str], plan: dict) -> pd.DataFrame:
    """One row a metric and cell."""
    sections = {metric: set(observations.loc[observations["metric"] == metric, "section"]) for metric in metrics}
    parts = []
    for metric in metrics:
        own = [cell for cell in plan["cells"] if cell["section"] in sections[metric]]
        parts.append(cells.summarise(observations, metric, {**plan, "cells": own}))
    return pd.concat(parts, ignore_index=True)


def draw(summary: pd.DataFrame, observations: pd.DataFrame, metrics: list[str]) -> Figure:
    """A panel a benchmark; in it a group a deployment, and in that a bar a level of yielding. The scale is logarithmic."""
    style.apply()
    settings = sorted(summary["hardware"].unique())
    rows = len(metrics) * len(settings)
    figure, axes = plt.subplots(
        rows, 1, figsize=(style.COLUMN_INCHES, 0.8 + 1.35 * rows), squeeze=False, layout="constrained", sharex=True
    )
    panels = [(metric, hardware) for metric in metrics for hardware in settings]
    for axis, (metric, hardware) in zip(axes.flat, panels, strict=True):
        chosen = {"metric": metric, "hardware": hardware}
        label = observations.loc[observations["metric"] == metric, "label"]
        axis.set_title(f"{label.iloc[0] if len(label) else metric}, {hardware.upper()}", loc="left")
        axis.set_ylabel("run time (s)")
        _panel(axis, bars.only(summary, chosen), bars.only(observations, chosen))
    handles: list = [Patch(facecolor="#4d4d4d", alpha=SHADES[level][0], label=level) for level in SHADES]
    handles.append(
        Line2D([], [], color="black", marker="^", linestyle="", markersize=4, label="at least: runs hit their limit")
    )
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, handlelength=1.4, columnspacing=1.0)
    return figure


def _panel(axis: Axes, part: pd.DataFrame, points: pd.DataFrame) -> None:
    order = [name for name in style.COLOURS if name in set(part["runtime"])]
    deployments = [(r, s) for r in order for s in sorted(part.loc[part["runtime"] == r, "scheme"].unique())]
    width, names = 0.84 / len(SHADES), []
    axis.set_yscale("log")
    for group, (runtime, scheme) in enumerate(deployments):
        for number, level in enumerate(SHADES):
            chosen = {"runtime": runtime, "scheme": scheme, "yield": level}
            row = bars.only(part, chosen).iloc[0]
            x = group + (number - (len(SHADES) - 1) / 2) * width
            if not row["n"]:
                axis.text(x, axis.get_ylim()[0], "no run", rotation=90, ha="center", va="bottom", fontsize=5.5)
                continue
            colour = style.COLOURS[runtime]
            axis.bar(x, row["mean"], width * 0.92, color=colour, alpha=SHADES[level][0], linewidth=0, zorder=2)
            if np.isfinite(row["mean_low"]) and row["mean_low"] > 0:
                error = [[row["mean"] - row["mean_low"]], [row["mean_high"] - row["mean"]]]
                axis.errorbar(x, row["mean"], error, color="black", linewidth=0.7, capsize=1.5, zorder=4)
            values = bars.only(points, chosen)["value"]
            spread = x + np.linspace(-0.25, 0.25, len(values)) * width
            axis.plot(spread, values, ".", color="black", markersize=1.6, alpha=0.55, markeredgewidth=0, zorder=5)
            if row["censored"]:
                axis.plot(x, row["mean"] * 1.25, marker="^", color="black", markersize=4, zorder=6)
                axis.text(x, row["mean"] * 1.5, f"{row['censored']:.0f}/{row['n']:.0f}", ha="center", fontsize=5.5)
        short = runtimes.find(runtime).label.replace("Singularity", "Sing.").replace(" ", "\n")
        names.append(f"{scheme}\n{short}")
    axis.set_xticks(range(len(names)), names, fontsize=6.2)
    axis.tick_params(axis="x", length=0)


def caption(summary: pd.DataFrame, plan: dict) -> str:
    """What the bars, whiskers, dots and arrows are, how many runs there are, and what is missing."""
    return (
        "Time from MPI_Init to MPI_Finalize, over-subscribed, one container and several; logarithmic scale, lower is better. "
        f"Bars: mean of {cells.sample_size(summary)} runs a cell ({plan['repetitions']} planned); whiskers: 95 % interval of "
        "the mean (Student's t); dots: single runs. An arrow marks a cell of which some runs (number beside it) hit their time "
        f"limit: its mean is at least what is drawn, and it has no interval. Profile {plan['profile']}."
    ) + cells.not_measured(plan)

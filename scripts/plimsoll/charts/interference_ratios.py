"""jha2021's figures 6, 8, 10, 11 and 13, jha2018's 5 and 6: interference ratios of a microservice beside each other one."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from plimsoll.charts import interference, style


def draw(summary: pd.DataFrame, plan: dict) -> Figure:
    """Ratios with their intervals, a marker a metric; the papers' as open markers beside them."""
    style.apply()
    figure, axis = plt.subplots(figsize=(2 * style.COLUMN_INCHES, 2.6), layout="constrained")
    metrics = list(dict.fromkeys(summary["metric"]))
    together = summary[summary["case"] != "1"]
    combinations = together[["case", "benchmark", "co_runner"]].drop_duplicates()
    # Two microservices may share a figure (TCP_STREAM and TCP_RR): a place then is of a case and a co-runner.
    keys = combinations[["case", "co_runner"]].drop_duplicates().reset_index(drop=True)
    gaps = 0.9 * (keys["case"] != keys["case"].shift()).cumsum()
    place = {(row.case, row.co_runner): row.Index + gaps[row.Index] for row in keys.itertuples()}
    width = 0.75 / len(metrics)
    for number, metric in enumerate(metrics):
        shade, marker = interference.SHADES[number], interference.MARKERS[number]
        shift = (number - (len(metrics) - 1) / 2) * width
        for row in together[together["metric"] == metric].itertuples():
            x = place[row.case, row.co_runner] + shift
            if interference.finite(row.interference_ratio):
                axis.plot(x, row.interference_ratio, marker, color=shade, markersize=3, zorder=4)
                if interference.finite(row.ratio_low, row.ratio_high):
                    axis.plot([x, x], [row.ratio_low, row.ratio_high], color=shade, linewidth=0.8, zorder=3)
            if interference.finite(row.paper_interference_ratio):
                look = {"markerfacecolor": "white", "markeredgecolor": shade, "markeredgewidth": 0.6, "markersize": 2.6}
                axis.plot(x + 0.35 * width, row.paper_interference_ratio, marker, zorder=2, **look)
    _finish(axis, keys, place, plan, summary)
    labels = summary.groupby("metric", sort=False)["label"].first()
    handles = [
        Line2D([], [], linestyle="", marker=m, color=c, markersize=3.5, label=label)
        for m, c, label in zip(interference.MARKERS, interference.SHADES, labels, strict=False)
    ]
    open_look = {"markerfacecolor": "white", "markeredgecolor": "#555555", "markersize": 3.5}
    handles.append(Line2D([], [], linestyle="", marker="o", label="open: the paper", **open_look))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
    return figure


def _finish(axis, keys: pd.DataFrame, place: dict, plan: dict, summary: pd.DataFrame) -> None:
    axis.axhline(0, color="black", linewidth=0.6, zorder=1)
    bottom = min(-0.1, _least(summary))
    top = max(0.1, _most(summary))
    margin = 0.08 * (top - bottom)
    axis.set_ylim(bottom - margin, top + 2.2 * margin)
    for case, group in keys.groupby("case", sort=False):
        places = [place[case, other] for other in group["co_runner"]]
        axis.axvspan(min(places) - 0.6, max(places) + 0.6, color="#f2f2f2", zorder=0, linewidth=0)
        axis.text(np.mean(places), top + 1.2 * margin, interference.CASES[case], ha="center", fontsize=6.8)
    names = [f"+{interference.letter(plan, other)}" for other in keys["co_runner"]]
    axis.set_xticks([place[key] for key in keys.itertuples(index=False, name=None)], names)
    axis.tick_params(axis="x", length=0)
    axis.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axis.set_ylabel("interference ratio\n(below 0: worse than alone)")


def _least(summary: pd.DataFrame) -> float:
    return float(np.nanmin(summary[["interference_ratio", "ratio_low", "paper_interference_ratio"]].to_numpy(float)))


def _most(summary: pd.DataFrame) -> float:
    return float(np.nanmax(summary[["interference_ratio", "ratio_high", "paper_interference_ratio"]].to_numpy(float)))


def caption(summary: pd.DataFrame, plan: dict) -> str:
    """What is shown, and how many iterations."""
    return (
        "Interference ratio (equation 1): how much better or worse than alone, as a share of it, whichever way is better. "
        f"{interference.interval(summary)} {interference.sample_size(summary)} {interference.key(plan)}"
        f"{interference.without(summary, plan)}"
    )

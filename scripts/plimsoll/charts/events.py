"""liu2020's figures 14, 20, 22, 38 and 39: what the kernel and the processor counted, by scheme and by runtime or affinity."""

import textwrap

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from plimsoll.charts import affinity, bars, cells, granularity, style


def summarise(observations: pd.DataFrame, metrics: list[str], plan: dict) -> pd.DataFrame:
    """One row a metric that can be counted here and a cell: see `affinity.summarise`."""
    tables = [affinity.summarise(observations, metric, plan) for metric in metrics if metric not in plan["unseen"]]
    nothing = pd.DataFrame(columns=[*cells.COLUMNS, "metric", "unit", "ratio_to_any"])
    return pd.concat(tables, ignore_index=True) if tables else nothing


def draw(summary: pd.DataFrame, observations: pd.DataFrame, by: str, plan: dict) -> Figure:
    """A panel a metric, hardware setting and mode; `by` is what a group has one bar of each of: runtime or affinity. Below them
    stands what this host does not count."""
    style.apply()
    columns = ["metric", "hardware", "mode"]
    panels = list(summary[columns].drop_duplicates().itertuples(index=False, name=None))
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(style.COLUMN_INCHES, 0.8 + 1.45 * len(panels)), squeeze=False, layout="constrained"
    )
    order = [name for name in style.COLOURS if name in set(summary["runtime"])]
    for axis, (metric, hardware, mode) in zip(axes.flat, panels, strict=True):
        chosen = {"metric": metric, "hardware": hardware, "mode": mode}
        part, points = bars.only(summary, chosen), bars.only(observations, chosen)
        if by == "affinity":
            affinity.panel(axis, part, points)
        else:
            granularity.panel(axis, part, points, order, bars.top(part))
        label = points["label"].iloc[0] if len(points) else metric
        axis.set_title(f"{label}, {hardware.upper()}, {cells.MODES[mode]}", loc="left")
        axis.set_ylabel("number a run")
    handles = (
        affinity.legend(summary) if by == "affinity" else granularity.legend(order, summary[summary["metric"] == panels[0][0]])
    )
    figure.legend(
        handles=handles, loc="outside lower center", ncols=4 if by == "affinity" else 2, frameon=False, handlelength=1.4
    )
    if plan["unseen"]:
        figure.supxlabel(textwrap.fill(_blind(plan), 70), fontsize=6)
    return figure


def _blind(plan: dict) -> str:
    return "; ".join(dict.fromkeys(plan["unseen"].values()))


def caption(summary: pd.DataFrame, plan: dict, by: str) -> str:
    """What is counted, what the bars, whiskers, dots and numbers are, and what this host cannot count."""
    other = "that with free scheduling (ANY)" if by == "affinity" else "bare metal's"
    blind = f" Not measured: {_blind(plan)}." if plan["unseen"] else ""
    return (
        "Counted by perf in the cgroups of the ranks, from MPI_Init to MPI_Finalize, in runs of their own. Bars: mean of "
        f"{cells.sample_size(summary)} valid runs a cell ({plan['repetitions']} planned); whiskers: 95 % interval of the mean "
        f"(Student's t); dots: single runs. Numbers above bars: ratio of the mean to {other}, where it differs by more than "
        f"{bars.LABELLED:.0%}. Profile {plan['profile']}.{blind}"
    ) + cells.not_measured(plan)

"""liu2020's figures 5, 6, 9 to 13, 15 and 40: a metric by scheme and runtime, with bare metal as the line to compare with."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from plimsoll import runtimes
from plimsoll.charts import bars, cells, style


def draw(summary: pd.DataFrame, observations: pd.DataFrame, metric: str) -> Figure:
    """A panel a hardware setting, mode and affinity: bars are means, whiskers 95 % intervals of the mean, dots single runs."""
    style.apply()
    described = observations[observations["metric"] == metric]
    present = set(summary[["hardware", "mode", "affinity"]].itertuples(index=False, name=None))
    lines = [(hardware, mode) for hardware in sorted({p[0] for p in present}) for mode in cells.MODES]
    lines = [line for line in lines if any(p[:2] == line for p in present)]
    levels = [level for level in cells.LEVELS if any(p[2] == level for p in present)]
    beside = len(levels) > 1 and summary.groupby(["hardware", "mode"])["scheme"].nunique().max() <= 2
    columns = levels if beside else [None]
    panels = [(line, level) for line in lines for level in levels if (*line, level) in present]
    rows = len(lines) if beside else len(panels)
    figure, axes = plt.subplots(
        rows, len(columns), figsize=(style.COLUMN_INCHES, 0.75 + 1.75 * rows), squeeze=False, layout="constrained", sharey="row"
    )
    order = [name for name in style.COLOURS if name in set(summary["runtime"])]
    for axis, ((hardware, mode), level) in zip(axes.flat, panels, strict=True):
        chosen = {"hardware": hardware, "mode": mode, "affinity": level}
        of_line = bars.only(summary, {"hardware": hardware, "mode": mode} if beside else chosen)
        panel(axis, bars.only(summary, chosen), bars.only(described, chosen), order, bars.top(of_line))
        axis.set_title(f"{hardware.upper()}, {mode if beside else cells.MODES[mode]}, {cells.LEVELS[level]}", loc="left")
    for axis in axes[:, 0]:
        axis.set_ylabel(cells.axis_label(observations, metric))
    figure.legend(
        handles=legend(order, summary),
        loc="outside lower center",
        ncols=2,
        frameon=False,
        handlelength=1.4,
        columnspacing=1.0,
    )
    return figure


def panel(axis: Axes, part: pd.DataFrame, points: pd.DataFrame, order: list[str], top: float) -> None:
    """A group a scheme, and in that a bar a runtime of `order`; bare metal is a line. `top` is the highest value to show."""
    schemes = sorted(part["scheme"].unique())
    bare = part[part["runtime"] == "bare"]
    # Bare metal is a line, but where its ranks are grouped on cores of their own it has a bar a scheme like the others.
    barred = [name for name in order if name != "bare" or len(bare) > 1]
    width = 0.84 / max(1, len(barred))
    if len(bare) == 1 and bare.iloc[0]["n"]:
        row = bare.iloc[0]
        axis.axhline(row["mean"], color=style.COLOURS["bare"], linewidth=1.0, linestyle="--", zorder=3)
        if np.isfinite(row["mean_low"]):
            band = {"color": style.COLOURS["bare"], "alpha": 0.15, "linewidth": 0, "zorder": 1}
            axis.axhspan(row["mean_low"], row["mean_high"], **band)
    axis.set_ylim(0, top * 1.22)
    for place, scheme in enumerate(schemes):
        for number, runtime in enumerate(barred):
            cell = part[(part["scheme"] == scheme) & (part["runtime"] == runtime)]
            if len(cell):
                x = place + (number - (len(barred) - 1) / 2) * width
                own = points[(points["scheme"] == scheme) & (points["runtime"] == runtime)]
                bars.bar(axis, x, width, cell.iloc[0], own["value"], (style.COLOURS[runtime], style.HATCHES[runtime]), top)
    axis.set_xticks(range(len(schemes)), cells.scheme_names(part))
    axis.set_xlim(-0.55, len(schemes) - 0.45)
    axis.tick_params(axis="x", length=0)


def legend(order: list[str], summary: pd.DataFrame) -> list:
    """A patch a runtime, and a line for bare metal where that is drawn as one."""
    handles: list = [
        Patch(facecolor=style.COLOURS[name], hatch=style.HATCHES[name], edgecolor="white", label=runtimes.find(name).label)
        for name in order
    ]
    panels = summary[summary["runtime"] == "bare"].groupby(["hardware", "mode", "affinity"]).size()
    if "bare" in order and panels.max() == 1:
        label = f"{runtimes.find('bare').label} (mean, 95 % CI)"
        line = Line2D([], [], color=style.COLOURS["bare"], linestyle="--", linewidth=1, label=label)
        handles[order.index("bare")] = line
    return handles


def caption(summary: pd.DataFrame, plan: dict) -> str:
    """What the bars, whiskers, dots and numbers are, how many runs there are, and what is missing."""
    return (
        f"Bars: mean of {cells.sample_size(summary)} valid runs a cell ({plan['repetitions']} planned); whiskers: 95 % "
        "interval of the mean (Student's t); dots: single runs. Below each scheme: containers x ranks per container. Numbers "
        f"above bars: ratio of the mean to bare metal's, where it differs by more than {bars.LABELLED:.0%}. "
        f"Profile {plan['profile']}."
    ) + cells.not_measured(plan)

"""liu2020's figures 31 to 37: a metric by runtime, scheme and affinity."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plimsoll import runtimes
from plimsoll.charts import bars, cells, style

# How much of white is mixed into a runtime's colour, and a second sign for prints in grey.
SHADES = {"any": (0.0, ""), "cpu": (0.3, "//"), "cpumem": (0.5, "xx"), "cpumempin": (0.7, "..")}


def summarise(observations: pd.DataFrame, metric: str, plan: dict) -> pd.DataFrame:
    """One row a cell, with `ratio_to_any`: its mean over that of the same deployment with free scheduling."""
    table = cells.summarise(observations, metric, plan)
    keys = ["hardware", "mode", "scheme", "runtime"]
    return table.assign(ratio_to_any=cells.ratio_to(table, table["affinity"] == "any", keys))


def draw(summary: pd.DataFrame, observations: pd.DataFrame, metric: str) -> Figure:
    """A panel a hardware setting and mode; in it a group a runtime and scheme, and in that a bar a level of affinity."""
    style.apply()
    described = observations[observations["metric"] == metric]
    present = set(summary[["hardware", "mode"]].itertuples(index=False, name=None))
    panels = [(h, mode) for h in sorted({p[0] for p in present}) for mode in cells.MODES if (h, mode) in present]
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(style.COLUMN_INCHES, 0.8 + 1.6 * len(panels)), squeeze=False, layout="constrained"
    )
    for axis, (hardware, mode) in zip(axes.flat, panels, strict=True):
        chosen = {"hardware": hardware, "mode": mode}
        panel(axis, bars.only(summary, chosen), bars.only(described, chosen))
        axis.set_title(f"{hardware.upper()}, {cells.MODES[mode]}", loc="left")
        axis.set_ylabel(cells.axis_label(observations, metric))
    figure.legend(
        handles=legend(summary), loc="outside lower center", ncols=4, frameon=False, handlelength=1.4, columnspacing=1.0
    )
    return figure


def legend(summary: pd.DataFrame) -> list[Patch]:
    """A grey patch a level."""
    return [
        Patch(facecolor=_shade("#4d4d4d", level), hatch=SHADES[level][1], edgecolor="white", label=cells.LEVELS[level])
        for level in SHADES
        if level in set(summary["affinity"])
    ]


def _shade(colour: str, level: str) -> tuple[float, ...]:
    white = SHADES[level][0]
    return tuple(part + (1 - part) * white for part in to_rgb(colour))


def panel(axis: Axes, part: pd.DataFrame, points: pd.DataFrame) -> None:
    """A group a runtime and scheme, and in that a bar a level; `part` is a summary with `ratio_to_any`, `points` the runs."""
    order = [name for name in style.COLOURS if name in set(part["runtime"])]
    schemes = sorted(part["scheme"].unique())
    levels = [level for level in SHADES if level in set(part["affinity"])]
    width, top = 0.84 / len(levels), bars.top(part)
    names = []
    for group, (runtime, scheme) in enumerate((r, s) for r in order for s in schemes):
        for number, level in enumerate(levels):
            chosen = {"runtime": runtime, "scheme": scheme, "affinity": level}
            cell, own = bars.only(part, chosen), bars.only(points, chosen)
            if len(cell):
                x = group + (number - (len(levels) - 1) / 2) * width
                colour = _shade(style.COLOURS[runtime], level)
                bars.bar(axis, x, width, cell.iloc[0], own["value"], (colour, SHADES[level][1]), top, "ratio_to_any")
        label = runtimes.find(runtime).label.replace(" ", "\n")
        names.append(f"{scheme}\n{label}" if len(schemes) == 1 or scheme == schemes[len(schemes) // 2] else scheme)
    axis.set_ylim(0, top * 1.25)
    axis.set_xticks(range(len(names)), names)
    axis.tick_params(axis="x", length=0)


def caption(summary: pd.DataFrame, plan: dict) -> str:
    """What the bars, whiskers, dots and numbers are, how many runs there are, and what is missing."""
    return (
        f"Bars: mean of {cells.sample_size(summary)} valid runs a cell ({plan['repetitions']} planned), the colour that of the "
        "runtime, its shade the affinity; whiskers: 95 % interval of the mean (Student's t); dots: single runs. Numbers above "
        f"bars: ratio of the mean to that with free scheduling (ANY), where it differs by more than {bars.LABELLED:.0%}. "
        f"Profile {plan['profile']}."
    ) + cells.not_measured(plan)

"""liu2020's figures 5, 6 and 9 to 13: a metric by scheme and runtime, with bare metal as the line to compare with."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from plimsoll import runtimes, statistics
from plimsoll.charts import style

MODES = {"exact": "exactly subscribed", "over": "over-subscribed"}
# A mean this far from bare metal's is labelled with its ratio: small bars are hard to read.
LABELLED = 0.2


def summarise(observations: pd.DataFrame, metric: str, plan: dict) -> pd.DataFrame:
    """One row a cell of the plan: n, mean, median, minimum, maximum, SD, the mean's 95 % interval, and the ratio to bare metal.

    A cell without valid runs is a row with n = 0.
    """
    keys = ["hardware", "mode", "scheme", "runtime", "affinity"]
    chosen = observations[observations["metric"] == metric]
    values = {tuple(key): group["value"].to_numpy() for key, group in chosen.groupby(keys)}
    rows = []
    for cell in plan["cells"]:
        key = tuple(cell[k] for k in keys)
        found = values.get(key, np.array([]))
        row = {**cell, "n": len(found), "planned": plan["repetitions"]}
        if len(found):
            low, high = statistics.mean_interval(found)
            spread = found.std(ddof=1) if len(found) > 1 else np.nan
            row.update(
                mean=found.mean(),
                median=np.median(found),
                minimum=found.min(),
                maximum=found.max(),
                sd=spread,
            )
            row.update(mean_low=low, mean_high=high)
            baseline = values.get((*key[:2], key[2][0] + "1", "bare", key[4]))
            row["ratio_to_bare"] = found.mean() / baseline.mean() if baseline is not None else np.nan
        rows.append(row)
    wanted = [
        *keys,
        "containers",
        "ranks_per_container",
        "n",
        "planned",
        "mean",
        "median",
        "minimum",
        "maximum",
        "sd",
    ]
    table = pd.DataFrame(rows).reindex(columns=[*wanted, "mean_low", "mean_high", "ratio_to_bare"])
    unit = chosen["unit"].iloc[0] if len(chosen) else ""
    return table.assign(metric=metric, unit=unit).sort_values(["hardware", "mode", "scheme", "runtime"], ignore_index=True)


def draw(summary: pd.DataFrame, observations: pd.DataFrame, metric: str) -> Figure:
    """A panel a hardware setting and mode: bars are means, whiskers 95 % intervals of the mean, dots single runs."""
    style.apply()
    described = observations[observations["metric"] == metric]
    label, unit = (described[["label", "unit"]].iloc[0]) if len(described) else (metric, "")
    panels = [
        (hardware, mode)
        for hardware in sorted(summary["hardware"].unique())
        for mode in MODES
        if ((summary["hardware"] == hardware) & (summary["mode"] == mode)).any()
    ]
    widest = summary.groupby(["hardware", "mode"])["scheme"].nunique().max()
    beside = widest <= 2 and len(panels) == 2
    rows, columns = (1, 2) if beside else (len(panels), 1)
    figure, axes = plt.subplots(
        rows, columns, figsize=(style.COLUMN_INCHES, 0.75 + 1.75 * rows), squeeze=False, layout="constrained"
    )
    order = [name for name in style.COLOURS if name in set(summary["runtime"])]
    for axis, (hardware, mode) in zip(axes.flat, panels, strict=True):
        part = summary[(summary["hardware"] == hardware) & (summary["mode"] == mode)]
        points = described[(described["hardware"] == hardware) & (described["mode"] == mode)]
        _panel(axis, part, points, order)
        axis.set_title(f"{hardware.upper()}, {MODES[mode]}", loc="left")
    for axis in axes[:, 0]:
        axis.set_ylabel(f"{label}\n({unit})" if len(label) > 18 else f"{label} ({unit})")
    figure.legend(
        handles=_legend(order, summary),
        loc="outside lower center",
        ncols=2,
        frameon=False,
        handlelength=1.4,
        columnspacing=1.0,
    )
    return figure


def _panel(axis: Axes, part: pd.DataFrame, points: pd.DataFrame, order: list[str]) -> None:
    schemes = sorted(part["scheme"].unique())
    containers = [name for name in order if name != "bare"]
    width = 0.84 / max(1, len(containers))
    bare = part[(part["runtime"] == "bare") & (part["n"] > 0)]
    if len(bare):
        row = bare.iloc[0]
        axis.axhline(row["mean"], color=style.COLOURS["bare"], linewidth=1.0, linestyle="--", zorder=3)
        if np.isfinite(row["mean_low"]):
            axis.axhspan(
                row["mean_low"],
                row["mean_high"],
                color=style.COLOURS["bare"],
                alpha=0.15,
                linewidth=0,
                zorder=1,
            )
    top = max(part["maximum"].max(), part["mean_high"].max()) if part["n"].any() else 1.0
    axis.set_ylim(0, top * 1.22)
    for place, scheme in enumerate(schemes):
        for number, runtime in enumerate(containers):
            x = place + (number - (len(containers) - 1) / 2) * width
            cell = part[(part["scheme"] == scheme) & (part["runtime"] == runtime)]
            if cell.empty:
                continue
            _bar(
                axis,
                x,
                width,
                runtime,
                cell.iloc[0],
                points[(points["scheme"] == scheme) & (points["runtime"] == runtime)],
                top,
            )
    counts = part.groupby("scheme")[["containers", "ranks_per_container"]].first()
    axis.set_xticks(
        range(len(schemes)),
        [f"{s}\n{counts['containers'][s]} x {counts['ranks_per_container'][s]}" for s in schemes],
    )
    axis.set_xlim(-0.55, len(schemes) - 0.45)
    axis.tick_params(axis="x", length=0)


def _bar(axis: Axes, x: float, width: float, runtime: str, row: pd.Series, points: pd.DataFrame, top: float) -> None:
    if not row["n"]:
        axis.text(
            x,
            top * 0.02,
            "no valid run",
            rotation=90,
            ha="center",
            va="bottom",
            fontsize=5.5,
            color=style.COLOURS[runtime],
        )
        return
    axis.bar(
        x,
        row["mean"],
        width * 0.92,
        color=style.COLOURS[runtime],
        hatch=style.HATCHES[runtime],
        edgecolor="white",
        linewidth=0.3,
        zorder=2,
    )
    if np.isfinite(row["mean_low"]):
        error = [[row["mean"] - row["mean_low"]], [row["mean_high"] - row["mean"]]]
        axis.errorbar(x, row["mean"], error, color="black", linewidth=0.7, capsize=1.5, capthick=0.7, zorder=4)
    spread = np.linspace(-0.25, 0.25, len(points)) * width
    axis.plot(
        x + spread,
        points["value"],
        ".",
        color="black",
        markersize=1.6,
        alpha=0.55,
        markeredgewidth=0,
        zorder=5,
    )
    ratio = row["ratio_to_bare"]
    if np.isfinite(ratio) and abs(ratio - 1) > LABELLED:
        height = max(row["mean_high"] if np.isfinite(row["mean_high"]) else 0, points["value"].max())
        text = f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x"
        axis.text(x, height + top * 0.03, text, ha="center", va="bottom", rotation=90, fontsize=5.8)


def _legend(order: list[str], summary: pd.DataFrame) -> list:
    handles: list = []
    for name in order:
        label = runtimes.find(name).label
        if name == "bare":
            handles.append(
                Line2D(
                    [],
                    [],
                    color=style.COLOURS[name],
                    linestyle="--",
                    linewidth=1,
                    label=f"{label} (mean, 95 % CI)",
                )
            )
        else:
            handles.append(Patch(facecolor=style.COLOURS[name], hatch=style.HATCHES[name], edgecolor="white", label=label))
    return handles


def caption(summary: pd.DataFrame, plan: dict) -> str:
    """What the bars, whiskers, dots and numbers are, how many runs there are, and what is missing."""
    counts = sorted(summary["n"].unique())
    size = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"
    text = (
        f"Bars: mean of {size} valid runs a cell ({plan['repetitions']} planned); whiskers: 95 % interval of the mean "
        "(Student's t); dots: single runs. Below each scheme: containers x ranks per container. "
        "Numbers above bars: ratio of the mean to bare "
        f"metal's, where it differs by more than {LABELLED:.0%}. Affinity ANY. Profile {plan['profile']}."
    )
    for reason in plan["impossible"]:
        text += f" Not measured, {reason}."
    return text

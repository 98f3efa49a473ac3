"""liu2020's figures 16 to 19, 21 and 23 to 26: the difference of UMA relative to NUMA, by scheme and runtime."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plimsoll import runtimes, statistics
from plimsoll.charts import bars, cells, style
from plimsoll.splitting.cells import FACTORS


def summarise(observations: pd.DataFrame, metric: str, plan: dict) -> pd.DataFrame:
    """One row a deployment that was measured in both settings: n of both, the difference (UMA - NUMA) / NUMA in per cent, of
    geometric means, and its 95 % interval."""
    others = [factor for factor in FACTORS if factor != "hardware"]
    chosen = observations[observations["metric"] == metric]
    rows = []
    for key, group in chosen.groupby(others):
        uma, numa = (group.loc[group["hardware"] == name, "value"].to_numpy(float) for name in ("uma", "numa"))
        compared = statistics.compare(uma, numa)
        percent = {f"difference{end}": 100 * (compared[f"ratio{end}"] - 1) for end in ("", "_low", "_high")}
        sizes = {"n_uma": len(uma), "n_numa": len(numa), "n": min(len(uma), len(numa))}
        rows.append({**dict(zip(others, key, strict=True)), **sizes, **percent, "p": compared["p"], "metric": metric})
    columns = [*others, "n_uma", "n_numa", "n", "difference", "difference_low", "difference_high", "p", "metric"]
    return pd.DataFrame(rows, columns=columns)


def draw(summary: pd.DataFrame, observations: pd.DataFrame, metric: str) -> Figure:
    """A panel a level of affinity; in it a group a scheme, and in that a bar a runtime."""
    style.apply()
    levels = [level for level in cells.LEVELS if level in set(summary["affinity"])]
    order = [name for name in style.COLOURS if name in set(summary["runtime"])]
    schemes = sorted(summary["scheme"].unique())
    width = 0.84 / len(order)
    figure, axes = plt.subplots(
        len(levels), 1, figsize=(style.COLUMN_INCHES, 0.8 + 1.6 * len(levels)), squeeze=False, layout="constrained", sharex=True
    )
    for axis, level in zip(axes.flat, levels, strict=True):
        for number, runtime in enumerate(order):
            part = bars.only(summary, {"affinity": level, "runtime": runtime}).set_index("scheme").reindex(schemes)
            x = np.arange(len(schemes)) + (number - (len(order) - 1) / 2) * width
            look = {"color": style.COLOURS[runtime], "hatch": style.HATCHES[runtime], "edgecolor": "white", "linewidth": 0.3}
            axis.bar(x, part["difference"], width * 0.92, zorder=2, **look)
            error = [part["difference"] - part["difference_low"], part["difference_high"] - part["difference"]]
            axis.errorbar(x, part["difference"], error, fmt="none", color="black", linewidth=0.7, capsize=1.5, zorder=4)
        axis.axhline(0, color="black", linewidth=0.6)
        axis.set_title(cells.LEVELS[level], loc="left")
        axis.set_ylabel("UMA relative\nto NUMA (%)")
        axis.set_xticks(range(len(schemes)), schemes)
    handles = [
        Patch(facecolor=style.COLOURS[name], hatch=style.HATCHES[name], edgecolor="white", label=runtimes.find(name).label)
        for name in order
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, handlelength=1.4)
    return figure


def caption(summary: pd.DataFrame, plan: dict) -> str:
    """What the bars and whiskers are, and how many runs there are."""
    return (
        f"Bars: (UMA - NUMA) / NUMA of the geometric means of {cells.sample_size(summary)} valid runs in each setting "
        f"({plan['repetitions']} planned); whiskers: 95 % interval (Welch's test on logarithms). Profile {plan['profile']}."
    )

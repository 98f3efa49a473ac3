"""liu2020's figures 16 to 19, 21 and 23 to 26: the difference of UMA relative to NUMA, by scheme and runtime."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plimsoll.analysis import paper_tests
from plimsoll.designs.splitting import scheme, words
from plimsoll.designs.splitting.charts import cells
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.figures import bars, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

OTHERS = [factor for factor in OF_DEPLOYMENT if factor != "hardware"]
COLUMNS = [*OTHERS, "n_uma", "n_numa", "n", "difference", "difference_low", "difference_high", "p", "metric"]


class Hardware(Chart):
    """Bars of the difference: one panel per level of affinity, one group per scheme, one bar per runtime."""

    name = "hardware"
    notebook = "hardware"
    metrics = "one"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        """Return one row per deployment: the difference (UMA - NUMA) / NUMA of the geometric means in percent.

        A row also has the number of runs in each setting (`n_uma`, `n_numa`), and the difference's 95 % interval and p. They
        are NaN if a setting has fewer than three runs.
        """
        (metric,) = data.metrics
        chosen = data.observations[data.observations["metric"] == metric]
        rows = []
        for key, group in chosen.groupby(OTHERS):
            uma, numa = (group.loc[group["hardware"] == name, "value"].to_numpy(float) for name in ("uma", "numa"))
            compared = paper_tests.compare(uma, numa)
            percent = {f"difference{end}": 100 * (compared[f"ratio{end}"] - 1) for end in ("", "_low", "_high")}
            sizes = {"n_uma": len(uma), "n_numa": len(numa), "n": min(len(uma), len(numa))}
            rows.append({**dict(zip(OTHERS, key, strict=True)), **sizes, **percent, "p": compared["p"], "metric": metric})
        return pd.DataFrame(rows, columns=COLUMNS)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        levels = style.in_order(cells.LEVELS, summary["affinity"])
        looks = style.looks(summary["runtime"])
        size = (style.COLUMN_INCHES, 0.9 + 1.6 * len(levels))
        shape = {"squeeze": False, "layout": "constrained", "sharex": True}
        figure, axes = plt.subplots(len(levels), 1, figsize=size, **shape)
        for axis, level in zip(axes.flat, levels, strict=True):
            _panel(axis, bars.only(summary, {"affinity": level}), looks, sorted(summary["scheme"].unique()))
            axis.set_title(cells.level(level), loc="left")
            axis.set_ylabel("UMA relative\nto NUMA (%)")
        handles = [*style.patches(looks.values()), bars.marks("95 % interval of the difference")[0]]
        style.legend_below(figure, handles)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            f"Bars: (UMA - NUMA) / NUMA of the geometric means of {cells.sample_size(summary)} valid runs in each setting "
            f"{cells.planned_runs(data, summary)}; whiskers: 95 % interval (Welch's test on logarithms). "
            f"Profile {data.profile}."
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        start = f"{data.title}, difference of UMA relative to NUMA by number of containers and runtime."
        sure = summary[(summary["difference_low"] > 0) | (summary["difference_high"] < 0)]
        count = f"{len(sure)} of {len(summary)} deployments differ (95 % interval)."
        if sure.empty:
            return f"{start} {count}"
        row = sure.loc[sure["difference"].abs().idxmax()]
        deployed = words.deployment(row["scheme"], row["runtime"])
        interval = f"[{row['difference_low']:+.0f}, {row['difference_high']:+.0f}]"
        return f"{start} Most: {deployed}, {row['difference']:+.0f} % {interval}. {count}"


def _panel(axis: Axes, part: pd.DataFrame, looks: dict[str, style.Look], schemes: list[str]) -> None:
    """Draw bars of the differences in `part`, a part of the table of `summarise`, with their intervals."""
    slot = bars.WIDTH / len(looks)
    for number, (runtime, look) in enumerate(looks.items()):
        own = bars.only(part, {"runtime": runtime}).set_index("scheme").reindex(schemes)
        x = np.arange(len(schemes)) + (number - (len(looks) - 1) / 2) * slot
        drawn = {"color": look.colour, "hatch": look.hatch, "edgecolor": "white", "linewidth": 0.3}
        axis.bar(x, own["difference"], slot * (1 - bars.GAP), zorder=2, **drawn)
        error = [own["difference"] - own["difference_low"], own["difference_high"] - own["difference"]]
        axis.errorbar(x, own["difference"], error, fmt="none", ecolor="black", elinewidth=0.7, capsize=1.5, zorder=4)
    axis.axhline(0, color="black", linewidth=0.6)
    axis.set_xticks(range(len(schemes)), [scheme.containers(name) for name in schemes])
    axis.set_xlabel("number of containers", fontsize=style.SMALLEST, labelpad=1)


CHARTS = [Hardware()]

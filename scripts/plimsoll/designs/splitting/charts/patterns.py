"""liu2020's figures 7 and 8: time in the functions of a communication pattern by number of containers."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from plimsoll.designs.splitting.charts import cells, profile
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.figures import bars, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

# Colours of figure 1.
LOOK = {
    "beff_pingpong_seconds": (profile.LOOK["blocking_pingpong_transfer"][1], ""),
    "beff_sendrecv_seconds": (profile.LOOK["blocking_concurrent_transfer"][1], ""),
    "beff_transfer_seconds": (profile.LOOK["nonblocking_transfer"][1], "//"),
    "beff_wait_seconds": (profile.LOOK["nonblocking_synchronise"][1], "xx"),
}
ONE = "one container"


class Patterns(Chart):
    """Bars of time: one panel per hardware setting and mode, one group per scheme, one bar per pattern."""

    name = "patterns"
    notebook = "why"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        parts = []
        for metric in data.metrics:
            table = cells.summarise(data, metric)
            keys = ["hardware", "mode", "runtime", "affinity"]
            parts.append(table.assign(ratio_to_one=cells.ratio_to(table, table["containers"] == 1, keys)))
        return pd.concat(parts, ignore_index=True)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        table, metrics = self._compared(data, summary), list(data.metrics)
        looks = _looks(metrics)
        panels = cells.panels(summary, {"hardware": [], "mode": cells.MODES})
        size = (style.COLUMN_INCHES, 2.4)
        figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, layout="constrained")
        for axis, (hardware, mode) in zip(axes.flat, panels, strict=True):
            chosen = {"hardware": hardware, "mode": mode}
            part, points = bars.only(table, chosen), bars.only(data.observations, chosen)
            schemes = sorted(part["scheme"].unique())
            layout = bars.Layout("scheme", schemes, "metric", metrics, lambda _, metric: looks[metric])
            bars.draw(axis, part, points[points["metric"].isin(metrics)], layout, bars.top(part))
            axis.set_xticklabels(cells.scheme_names(part))
            axis.set_xlabel(cells.SHAPE, fontsize=style.SMALLEST, labelpad=1)
            axis.set_title(cells.title(hardware, mode), loc="left")
        axes[0, 0].set_ylabel("time per rank (s)")
        labelled = [style.Look(*look, data.metrics[metric]["label"]) for metric, look in looks.items()]
        style.legend_below(figure, [*style.patches(labelled), *bars.marks("95 % interval of the mean")])
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            "Time that a rank of b_eff spends in these functions, Docker, ranks pinned, by number of containers (below: "
            f"{cells.SHAPE}), from runs of their own with the profiling library. {cells.bars_are(data, summary, ONE)} "
            "b_eff repeats its patterns the more often the faster they are: times of schemes are not times of the same number "
            "of calls."
        ) + cells.not_measured(data)

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        findings = cells.findings(data, self._compared(data, summary), ONE)
        return f"{data.title} by number of containers. {findings}"

    def _compared(self, data: FigureData, summary: pd.DataFrame) -> pd.DataFrame:
        single = summary[summary["containers"] == 1].to_dict("records")

        def of_one(row: dict) -> list[tuple]:
            same = ("hardware", "mode", "runtime", "affinity")
            return [
                tuple(one[factor] for factor in OF_DEPLOYMENT) for one in single if all(one[key] == row[key] for key in same)
            ]

        return cells.with_ratio(data.observations, summary, "ratio_to_one", of_one)


def _looks(metrics: list[str]) -> dict[str, tuple[str, str]]:
    """Return the colour and hatch of each metric. A metric that is not in figure 1 gets a spare one."""
    others = [metric for metric in metrics if metric not in LOOK]
    spare = dict(zip(others, zip(style.FALLBACK, style.FALLBACK_HATCHES, strict=True), strict=False))
    return {metric: LOOK.get(metric) or spare.get(metric, ("#999999", "")) for metric in metrics}


CHARTS = [Patterns()]

"""li2018's figures 4, 6, 8 and 10: what each runtime costs, and how much more a benchmark varies in it."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from plimsoll.designs.overhead import statistics
from plimsoll.designs.overhead.charts import levels
from plimsoll.figures import bars, findings, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

# Changes above the share LARGE need a mixed axis: linear up to LINEAR percent, and logarithmic beyond.
LARGE, LINEAR = 0.5, 10
TICKS = [-100, -50, -20, -10, -5, 0, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]


class Overheads(Chart):
    """Two panels: the signed change of the mean above, and below how many times as much the iterations vary."""

    name = "overheads"
    notebook = "overhead"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        table = statistics.of_cells(data.observations[data.observations["metric"].isin(data.metrics)])
        order = {metric: number for number, metric in enumerate(data.metrics)}
        return table.sort_values("metric", key=lambda column: column.map(order), kind="stable", ignore_index=True)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        keys = levels.not_bare(levels.runtimes(summary))
        wide = 2 if len(data.metrics) * len(keys) > 6 else 1
        size = (wide * style.COLUMN_INCHES, 3.6)
        figure, (above, below) = plt.subplots(2, 1, figsize=size, layout="constrained", sharex=True)
        metrics = list(data.metrics)
        for position, (key, look) in enumerate(levels.looks(keys).items()):
            own = summary[(summary["runtime"] == key[0]) & (summary["storage"] == key[1])].set_index("metric").reindex(metrics)
            places = np.array([levels.place(number, position, len(keys)) for number in range(len(metrics))])
            self._changes(above, own, places, look, len(keys))
            self._spreads(below, own, places, look)
        self._of_paper(above, below, data, keys)
        above.axhline(0, color="black", linewidth=0.7)
        if summary["change"].abs().max() > LARGE:
            # Emulated machines are many times slower, which would hide all other changes.
            above.set_yscale("symlog", linthresh=LINEAR, linscale=0.8)
            above.yaxis.set_major_locator(FixedLocator(TICKS))
            above.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            above.yaxis.set_minor_locator(NullLocator())
        above.set_ylabel("change of the mean\n(% of bare metal's)")
        below.axhline(1, color="black", linewidth=0.7)
        style.say_better(below, "lower")
        below.set(yscale="log", ylabel="variation over\nbare metal's")
        below.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
        below.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        below.yaxis.set_minor_formatter(NullFormatter())
        below.set_xticks(range(len(metrics)), levels.directed(data), fontsize=style.SMALLEST if wide == 1 else 7)
        for axis in (above, below):
            axis.tick_params(axis="x", length=0)
        style.legend_below(figure, levels.handles(keys, bool(data.options["changes"])), ncols=3)
        return figure

    @staticmethod
    def _changes(axis: Axes, own: pd.DataFrame, places: np.ndarray, look: style.Look, of: int) -> None:
        heights = 100 * own["change"].astype(float)
        shape = {"width": 0.92 * levels.WIDTH / of, "edgecolor": "white", "linewidth": 0.3, "zorder": 2}
        axis.bar(places, heights.fillna(0), color=look.colour, hatch=look.hatch, **shape)
        known = own["change_low"].notna().to_numpy()
        low, high = (100 * own[name].astype(float).to_numpy()[known] for name in ("change_low", "change_high"))
        axis.vlines(places[known], low, high, zorder=4, **bars.WHISKER)

    @staticmethod
    def _spreads(axis: Axes, own: pd.DataFrame, places: np.ndarray, look: style.Look) -> None:
        known = own["spread_change"].notna().to_numpy()
        middle, low, high = (
            1 + own[name].astype(float).to_numpy()[known] for name in ("spread_change", "spread_low", "spread_high")
        )
        axis.vlines(places[known], low, high, color=look.colour, linewidth=1.0, zorder=3)
        inside = "white" if look.hatch == levels.VOLUME_HATCH else look.colour
        marker = {"color": look.colour, "markersize": 4, "markerfacecolor": inside, "zorder": 4, "label": look.label}
        axis.plot(places[known], middle, "o", **marker)

    @staticmethod
    def _of_paper(above: Axes, below: Axes, data: FigureData, keys: list[tuple[str, str]]) -> None:
        """Draw the paper's values beside ours of the same runtime.

        Its virtual machines stand beside our emulated ones if only those are measured.
        """
        metrics, runtimes = list(data.metrics), [runtime for runtime, _ in keys]
        for row in data.options["changes"]:
            there = next((name for name in (row["runtime"], f"{row['runtime']}-emulated") if name in runtimes), None)
            if there is None:
                continue
            place = levels.place(metrics.index(row["metric"]), runtimes.index(there), len(keys))
            above.plot([place], [100 * row["change"]], zorder=5, **levels.PAPER)
            if row["sd_ratio"]:
                below.plot([place], [row["sd_ratio"]], zorder=5, **levels.PAPER)

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            "Above: how much the mean differs from bare metal's, with its sign; where some differ by more than half, on an "
            f"axis that is logarithmic beyond {LINEAR} %. Below: how many times as much iterations vary as on bare metal, by "
            "the standard deviations of their logarithms within blocks, on a logarithmic axis. Open dots: on a volume. "
            "Whiskers and lines: 95 % intervals, of differences within blocks; what has fewer than three blocks has none. "
            "Diamonds: the paper's, whose variation is that of plain standard deviations; those of virtual machines stand "
            "beside emulated "
            f"ones where these are measured in their place. {levels.of_how_many(data, summary)}"
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        return f"{data.title}. {findings.farthest(levels.changes(summary), 'bare metal')}"


CHARTS = [Overheads()]

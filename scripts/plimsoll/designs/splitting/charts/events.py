"""liu2020's figures 14, 20, 22, 38 and 39: counts of the kernel and the processor, by scheme and by runtime or affinity."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from plimsoll.designs.splitting.charts import affinity, cells, granularity
from plimsoll.figures import bars, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData


class Events(Chart):
    """Bars of counts: one panel per metric that is counted here, hardware setting and mode.

    The option `bars` of the study's figure says whether a group has one bar per runtime or one per affinity.
    """

    name = "events"
    notebook = "why"
    option = "bars"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        tables = data.per_metric(affinity.summarise)
        nothing = pd.DataFrame(columns=[*cells.COLUMNS, "metric", "unit", "ratio_to_any"])
        return pd.concat(tables, ignore_index=True) if tables else nothing

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        panels = cells.panels(summary, {"metric": data.metrics, "hardware": [], "mode": cells.MODES})
        table = self._compared(data, summary)
        size = (style.COLUMN_INCHES, 0.9 + 1.45 * len(panels))
        figure, axes = plt.subplots(len(panels), 1, figsize=size, squeeze=False, layout="constrained")
        for axis, (metric, hardware, mode) in zip(axes.flat, panels, strict=True):
            chosen = {"metric": metric, "hardware": hardware, "mode": mode}
            part, points = bars.only(table, chosen), bars.only(data.observations, chosen)
            if self._by_affinity(data):
                affinity.panel(axis, part, points)
            else:
                granularity.panel(axis, part, points, bars.top(part))
            axis.set_title(f"{data.metrics[metric]['label']}, {cells.title(hardware, mode)}", loc="left", fontsize=7)
            axis.set_ylabel("count per run")
            style.say_better(axis, data.metrics[metric]["better"])
            axis.yaxis.set_major_formatter(EngFormatter(sep=""))
        figure.align_ylabels(axes[:, 0])
        (affinity if self._by_affinity(data) else granularity).legend(figure, summary)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        blind = f" Not measured: {'; '.join(dict.fromkeys(data.unavailable.values()))}." if data.unavailable else ""
        return (
            "Counted by perf in the cgroups of the ranks, from MPI_Init to MPI_Finalize, in runs of their own. "
            f"{cells.bars_are(data, summary, self._reference(data))} Of counts below {bars.SMALL_COUNT} only the single runs "
            f"are drawn.{blind}"
        ) + cells.not_measured(data)

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        return f"{data.title}, count per run. {cells.findings(data, self._compared(data, summary), self._reference(data))}"

    def _compared(self, data: FigureData, summary: pd.DataFrame) -> pd.DataFrame:
        if self._by_affinity(data):
            return affinity.against_any(data.observations, summary)
        return cells.with_ratio(data.observations, summary, "ratio_to_bare", cells.bare_metal)

    def _by_affinity(self, data: FigureData) -> bool:
        return data.options["bars"] == "affinity"

    def _reference(self, data: FigureData) -> str:
        return affinity.FREE if self._by_affinity(data) else "bare metal"


CHARTS = [Events()]

"""li2018's figure 5: standardised scores on one axis for each benchmark."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plimsoll.designs.overhead.charts import levels
from plimsoll.designs.overhead.charts.overheads import Overheads
from plimsoll.figures import findings, style
from plimsoll.figures.data import FigureData


class Radar(Overheads):
    """Radar chart with a polygon for each runtime; the outermost circle is the best score, 1."""

    name = "radar"
    notebook = "overhead"

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        polar = {"projection": "polar"}
        figure, axis = plt.subplots(figsize=(style.COLUMN_INCHES, 3.6), layout="constrained", subplot_kw=polar)
        metrics = list(data.metrics)
        angles = np.linspace(0, 2 * np.pi, len(metrics), endpoint=False)
        handles = []
        for key, look in levels.looks(levels.runtimes(summary)).items():
            own = summary[(summary["runtime"] == key[0]) & (summary["storage"] == key[1])].set_index("metric").reindex(metrics)
            scores = own["score"].astype(float).to_numpy()
            line = {"color": look.colour, "linewidth": 1.2, "marker": "o", "markersize": 3, "label": look.label}
            handles += axis.plot(np.append(angles, angles[0]), np.append(scores, scores[0]), **line)
        for runtime, scores in _of_paper(data, metrics).items():
            colour = style.looks([runtime])[runtime].colour
            axis.plot(np.append(angles, angles[0]), [*scores, scores[0]], color=colour, linewidth=0.7, linestyle="--")
        if data.options["paper"]:
            handles.append(Line2D([], [], color="#777777", linewidth=0.7, linestyle="--", label="the paper"))
        axis.set_xticks(angles, levels.names(data), fontsize=style.SMALLEST)
        # Numbers stand between two axes, and inside of the rim.
        axis.set_rlabel_position(180 / len(metrics))
        axis.set_yticks([0.25, 0.5, 0.75])
        axis.set_rmax(1.02)
        axis.set_title("outwards is better", loc="left", fontsize=style.SMALLEST, color="#555555")
        axis.tick_params(axis="y", labelsize=style.SMALLEST)
        # The labels stand outside of the rim.
        axis.tick_params(axis="x", pad=7)
        axis.grid(axis="both", linewidth=0.4, color="#d0d0d0")
        style.legend_below(figure, handles)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            "Standardised scores: each mean as a share of the best environment's, so that 1 is the best (equations 2 and 3). "
            f"Broken: the paper's. The intervals are in the figure of the overheads. {levels.of_how_many(data, summary)}"
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        lowest = summary.dropna(subset=["score"]).sort_values("score").drop_duplicates(["runtime", "storage"])
        each = "; ".join(
            f"{levels.words.environment(row.runtime, row.storage)}, {row.score:.2g} ({row.label})"
            for row in lowest.itertuples()
        )
        return (
            f"{data.title} (1 is the best runtime). Lowest scores: {each or 'none'}. "
            f"{findings.how_many(levels.changes(summary), 'bare metal')}"
        ).strip()


def _of_paper(data: FigureData, metrics: list[str]) -> dict[str, list[float]]:
    """Return the paper's scores by runtime, in the order of the metrics."""
    of_runtime: dict[str, dict[str, float]] = {}
    for row in data.options["paper"]:
        of_runtime.setdefault(row["runtime"], {})[row["metric"]] = row["paper_mean"]
    return {runtime: [scores.get(metric, np.nan) for metric in metrics] for runtime, scores in of_runtime.items()}


CHARTS = [Radar()]

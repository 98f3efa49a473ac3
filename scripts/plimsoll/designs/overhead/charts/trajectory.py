"""li2018's figure 9: the value of each iteration over the time of measuring."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plimsoll.designs.overhead import words
from plimsoll.designs.overhead.charts import levels
from plimsoll.figures import findings, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

MARKERS = ("o", "s", "^", "D", "v")


class Trajectory(Chart):
    """Lines of values over time: one panel per metric, with one line for the iterations of each run."""

    name = "trajectory"
    notebook = "overhead"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        """Return one row per metric and iteration: minutes since the figure's first iteration, and the value."""
        own = data.observations[data.observations["metric"].isin(data.metrics)]
        if own.empty:
            return pd.DataFrame(columns=["metric", "runtime", "storage", "repetition", "iteration", "minutes", "value", "unit"])
        own = own.assign(minutes=(own["moment"] - own["moment"].min()) / 60)
        columns = ["metric", "label", "runtime", "storage", "repetition", "iteration", "minutes", "value", "unit"]
        return own.sort_values(["metric", "minutes"])[columns].reset_index(drop=True)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        metrics = list(data.metrics)
        size = (2 * style.COLUMN_INCHES, 0.8 + 0.95 * len(metrics))
        figure, axes = plt.subplots(len(metrics), 1, figsize=size, layout="constrained", sharex=True, squeeze=False)
        keys = levels.runtimes(summary)
        looks = levels.looks(keys)
        for axis, metric in zip(axes[:, 0], metrics, strict=True):
            for number, (key, look) in enumerate(looks.items()):
                own = summary[(summary["metric"] == metric) & (summary["runtime"] == key[0]) & (summary["storage"] == key[1])]
                for _, run in own.groupby("repetition"):
                    line = {"color": look.colour, "linewidth": 0.8, "marker": MARKERS[number % len(MARKERS)], "markersize": 3}
                    axis.plot(run["minutes"], run["value"], **line)
            described = data.metrics[metric]
            axis.set_ylabel(f"{described['label'].replace(' ', chr(10), 1)}\n({described['unit']})", fontsize=7)
            axis.set_ylim(bottom=0)
            style.say_better(axis, described["better"])
        axes[-1, 0].set_xlabel("minutes since the first iteration")
        handles = [
            Line2D(
                [], [], color=look.colour, marker=MARKERS[number % len(MARKERS)], markersize=3, linewidth=0.8, label=look.label
            )
            for number, look in enumerate(looks.values())
        ]
        style.legend_below(figure, handles, ncols=3)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        counts = summary.groupby(["runtime", "storage"])["iteration"].size() // max(1, len(data.metrics))
        told = ", ".join(f"{words.environment(*key)} {number}" for key, number in counts.items())
        missing = f" Not measured here: {'; '.join(dict.fromkeys(data.missing))}." if data.missing else ""
        return (
            "Each iteration that counts, over the time of the measuring; a line joins those of one run. The order of the runs "
            f"is drawn within blocks. Iterations: {told or 'none'} (profile {data.profile}).{missing}"
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        ends = summary.groupby(["label", "runtime", "storage", "unit"])["value"].agg(["min", "max"])
        spans = {
            f"{label}, {words.environment(runtime, storage)}, from {low:.4g} to {high:.4g} {unit}": high / low
            for (label, runtime, storage, unit), (low, high) in ends.iterrows()
            if high > low > 0
        }
        return f"{data.title}. {findings.extremes('Varies', spans) or findings.NOTHING}"


CHARTS = [Trajectory()]

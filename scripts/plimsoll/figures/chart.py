"""Kinds of charts: each makes a table, a drawing, a caption and an alternative text from a figure's data."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from plimsoll.figures import drawn_values, style
from plimsoll.figures.data import FigureData

# The reason why a figure is empty although nothing forbids it. For example, it compares two settings and only one was
# measured.
NOTHING_OF_IT = "nothing that it compares was planned and measured on this machine"


class Chart(ABC):
    """A kind of chart. A study's figure names it. It lies in the `charts` folder of a design, and CHARTS there lists it.

    `notebook` is the file in notebooks/, without extension, that shows figures of this chart. `metrics` says how many
    metrics a figure names: `none`, `one` or `several`. `option` is a key that such a figure must also have; it is empty
    if no such key is needed.

    All of these are plain strings in the class, because the workflow reads them from the source (figures/sources.py).
    Importing the code that draws takes seconds.
    """

    name: str
    notebook: str
    metrics: str = "several"
    option: str = ""

    @abstractmethod
    def summarise(self, data: FigureData) -> pd.DataFrame:
        """Return the numbers that are drawn. They become the figure's CSV."""

    @abstractmethod
    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        """Return the drawing."""

    @abstractmethod
    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        """Return how to read the figure: what is drawn, from how many runs, and what is missing."""

    @abstractmethod
    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        """Return what the figure shows, for readers who cannot see it: what differs and by how much, in 60 words or fewer."""


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with everything that belongs to it: data, summary, caption and alternative text."""

    data: FigureData
    summary: pd.DataFrame
    figure: Figure
    caption: str
    alternative: str

    def save(self, stem: str | Path) -> None:
        """Write <stem>.pdf, .png, .values.json, .csv, .txt (the caption) and .alt.txt (the alternative text)."""
        style.save(self.figure, stem)
        drawn_values.write(self.figure, stem)
        self.summary.to_csv(f"{stem}.csv", index=False)
        Path(f"{stem}.txt").write_text(self.caption + "\n")
        Path(f"{stem}.alt.txt").write_text(self.alternative + "\n")


def draw_figure(chart: Chart, data: FigureData) -> DrawnFigure:
    """Return a figure drawn by its chart. If the figure has nothing to show, a statement of the reason takes its place."""
    summary = chart.summarise(data)
    alternative = alternative_text(chart, data, summary)
    if reason := _unavailable(data, summary):
        return DrawnFigure(data, summary, style.statement(data.title, reason), _not_measured(reason), alternative)
    figure = chart.draw(data, summary)
    _say_better(figure, data)
    return DrawnFigure(data, summary, figure, f"{chart.caption(data, summary)}{_without_values(data)}", alternative)


def alternative_text(chart: Chart, data: FigureData, summary: pd.DataFrame) -> str:
    """Return a figure's alternative text. If the figure has nothing to show, the text is the reason."""
    reason = _unavailable(data, summary)
    return f"{data.title}. {_not_measured(reason)}" if reason else chart.alternative(data, summary)


def _unavailable(data: FigureData, summary: pd.DataFrame) -> str | None:
    """Return why a figure has nothing to show; None if it shows something."""
    return data.reason or (NOTHING_OF_IT if summary.empty else None)


def _not_measured(reason: str) -> str:
    return f"Not measured here: {reason}."


def _say_better(figure: Figure, data: FigureData) -> None:
    """Write beside each panel which direction is better, unless it says so or the figure's metrics differ in it.

    A polar panel has no such direction.
    """
    directions = {metric["better"] for metric in data.metrics.values()}
    for axis in figure.axes if len(directions) == 1 else ():
        if axis.name != "polar" and not style.says_better(axis):
            style.say_better(axis, *directions)


def _without_values(data: FigureData) -> str:
    """Return the end of a caption: the metrics of which no run has a value, although the host can measure them."""
    observed = set(data.observations["metric"]) if len(data.observations) else set()
    silent = [metric["label"] for name, metric in data.metrics.items() if name not in observed and name not in data.unavailable]
    return f" No run that counts has a value of: {', '.join(silent)}." if silent else ""

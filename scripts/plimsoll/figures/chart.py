"""What a kind of chart is: from a figure's data to a table, a drawing, a caption, and a sentence for readers who cannot see
it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from plimsoll.figures import style
from plimsoll.figures.data import FigureData

# Why a figure shows nothing that was planned and measured: a comparison of two settings where only one is there, say.
NOTHING_OF_IT = "of what it compares nothing was planned and measured on this machine"


class Chart(ABC):
    """A kind of chart. A study's figure names it; it lies in the `charts` folder of a design, listed there in CHARTS.

    `notebook` is the file of notebooks/, without extension, that shows figures of this chart. `metrics` says how many metrics a
    figure names: `none`, `one` or `several`. `option` is a key that such a figure has to give as well, if there is one. All are
    written as plain strings in the class: the workflow reads them from the source (figures/sources.py), because importing what
    draws takes seconds.
    """

    name: str
    notebook: str
    metrics: str = "several"
    option: str = ""

    @abstractmethod
    def summarise(self, data: FigureData) -> pd.DataFrame:
        """The numbers that are drawn: the figure's CSV."""

    @abstractmethod
    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        """The drawing."""

    @abstractmethod
    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        """How to read it: what is drawn, of how many runs, and what is missing."""

    @abstractmethod
    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        """For readers who cannot see it: what it shows, and its most telling numbers, in a sentence or two."""


@dataclass(frozen=True)
class Drawn:
    """A figure with everything that belongs to it."""

    data: FigureData
    summary: pd.DataFrame
    figure: Figure
    caption: str
    alternative: str

    def save(self, stem: str | Path) -> None:
        """Write <stem>.pdf, .png, .csv, .txt (the caption) and .alt.txt (the text in place of the picture)."""
        style.save(self.figure, stem)
        self.summary.to_csv(f"{stem}.csv", index=False)
        Path(f"{stem}.txt").write_text(self.caption + "\n")
        Path(f"{stem}.alt.txt").write_text(self.alternative + "\n")


def drawn(chart: Chart, data: FigureData) -> Drawn:
    """A figure by its chart; where it has nothing to show, a statement of the reason in its place."""
    summary = chart.summarise(data)
    if reason := data.reason or (NOTHING_OF_IT if summary.empty else None):
        words = f"Not measured here: {reason}."
        return Drawn(data, summary, style.statement(data.title, reason), words, f"{data.title}. {words}")
    caption, alternative = (words(data, summary) for words in (chart.caption, chart.alternative))
    return Drawn(data, summary, chart.draw(data, summary), f"{caption}{_without_values(data)}", alternative)


def _without_values(data: FigureData) -> str:
    """For the end of a caption: the metrics of which no run has a value, although the host can measure them."""
    observed = set(data.observations["metric"]) if len(data.observations) else set()
    silent = [metric["label"] for name, metric in data.metrics.items() if name not in observed and name not in data.unseen]
    return f" No run that counts has a value of: {', '.join(silent)}." if silent else ""

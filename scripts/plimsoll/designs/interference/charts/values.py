"""Chart `values`: what each microservice reaches alone and beside each other one.

It draws jha2021's figures 5, 7, 9 and 12, and jha2018's figures 4 and 7.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plimsoll.designs.interference.charts import pairs
from plimsoll.figures import bars, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

# At most this many dots of single iterations are drawn per bar.
DOTS = 40
# Functions from values to the ends of an error bar, by the option `bars` of the study's figure.
ERRORS = {
    "minimum and maximum": lambda values: (values.min(), values.max()),
    "standard deviation": lambda values: (values.mean() - values.std(ddof=1), values.mean() + values.std(ddof=1)),
}


class Values(Chart):
    """A panel of our values for each metric and, where the papers print values, a panel of theirs below it."""

    name = "values"
    notebook = "interference"
    option = "bars"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        return pairs.summarise(data)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        printed = set(summary.loc[summary["paper_mean"].notna(), "metric"])
        rows = [(metric, ours) for metric in data.metrics for ours in ((True, False) if metric in printed else (True,))]
        heights = [1.2 if ours else 0.7 for _, ours in rows]
        size = (2 * style.COLUMN_INCHES, sum(heights) + 0.2 * len(rows) + 0.6)
        shape = {"height_ratios": heights, "squeeze": False, "layout": "constrained"}
        figure, axes = plt.subplots(len(rows), 1, figsize=size, **shape)
        below = None
        for axis, (metric, ours) in reversed(list(zip(axes[:, 0], rows, strict=True))):
            part = summary[summary["metric"] == metric].reset_index(drop=True)
            if ours:
                _ours(axis, part, data, metric)
            else:
                _theirs(axis, part, data.metrics[metric]["label"])
            below = _ticks(axis, part, data, below)
        figure.align_ylabels(axes[:, 0])
        cases = style.in_order(pairs.CASES, summary["case"])
        handles = style.patches(style.Look(*pairs.look(case), pairs.case_label(case)) for case in cases)
        figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False, handlelength=1.4)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            f"Mean of the iterations that count; error bars: {data.options['bars']}; dots: iterations; dotted: alone (case 1). "
            f"{pairs.sample_size(summary)} {pairs.key(data)}{pairs.note_on_missing(summary, data)}"
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        return f"{data.title} alone and beside others. {pairs.findings(data, summary)}"


def _places(part: pd.DataFrame) -> np.ndarray:
    """Return the positions of the bars on the abscissa, with a gap between the cases."""
    return np.arange(len(part)) + 0.7 * (part["case"] != part["case"].shift()).cumsum().to_numpy()


def _ours(axis: Axes, part: pd.DataFrame, data: FigureData, metric: str) -> None:
    own = data.observations[data.observations["metric"] == metric]
    views = part.assign(x=_places(part))[["case", "co_runner", "x"]]
    points = own[own["runtime"] == data.options["runtime"]].merge(views, on=["case", "co_runner"])
    if len(points):
        _bars(axis, points, ERRORS[data.options["bars"]])
        _dots(axis, points)
    for row in part.assign(x=views["x"])[part["n"] == 0].itertuples():
        axis.text(row.x, 0, "none counts", rotation=90, ha="center", va="bottom", fontsize=style.SMALLEST)
    _alone(axis, part.loc[(part["case"] == pairs.ALONE) & (part["n"] > 0), "mean"])
    label, unit, better = part[["label", "unit", "better"]].iloc[0]
    axis.set(xlabel="", ylabel=f"{label}\n({unit})")
    axis.set_title(f"here: mean and {data.options['bars']}; {better} is better", loc="left", fontsize=6.5, pad=2)


def _bars(axis: Axes, points: pd.DataFrame, error) -> None:
    places = sorted(points["x"].unique())
    case_of = points.drop_duplicates("x").set_index("x")["case"]
    looks = {"color": "grey", "saturation": 1, "capsize": 0.3, "err_kws": {**bars.WHISKER, "zorder": 4}}
    # The abscissa has numbers in place of names, which allows gaps between the cases.
    sns.barplot(points, x="x", y="value", native_scale=True, errorbar=error, width=0.85, ax=axis, **looks)
    for bar, place in zip(sorted(axis.patches, key=lambda bar: bar.get_x()), places, strict=True):
        colour, hatch = pairs.look(case_of[place])
        bar.set(facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0.3, zorder=2)
        bar.set(x=place - 0.425, width=0.85)


def _dots(axis: Axes, points: pd.DataFrame) -> None:
    few = pd.concat(group.iloc[:: max(1, len(group) // DOTS)] for _, group in points.groupby("x"))
    looks = {"color": "white", "edgecolor": "black", "linewidth": 0.35, "alpha": 0.8, "size": style.DOT}
    sns.stripplot(few, x="x", y="value", native_scale=True, jitter=False, ax=axis, **looks)
    for dots in axis.collections:
        bars.spread(dots, 0.6)


def _alone(axis: Axes, means: pd.Series) -> None:
    if len(means):
        axis.axhline(means.iloc[0], color="black", linewidth=0.6, linestyle=":", zorder=3)


def _theirs(axis: Axes, part: pd.DataFrame, label: str) -> None:
    for x, row in zip(_places(part), part.itertuples(), strict=True):
        if not pairs.finite(row.paper_mean):
            continue
        colour, hatch = pairs.look(row.case)
        axis.bar(x, row.paper_mean, 0.85, color=colour, hatch=hatch, edgecolor="white", linewidth=0.3, zorder=2)
        if pairs.finite(row.paper_sd):
            axis.errorbar(x, row.paper_mean, row.paper_sd, ecolor="black", elinewidth=0.7, capsize=1.5, capthick=0.7, zorder=4)
    _alone(axis, part.loc[part["case"] == pairs.ALONE, "paper_mean"].dropna())
    axis.set_ylabel(f"{label}\n({part['paper_unit'].dropna().iloc[0]})")
    axis.set_title("the paper: mean and standard deviation", loc="left", fontsize=6.5, pad=2)


def _ticks(axis: Axes, part: pd.DataFrame, data: FigureData, below: list[str] | None) -> list[str]:
    """Label the bars with the names of the combinations, and return these names.

    The labels are left out if `below`, the names of the panel below, are the same.
    """
    places = _places(part)
    # If the metrics belong to several microservices, the panels share the partners' names only.
    shared = len(set(data.options["benchmark_of"].values())) > 1
    names = [_partner(data, row) if shared else pairs.name(data, row) for row in part.itertuples()]
    axis.set_xticks(places, names, fontsize=style.SMALLEST)
    plt.setp(axis.get_xticklabels(), rotation=45, ha="right", rotation_mode="anchor")
    axis.tick_params(axis="x", length=0, labelbottom=names != below)
    axis.set_xlim(places[0] - 0.8, places[-1] + 0.8)
    return names


def _partner(data: FigureData, row) -> str:
    return "alone" if row.co_runner == "none" else f"+{pairs.letter(data, row.co_runner)}"


CHARTS = [Values()]

"""Who disturbs whom: a row for what is measured, a column for the partner, a panel a case, and the papers' below ours."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from plimsoll.charts import interference, style

# Blue for better, red for worse: told apart by colour-blind readers too. Beyond these ends the colour is the end's.
COLOURS, ENDS = plt.get_cmap("RdBu"), (-0.75, 0.75)


def draw(summary: pd.DataFrame, plan: dict) -> Figure:
    """Three panels of ours, and three of the papers' where they print anything of it."""
    style.apply()
    known = summary["paper_interference_ratio"].notna().any()
    metrics = list(dict.fromkeys(summary["metric"]))
    rows = 2 if known else 1
    size = (2 * style.COLUMN_INCHES, rows * (0.22 * len(metrics) + 0.65) + 0.4)
    figure, axes = plt.subplots(rows, 3, figsize=size, squeeze=False, sharey=True, layout="constrained")
    for row, column in enumerate(("interference_ratio", "paper_interference_ratio")[:rows]):
        for axis, case in zip(axes[row], ("2", "3a", "3b"), strict=True):
            image = _panel(axis, summary[summary["case"] == case], metrics, plan, column)
            axis.set_title(f"{'here' if row == 0 else 'the papers'}, {interference.CASES[case]}", fontsize=7, pad=3)
    first = summary.groupby("metric", sort=False)[["benchmark", "label"]].first()
    labels = [f"{interference.letter(plan, row.benchmark)}: {row.label}" for row in first.itertuples()]
    for axis in axes[:, 0]:
        axis.set_yticks(range(len(metrics)), labels, fontsize=6.5)
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.5, aspect=45, pad=0.03)
    bar.set_label("interference ratio (below 0: worse than alone)", fontsize=6.8)
    bar.ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return figure


def _panel(axis: Axes, part: pd.DataFrame, metrics: list[str], plan: dict, column: str):
    partners = list(plan["benchmarks"])
    values = np.full((len(metrics), len(partners)), np.nan)
    axis.set_facecolor("#e6e6e6")
    axis.grid(False)
    for row in part.itertuples():
        ratio = getattr(row, column)
        place = metrics.index(row.metric), partners.index(row.co_runner)
        values[place] = ratio
        if not interference.finite(ratio):
            continue
        sure = column != "interference_ratio" or (row.ratio_low > 0 or row.ratio_high < 0)
        dark = abs(ratio) > 0.45
        weight = "bold" if sure and column == "interference_ratio" else "normal"
        look = {"color": "white" if dark else "black", "fontweight": weight, "alpha": 1 if sure else 0.55}
        axis.text(place[1], place[0], f"{100 * ratio:+.0f}", ha="center", va="center", fontsize=5.6, **look)
    image = axis.imshow(values, cmap=COLOURS, norm=TwoSlopeNorm(0, *ENDS), aspect="auto")
    axis.set_xticks(range(len(partners)), [f"+{interference.letter(plan, name)}" for name in partners], fontsize=6.5)
    axis.tick_params(length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    return image


def caption(summary: pd.DataFrame, plan: dict) -> str:
    """How to read it."""
    return (
        "Interference ratio in percent: row, what is measured; column, its partner. Bold: the 95 % interval does not contain "
        f"0; grey: not measured or not printed. {interference.interval(summary)} {interference.sample_size(summary)} "
        f"{interference.key(plan)}{interference.without(summary, plan)}"
    )

"""The bars that most charts are made of: a mean with its interval, and the single runs."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

# A mean this far from its reference is labelled with the ratio: small bars are hard to read.
LABELLED = 0.2


def only(table: pd.DataFrame, values: dict[str, str]) -> pd.DataFrame:
    """Rows whose columns have these values."""
    return table[np.logical_and.reduce([table[column] == value for column, value in values.items()])]


def top(summary: pd.DataFrame) -> float:
    """The highest value, mean's interval included, that an axis has to show; 1 if there is none."""
    return max(summary["maximum"].max(), summary["mean_high"].fillna(0).max()) if summary["n"].any() else 1.0


def bar(
    axis: Axes,
    x: float,
    width: float,
    row: pd.Series,
    values: pd.Series,
    look: tuple[str | tuple[float, ...], str],
    top: float,
    ratio: str = "ratio_to_bare",
) -> None:
    """One cell of a summary as a bar: mean, interval, runs as dots, the `ratio` above it if it is far from 1; or that there
    was no valid run. `look` is a colour and a hatch, `top` the highest value of the axis."""
    colour, hatch = look
    if not row["n"]:
        words = {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": 5.5, "color": colour}
        axis.text(x, top * 0.02, "no valid run", **words)
        return
    axis.bar(x, row["mean"], width * 0.92, color=colour, hatch=hatch, edgecolor="white", linewidth=0.3, zorder=2)
    if np.isfinite(row["mean_low"]):
        error = [[row["mean"] - row["mean_low"]], [row["mean_high"] - row["mean"]]]
        axis.errorbar(x, row["mean"], error, color="black", linewidth=0.7, capsize=1.5, capthick=0.7, zorder=4)
    spread = x + np.linspace(-0.25, 0.25, len(values)) * width
    axis.plot(spread, values, ".", color="black", markersize=1.6, alpha=0.55, markeredgewidth=0, zorder=5)
    if np.isfinite(row[ratio]) and abs(row[ratio] - 1) > LABELLED:
        height = max(row["mean_high"] if np.isfinite(row["mean_high"]) else 0, values.max())
        text = f"{row[ratio]:.2f}x" if row[ratio] < 10 else f"{row[ratio]:.0f}x"
        axis.text(x, height + top * 0.03, text, ha="center", va="bottom", rotation=90, fontsize=5.8)

"""One figure per metric: the geometric mean of each cell with its interval, and single runs."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from plimsoll.config.studies import Study
from plimsoll.designs.table.factors import as_written
from plimsoll.figures import style

# At most this many cells are drawn: of more, those at the top and at the bottom.
MOST = 60
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#332288", "#999933")


def draw(study: Study, metric: str, cells: pd.DataFrame, observations: pd.DataFrame) -> tuple[Figure, str, str]:
    """Return (figure, caption, alternative text) of a metric. `cells` has one row per cell (assumptions.of_cells)."""
    style.apply()
    about, factors = study["metrics"][metric], study.design.factors.FACTORS
    own = _some(cells[cells["metric"] == metric].reset_index(drop=True))
    first = list(dict.fromkeys(own[factors[0]]))
    figure, axis = plt.subplots(figsize=(2 * style.COLUMN_INCHES, 0.7 + 0.2 * len(own)), layout="constrained")
    names = [
        ", ".join(study.design.report.level(name, row[name]) for name in factors if as_written(row[name]))
        for _, row in own.iterrows()
    ]
    for place, (_, row) in enumerate(own.iterrows()):
        colour = COLOURS[first.index(row[factors[0]]) % len(COLOURS)]
        _cell(axis, place, row, colour, _runs(observations, metric, row, factors))
    axis.set_yticks(range(len(own)), names, fontsize=style.SMALLEST)
    axis.set_ylim(len(own) - 0.4, -0.6)
    if len(own) and own["middle"].min() > 0 and own["middle"].max() > 5 * own["middle"].min():
        axis.set_xscale("log")
    axis.grid(axis="x")
    way = f" ({about['better']} is better)" if about["known"] else ""
    unit = f", {about['unit']}" if about["unit"] else ""
    axis.set_xlabel(f"{about['label']}{unit}{way}")
    return figure, _caption(own, cells[cells["metric"] == metric], observations.empty), _alternative(about, own, names)


def _some(cells: pd.DataFrame) -> pd.DataFrame:
    if len(cells) <= MOST:
        return cells
    ranked = cells.sort_values("middle")
    return pd.concat([ranked.head(MOST // 2), ranked.tail(MOST // 2)]).sort_index().reset_index(drop=True)


def _runs(observations: pd.DataFrame, metric: str, row: pd.Series, factors: tuple[str, ...]) -> np.ndarray:
    if observations.empty:
        return np.empty(0)
    own = observations["metric"] == metric
    for factor in factors:
        own &= observations[factor] == row[factor]
    return observations.loc[own, "value"].to_numpy(float)


def _cell(axis, place: int, row: pd.Series, colour: str, values: np.ndarray) -> None:
    if len(values):
        spread = np.linspace(-0.22, 0.22, len(values)) if len(values) > 1 else np.zeros(1)
        axis.plot(values, place + spread, "o", color=colour, alpha=0.35, markersize=2, markeredgewidth=0)
    if np.isfinite(row["low"]):
        axis.plot([row["low"], row["high"]], [place, place], color="black", linewidth=1.1)
    axis.plot([row["middle"]], [place], "D", color=colour, markersize=4, markeredgecolor="black", markeredgewidth=0.6)


def _caption(shown: pd.DataFrame, cells: pd.DataFrame, are_means: bool) -> str:
    left_out = f" Of {len(cells)} cells, those with the smallest and the largest means." if len(shown) < len(cells) else ""
    if are_means:
        return f"Diamonds: means, whose ratios are compared, with 95 % intervals.{left_out}"
    middles = "Diamonds: geometric means, whose ratios are compared, with 95 % intervals."
    return f"{middles} Dots: single runs, in their order from above.{left_out}"


def _alternative(about: dict, cells: pd.DataFrame, names: list[str]) -> str:
    if cells.empty:
        return f"{about['label']}: no cell has a value."
    low, high = cells["middle"].idxmin(), cells["middle"].idxmax()
    ends = f"from {cells['mean'][low]:.3g} ({names[low]}) to {cells['mean'][high]:.3g} ({names[high]})"
    return f"{about['label']} of {len(cells)} cells: geometric means {ends} {about['unit']}."

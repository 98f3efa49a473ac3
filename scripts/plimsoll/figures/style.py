"""Style of all figures: one colour per runtime, sizes that can be read at column width, and one way to save files."""

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plimsoll import runtimes

# The order of bars and legends. Other runtimes follow, sorted. Colours and hatches are those of the runtimes
# themselves.
ORDER = ("bare", "docker", "docker-ptrace", "singularity", "singularity-cgroup", "singularity-instance")
# Colours of levels that have none of their own (Okabe and Ito's, and Tol's). A colour that a runtime has is left out.
FALLBACK = ("#d55e00", "#332288", "#999933", "#882255", "#44aa99", "#661100", "#f0e442", "#aa4499")
FALLBACK_HATCHES = ("||", "--", "++", "oo", "||--", "//..", "xx..", "\\\\..")
COLUMN_INCHES = 3.5
# Resolution of a PNG.
DPI = 300
# The smallest text of a figure, and the diameter of the dots of single runs, in points.
SMALLEST, DOT = 6.0, 3.0


@dataclass(frozen=True)
class Look:
    """How a runtime, or another level, is drawn: its colour, its hatch, and its name for people."""

    colour: str | tuple[float, ...]
    hatch: str
    label: str


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Return the look of each named runtime, in the order in which they are drawn. An unknown name has a look as well.

    A runtime's look does not depend on which others are drawn beside it, as long as all of them are installed here.
    """
    known, wanted = runtimes.known(), set(names)
    order = [*ORDER, *sorted(set(known) - set(ORDER))]
    plain = [name for name in in_order(order, {*known, *wanted}) if not getattr(known.get(name), "colour", None)]
    by_name = {}
    for name in in_order(order, wanted):
        runtime = known.get(name)
        colour, hatch = _fallback(plain.index(name)) if name in plain else (runtime.colour, runtime.hatch or "")
        by_name[name] = Look(colour, hatch, getattr(runtime, "label", name))
    return by_name


def _fallback(place: int) -> tuple[str, str]:
    taken = {runtime.colour for runtime in runtimes.known().values()}
    spare = [colour for colour in FALLBACK if colour not in taken]
    return spare[place % len(spare)], FALLBACK_HATCHES[place // len(spare) % len(FALLBACK_HATCHES)]


def in_order(known: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the names in the order of `known`, followed by those that `known` does not have, sorted."""
    wanted = set(names)
    first = [name for name in known if name in wanted]
    return [*first, *sorted(wanted - set(first))]


def percent(share: float) -> str:
    """Return a relative difference as text: '-41 %'."""
    return f"{round(100 * share):+d} %"


def patches(looks: Iterable[Look]) -> list[Patch]:
    """Return a legend's entry for each look."""
    return [Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white", label=look.label) for look in looks]


def legend_below(figure: Figure, handles: list, **other: float) -> None:
    """Put a legend below all panels. `other` are keywords of Matplotlib that replace the usual ones."""
    figure.legend(handles=handles, loc="outside lower center", frameon=False, **{"ncols": 2, "handlelength": 1.4, **other})


def say_better(axis: Axes, better: str) -> None:
    """Write beside a panel which direction is better: 'higher' or 'lower'."""
    look = {"rotation": 270, "ha": "left", "va": "center", "fontsize": SMALLEST, "color": "#555555"}
    axis.annotate(f"{better} is better", (1, 0.5), (2, 0), xycoords="axes fraction", textcoords="offset points", **look)


def says_better(axis: Axes) -> bool:
    """Return whether a panel already says which direction is better or worse."""
    words = (axis.get_title(loc="left"), axis.get_title(), axis.get_ylabel(), *(text.get_text() for text in axis.texts))
    return any("better" in text or "worse" in text for text in words)


def apply() -> None:
    """Set fonts that stay readable at column width, and keep text as text in PDFs."""
    mpl.rcParams.update(
        {
            "font.size": 7.5,
            "axes.titlesize": 8,
            "axes.labelsize": 8,
            "legend.fontsize": 6.8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.linewidth": 0.6,
            "axes.grid": True,
            "axes.grid.axis": "y",
            "axes.axisbelow": True,
            "grid.linewidth": 0.4,
            "grid.color": "#d0d0d0",
            "hatch.linewidth": 0.4,
            "pdf.fonttype": 42,
            "savefig.bbox": "tight",
            "savefig.pad_inches": 0.03,
            "figure.dpi": 150,
        }
    )


def save(figure: Figure, stem: str | Path) -> None:
    """Write <stem>.pdf and <stem>.png. They hold no time of writing, so that the same data give the same file."""
    figure.savefig(f"{stem}.pdf", metadata={"CreationDate": None})
    figure.savefig(f"{stem}.png", dpi=DPI)


def statement(title: str, reason: str) -> Figure:
    """Return a figure that says why another figure is unavailable on this host."""
    apply()
    figure = plt.figure(figsize=(COLUMN_INCHES, 1.2))
    text = f"{title}\n\n" + textwrap.fill(f"Not measured here: {reason}.", 62)
    figure.text(0.5, 0.5, text, ha="center", va="center", fontsize=7.5)
    return figure

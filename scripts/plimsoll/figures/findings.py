"""Sentences of alternative texts: what a figure shows, before its numbers."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from plimsoll.figures import bars, style


class Change(NamedTuple):
    """A named relative difference from a reference (0.1 is 10 % more), and the ends of its 95 % interval (NaN: unknown)."""

    name: str
    change: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """Return whether the interval excludes no change."""
        return bool(self.low > 0 or self.high < 0)


def farthest(changes: Sequence[Change], reference: str) -> str:
    """Return which change is farthest from a reference, how many differ from it, and how many have no interval."""
    known = [one for one in changes if pd.notna(one.low)]
    most = max((one for one in known if one.differs), key=lambda one: abs(one.change), default=None)
    said = [f"Farthest from {reference}: {most.name}, {style.percent(most.change)}."] if most else []
    said += [bars.how_many_differ(sum(one.differs for one in known), str(len(known)), reference)] if known else []
    said += [f"{without} without an interval: too few runs."] if (without := len(changes) - len(known)) else []
    return " ".join(said) or "Nothing to compare."


def ends(values: Sequence[tuple[str, float]], unit: str) -> str:
    """Return the highest and the lowest of several named values; empty if there are fewer than two."""
    if len(values) < 2:
        return ""
    high, low = (pick(values, key=lambda one: one[1]) for pick in (max, min))
    return f"Highest: {high[0]}, {high[1]:.3g} {unit}. Lowest: {low[0]}, {low[1]:.3g} {unit}."

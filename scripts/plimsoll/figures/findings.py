"""Sentences of alternative texts: what differs from a reference, by how much, and how many do."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from plimsoll.figures import bars, style

NOTHING = "Nothing to compare."


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

    @property
    def in_words(self) -> str:
        """Return the name and the difference, with its interval if that is known."""
        interval = "" if pd.isna(self.low) else f" [{style.percent(self.low)}, {style.percent(self.high)}]"
        return f"{self.name}, {style.percent(self.change)}{interval}"


def farthest(changes: Sequence[Change], reference: str) -> str:
    """Return which change is farthest from a reference, how many differ from it, and the farthest without an interval."""
    telling = [one for one in changes if one.differs]
    others = [one for one in changes if pd.isna(one.low) and pd.notna(one.change)]
    said = [
        f"Farthest from {reference}: {_largest(telling).in_words}." if telling else "",
        how_many(changes, reference),
        f"{len(others)} without an interval (too few runs), farthest: {_largest(others).in_words}." if others else "",
    ]
    return " ".join(filter(None, said)) or NOTHING


def how_many(changes: Sequence[Change], reference: str) -> str:
    """Return how many of the changes with an interval differ from a reference; empty if none has an interval."""
    known = [one for one in changes if pd.notna(one.low)]
    return bars.how_many_differ(sum(one.differs for one in known), str(len(known)), reference) if known else ""


def extremes(verb: str, ratios: Mapping[str, float]) -> str:
    """Return a sentence on the largest of several named ratios, and one on the smallest. `verb` begins both."""
    ordered = sorted(ratios, key=lambda name: ratios[name], reverse=True)
    ends = zip(("most", "least"), dict.fromkeys([*ordered[:1], *ordered[-1:]]), strict=False)
    return " ".join(f"{verb} {word}: {name} ({bars.factor(ratios[name])})." for word, name in ends)


def _largest(changes: Sequence[Change]) -> Change:
    return max(changes, key=lambda one: abs(one.change))

"""Compare the effects that claims rest on in two sets of results: which are alike, which differ, and by how much.

A verdict says on which side of a bound an effect lies. So two verdicts may differ although the effects hardly do. They
may also be the same although the effects are far apart.

An effect is what a set's own judge has compared: two sides within their blocks, or a share of runs. Where a claim is
about the average of several comparisons, that average is the effect. The difference of two effects is taken on the
scale of their test. It allows for differences between sessions as plimsoll.features.compare.two_sets does. All functions are
pure.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from plimsoll.analysis import blocks
from plimsoll.claims import quantities, session_verdicts, verdicts
from plimsoll.claims.quantities import value
from plimsoll.claims.quantities.base import MARGIN, SHARE, Quantity
from plimsoll.features.compare import set_sides, two_sets
from plimsoll.features.compare.set_sides import Between, Spreads
from plimsoll.features.compare.two_sets import ALIKE, DIFFERENT, SAME, TOO_FEW, UNDECIDED, Terms
from plimsoll.result_sets.sets import SessionVerdicts

# The kind of a row that is about an effect.
EFFECT = "effect"
COLUMNS = (
    *("claims", "quantity", "metric", "metric_b", "label", "unit", "cell_a", "cell_b", "cells"),
    *("effect_a", "effect_b", "change", "change_low", "change_high", "change_as"),
    *("blocks_a", "blocks_b", "sessions_a", "sessions_b", "between_blocks", "between_sessions", "degrees"),
    *("p", "p_holm", "p_alike", "p_alike_holm", "answer", "test", "note", "blocks_needed", "sessions_needed"),
)
FISHER, NO_INTERVAL = "Fisher's exact, of shares of runs", "none: no interval"
# In the order in which they are listed, the most important first.
ANSWERS = (DIFFERENT, UNDECIDED, ALIKE)
SEVERAL = "several metrics"


class Cells(NamedTuple):
    """The cells of a comparison and their references. The second side may also be the paper, or empty."""

    cell_a: str
    cell_b: str
    reference_a: str
    reference_b: str


class What(NamedTuple):
    """Key of a comparison: its quantity, whether it is along a trend, its metrics and its cells."""

    quantity: str
    trend: bool
    metric: str
    metric_b: str
    cells: Cells


class Question(NamedTuple):
    """An effect, identified by the comparisons that it is made of: one, or all those of an average.

    The signs in an average follow from what the claim expects of side a in each comparison (`expected`).
    """

    whats: tuple[What, ...]
    expected: tuple[str, ...] = ()

    @property
    def quantity(self) -> Quantity:
        """Return the quantity that the effect is about."""
        return quantities.find(self.whats[0].quantity)


class Mean(NamedTuple):
    """An effect in one session, on the scale of its test: its mean over blocks, and the variance of that mean (`error`).

    `blocks` is the number of blocks, and `degrees` are the degrees of freedom of the variance.
    """

    mean: float
    error: float
    blocks: int
    degrees: int


class Session:
    """The effects of one session.

    `effects` has a row for each effect that the claims `names` rest on. The row lists the names of these claims as
    `claims`.
    """

    def __init__(self, judged: SessionVerdicts, names: Collection[str]):
        self.effects: dict[Question, dict] = {}
        self._single: dict[What, dict] = {}
        by_claim = {claim: own.to_dict("records") for claim, own in judged.comparisons.groupby("claim", sort=False)}
        for name in names:
            if name in judged.results:
                self._add(name, judged.results[name], by_claim.get(name, []))

    def _add(self, name: str, result: Mapping, rows: list[dict]) -> None:
        for number, part in enumerate(result.get("parts") or [result], 1):
            own = [row for row in rows if int(_or(row.get("part"), 1)) == number]
            self._single |= {_what(part, row): row for row in own}
            for question, row in _asked(part, own):
                there = self.effects.setdefault(question, {**row, "claims": []})
                there["claims"] += [name] if name not in there["claims"] else []

    @cached_property
    def means(self) -> dict[What, Mean]:
        """Return the comparisons that have an interval, also those that claims use only as part of an average."""
        found = {what: _mean(row, quantities.find(what.quantity)) for what, row in self._single.items()}
        return {what: mean for what, mean in found.items() if mean}

    def mean(self, question: Question) -> Mean | None:
        """Return an effect on the scale of its test; None if it has no interval."""
        return _mean(self.effects[question], question.quantity)


def _asked(part: Mapping, rows: list[dict]) -> Iterator[tuple[Question, dict]]:
    """Yield the effects that a claim, or a part of one, rests on, each with its row.

    A claim about an average rests on that average. Any other claim rests on each of its comparisons.
    """
    by_arrangement: dict[str, list[dict]] = {}
    for row in rows:
        by_arrangement.setdefault(_or(row.get("arrangement"), ""), []).append(row)
    for words, own in by_arrangement.items():
        whats = tuple(_what(part, row) for row in own)
        average = _average(part, words)
        if average and len(own) > 1:
            expected = tuple(row["expected"] for row in own)
            yield Question(whats, expected), {**average, "label": _label(own), "unit": own[0]["unit"]}
        else:
            yield from ((Question((what,)), row) for what, row in zip(whats, own, strict=True))


def _average(part: Mapping, arrangement: str) -> dict | None:
    """Return the average that a claim is about in one arrangement of what the paper leaves open.

    Return None if the claim is about each comparison, or has several averages.
    """
    if part.get("holds") != verdicts.AVERAGE:
        return None
    return (part.get("arrangements") or {}).get(arrangement, part).get("whole")


def _label(rows: list[dict]) -> str:
    labels = {row["label"] for row in rows}
    return labels.pop() if len(labels) == 1 else SEVERAL


def _what(part: Mapping, row: Mapping) -> What:
    metric, metric_b, *cells = (str(_or(row.get(name), "")) for name in ("metric", "metric_b", *Cells._fields))
    trend = bool((part.get("asked") or {}).get("along"))
    return What(part.get("quantity") or value.Value.name, trend, metric, metric_b, Cells(*cells))


def _or(given: object, otherwise: object) -> object:
    """Return a value of a table, or `otherwise` if it is missing."""
    return otherwise if given is None or pd.isna(given) else given


def _mean(row: Mapping, quantity: Quantity) -> Mean | None:
    """Return an effect on the scale of its test.

    An effect that is the same in every run has an error of 0. Return None for a share of runs, for an effect without an
    interval, and for too few blocks.
    """
    number = int(row["n"])
    if row.get("test") == value.SAME:
        return Mean(quantity.forth(row["effect"], row), 0.0, number, number - 1)
    if quantity.scale == SHARE or pd.isna(row["low"]) or number < blocks.SMALLEST:
        return None
    mean, error, degrees = session_verdicts.on_scale(row, lambda effect: quantity.forth(effect, row))
    return Mean(mean, error**2, number, degrees) if math.isfinite(mean) and math.isfinite(error) else None


class Effects(NamedTuple):
    """The effects of two sets.

    `rows` (with COLUMNS) are those that both sets have. `alone` is the number of effects that only one set has.
    """

    rows: pd.DataFrame
    alone: int


NOTHING = Effects(pd.DataFrame(columns=list(COLUMNS)), 0)


def compare(
    a: Sequence[SessionVerdicts],
    b: Sequence[SessionVerdicts],
    names: Collection[str],
    but: Collection[str],
    terms: Terms,
    tables: int,
) -> Effects:
    """Return the effects that the named claims rest on, in two sets of one or several sessions each.

    `but` are the cells that cannot be compared; effects of such cells are left out. p is adjusted for the number of
    effects and for the number of `tables`.
    """
    pair = [[Session(judged, names) for judged in one] for one in (a, b)]
    asked = [dict.fromkeys(question for session in one for question in session.effects) for one in pair]
    asked = [[question for question in one if not any(set(what.cells) & set(but) for what in question.whats)] for one in asked]
    there = set(asked[0])
    shared = [question for question in asked[1] if question in there]
    between = _Between(pair, shared, terms.session_blocks)
    rows = [_row(question, *pair, between, terms) for question in shared]
    rows = [_told(row) for row in two_sets.with_answers(rows, terms, tables, lambda row: DIFFERENT)]
    return Effects(pd.DataFrame(rows, columns=list(COLUMNS)), len(there ^ set(asked[1])))


class _Between:
    """The variance between sessions of each effect.

    It is estimated from the spread of all comparisons in both sets that have the effect's quantity and metrics. For an
    average, it is estimated from the comparisons that the average is made of.
    """

    def __init__(self, pair: Sequence[Sequence[Session]], questions: Iterable[Question], session_blocks: float):
        self._pair, self._session_blocks = pair, session_blocks
        self._alike: dict[tuple, dict[What, None]] = {}
        self._found: dict[tuple, Between] = {}
        for what in (what for question in questions for what in question.whats):
            self._alike.setdefault(what[:-1], {})[what] = None

    def of(self, question: Question) -> Between:
        """Return the variance between sessions of one effect."""
        first, *others = question.whats
        key = question.whats if others else first[:-1]
        if key not in self._found:
            whats = question.whats if others else tuple(self._alike[key])
            spreads = [_spreads(sessions, whats) for sessions in self._pair]
            self._found[key] = set_sides.between_sessions(spreads, self._session_blocks)
        return self._found[key]


def _spreads(sessions: Sequence[Session], whats: Sequence[What]) -> Spreads:
    found = [
        (number, mean.mean, mean.error * mean.blocks * mean.degrees, mean.blocks, mean.degrees)
        for number, what in enumerate(whats)
        for session in sessions
        if (mean := session.means.get(what))
    ]
    number, mean, squares, of_blocks, degrees = np.array(found, float).reshape(-1, len(Spreads._fields)).T
    return Spreads(number.astype(int), mean, squares, of_blocks.astype(int), degrees.astype(int))


def _row(question: Question, a: Sequence[Session], b: Sequence[Session], between: _Between, terms: Terms) -> dict:
    """Return the row of an effect in two sets, before p is adjusted."""
    quantity = question.quantity
    own = [[session for session in one if question in session.effects] for one in (a, b)]
    told = [[session.effects[question] for session in one] for one in own]
    newest = told[1][-1]
    row = {**_named(question), "label": newest["label"], "unit": newest["unit"], "claims": " ".join(newest["claims"])}
    row |= {"change_as": quantity.change_as, "back": float}
    for side, rows in zip("ab", told, strict=True):
        row |= {f"effect_{side}": float(np.mean([one["effect"] for one in rows])), f"sessions_{side}": len(rows)}
        row |= {f"blocks_{side}": sum(int(one["n"]) for one in rows)}
    if quantity.scale == SHARE:
        return row | _shares(*told)
    means = [[session.mean(question) for session in one] for one in own]
    if lacking := [side for side, found in zip("AB", means, strict=True) if None in found]:
        return row | {"test": NO_INTERVAL, "note": f"it has no interval in {' and '.join(lacking)}"}
    # Spreads and odds are known less precisely than values. Their margin is wider by the same factor as in verdicts.
    margin = quantity.upper(terms.margin * quantity.usual_margin / MARGIN)
    sides = [set_sides.of_sessions(found) for found in means]
    return row | {"back": quantity.back} | two_sets.of_sides(*sides, between.of(question), margin, terms.alpha)


def _named(question: Question) -> dict:
    """Return the columns that say what an effect is of. An average has no metrics and cells of its own, only their number."""
    first, *others = question.whats
    told = {"quantity": first.quantity, "cells": len(question.whats)}
    if others:
        return told
    return {**told, "metric": first.metric, "metric_b": first.metric_b, **first.cells._asdict()}


def _shares(a: list[dict], b: list[dict]) -> dict:
    """Return the columns that compare two shares of runs by Fisher's exact test.

    Shares are alike without a test if in both sets all runs agree with the claim, or none does. With fewer than
    SMALLEST runs on a side, nothing is tested.
    """
    from scipy import stats

    agree, runs = zip(*(_agreeing(rows) for rows in (a, b)), strict=True)
    note = f"{agree[0]} of {runs[0]} runs agree in A, {agree[1]} of {runs[1]} in B"
    if min(runs) < blocks.SMALLEST:
        return {"test": TOO_FEW, "note": note}
    difference = agree[1] / runs[1] - agree[0] / runs[0]
    if agree in (runs, (0, 0)):
        return {"difference": difference, "test": SAME, "note": note, "answer": ALIKE}
    table = [(agree[0], runs[0] - agree[0]), (agree[1], runs[1] - agree[1])]
    return {"difference": difference, "test": FISHER, "note": note, "p": float(stats.fisher_exact(table).pvalue)}


def _agreeing(rows: list[dict]) -> tuple[int, int]:
    """Return (number of runs that agree with a claim, number of all runs), over all sessions of a set."""
    return sum(round(row["effect"] * row["n"]) for row in rows), sum(int(row["n"]) for row in rows)


def _told(row: dict) -> dict:
    """Return a row with its difference and interval converted from the scale of the test to that of the effects."""
    back = row.pop("back")
    ends = {"change": "difference", "change_low": "low", "change_high": "high"}
    return {**row, **{name: back(row[own]) for name, own in ends.items() if own in row}}


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows sorted by answer, those that differ first, and within an answer by p, the surest difference first."""
    return rows.assign(by=rows["answer"].map(ANSWERS.index)).sort_values(["by", "p"], kind="stable")[list(rows)]


def behind(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the effects that a claim rests on."""
    return rows[[name in names for names in rows["claims"].str.split()]]


def counts(rows: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Return, for each claim, how many of the effects that it rests on have which answer."""
    each = rows.assign(claims=rows["claims"].str.split()).explode("claims")
    return {name: own["answer"].value_counts().to_dict() for name, own in each.groupby("claims")}

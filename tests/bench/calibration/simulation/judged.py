"""Verdicts of drawn values, by the judge's inner functions, for many draws at once."""

import numpy as np
from plimsoll.analysis import blocks, paper_tests
from plimsoll.analysis.blocks import Mean
from plimsoll.claims import book, findings, judging, quantities, verdicts
from plimsoll.claims.judging import Levels
from scipy import special

from tests.bench.calibration.simulation import truths
from tests.bench.calibration.simulation.worlds import World
from tests.bench.calibration.study import ALPHA, Judged, arranged, contrasts


class Inner:
    """Judge of a world's claims on all draws, by the functions that evaluate.one calls.

    They are the quantity's differences, Mean, strength, together, of_sentence and decide. What is the same for several
    claims is computed once.
    """

    def __init__(self, world: World, values: np.ndarray):
        self.world, self.values, self.known = world, values, {}

    def judge(self, claim: dict) -> list[Judged]:
        """Return one result per draw."""
        if "parts" not in claim:
            return self._arrangements(claim)
        parts = book.parts_of(claim)
        judged = [self._one(part, Levels(ALPHA, ALPHA / len(parts))) for part in parts]
        return [_of_sentence([evidence for _, evidence in of_draw]) for of_draw in zip(*judged, strict=True)]

    def _arrangements(self, claim: dict) -> list[Judged]:
        of_each = [self._one(one, Levels(ALPHA, ALPHA)) for one in arranged(claim)]
        if len(of_each) == 1:
            return [judged for judged, _ in of_each[0]]
        return [_agreeing(of_draw) for of_draw in zip(*of_each, strict=True)]

    def _one(self, claim: dict, levels: Levels) -> list[tuple[Judged, verdicts.Strength]]:
        """Return the result of each draw, and its evidence."""
        quantity, holds = quantities.find(claim.get("quantity")), claim.get("holds", verdicts.EACH)
        found = self._differences(claim)
        if found.shape[-1] < blocks.SMALLEST:
            return [(Judged(verdicts.INCONCLUSIVE, "", np.nan, np.nan), verdicts.NOTHING)] * len(found)
        average = holds == verdicts.AVERAGE and not quantity.printed
        rows = None if average and truths.expected(claim) not in verdicts.LIKENESS else self._evidence(claim, found)
        whole = (truths.signs(self.world, claim)[:, None] * found).mean(axis=1)
        of_average = _strengths(claim, whole, truths.bounds(self.world, claim)) if average else None
        judged, means = [], _means(whole)
        # An order has no single average to show.
        ends = [(np.nan, np.nan)] * len(found) if "order" in claim else _intervals(whole, claim)
        for draw, (low, high) in enumerate(ends):
            if average:
                evidence = of_average[draw]
                if rows and _one_against(rows[draw], levels):
                    evidence = evidence._replace(supports=1.0)
            else:
                evidence = verdicts.combine(rows[draw], holds)
            size = judging.size_of(claim, quantity, {"shown": means[draw], "low": low}, levels.supports)
            result = Judged(verdicts.judge(evidence, *levels), size, low, high)
            judged.append((result, evidence))
        return judged

    def _differences(self, claim: dict) -> np.ndarray:
        """Return differences of shape (draws, comparisons, blocks), on the scale of the test."""
        key = repr([claim.get(name) for name in ("a", "b", "order", "relative_to", "quantity", "cv", "value")])
        if key not in self.known:
            of = truths.QUANTITIES[claim.get("quantity", "value")].differences
            pairs = [tuple(None if c is None else self.values[:, c] for c in one) for one in contrasts(claim)]
            self.known[key] = np.stack([of(claim, *one) for one in pairs], axis=1)
        return self.known[key]

    def _evidence(self, claim: dict, found: np.ndarray) -> list[list[verdicts.Strength]]:
        key = repr([id(found), claim["expected"], findings.margin(claim), findings.paper_magnitude(claim)])
        if key not in self.known:
            bounds = quantities.find(claim.get("quantity")).bounds(findings.margin(claim))
            flat = _strengths(claim, found.reshape(-1, found.shape[-1]), bounds)
            self.known[key] = [flat[i : i + found.shape[1]] for i in range(0, len(flat), found.shape[1])]
        return self.known[key]


def _strengths(claim: dict, differences: np.ndarray, bounds: verdicts.Bounds) -> list[verdicts.Strength]:
    """Return the evidence of each row of differences."""
    named = bool((findings.paper_magnitude(claim) or {}).get("low"))
    return [verdicts.strength(truths.expected(claim), mean, bounds, named) for mean in _means(differences)]


def _means(differences: np.ndarray) -> list[Mean]:
    """Return Mean.of for each row of differences, all at once."""
    n = differences.shape[-1]
    middle, error = differences.mean(axis=-1), differences.std(axis=-1, ddof=1) / np.sqrt(n)
    known = np.where(np.ptp(differences, axis=-1) > blocks.ROUNDING, middle, np.nan)
    return [Mean(mean, of, n - 1) for mean, of in zip(known.tolist(), error.tolist(), strict=True)]


def _of_sentence(parts: list[verdicts.Strength]) -> Judged:
    """Return the result of one draw of a sentence of several parts."""
    return Judged(verdicts.judge(verdicts.of_sentence(parts, len(parts)), ALPHA, ALPHA), "", np.nan, np.nan)


def _agreeing(of_each: tuple[tuple[Judged, verdicts.Strength], ...]) -> Judged:
    """Return the result of one draw from those in each arrangement. The size is that of all which have the verdict."""
    verdict, each = verdicts.decide([evidence for _, evidence in of_each], ALPHA, ALPHA)
    sizes = {one.size for one, _ in of_each if one.verdict == verdict} or {one.size for one, _ in of_each}
    return Judged(verdict, sizes.pop() if len(sizes) == 1 else "", np.nan, np.nan, tuple(each))


def _one_against(rows: list[verdicts.Strength], levels: Levels) -> bool:
    """Return whether a single comparison is contradicted, adjusted for their number."""
    opposes = [row.opposes for row in rows]
    if min(opposes) >= levels.opposes:
        return False
    adjusted = paper_tests.holm(opposes)
    found = (verdicts.judge(verdicts.Strength(r.supports, p), *levels) for r, p in zip(rows, adjusted, strict=True))
    return verdicts.CONTRADICTED in found


def _intervals(differences: np.ndarray, claim: dict) -> list[tuple[float, float]]:
    """Return blocks.t_interval of each row of differences at once, as effects."""
    n = differences.shape[-1]
    half = differences.std(axis=-1, ddof=1) / np.sqrt(n) * special.stdtrit(n - 1, 0.975)
    back = truths.back(claim, quantities.find(claim.get("quantity")))
    middle = differences.mean(axis=-1)
    return [(back(low), back(high)) for low, high in zip(middle - half, middle + half, strict=True)]

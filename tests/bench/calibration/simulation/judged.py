"""Verdicts of drawn values, by the judge's inner functions, for many draws at once."""

import math

import numpy as np
from plimsoll.analysis import blocks, independence, paper_tests, spreads
from plimsoll.analysis.blocks import Mean
from plimsoll.analysis.spreads import NOTHING, Lent, Spread
from plimsoll.claims import book, compare, findings, judging, quantities, verdicts
from plimsoll.claims.judging import Levels
from scipy import special

from tests.bench.calibration.simulation import truths
from tests.bench.calibration.simulation.worlds import World, events, planned
from tests.bench.calibration.study import ALPHA, Judged, arranged, contrasts, metric_of


class Inner:
    """Judge of a world's claims on all draws, by the functions that evaluate.one calls.

    They are the quantity's differences, Mean, what comparisons lend, strength, votes, together, of_sentence and decide.
    What is the same for several claims is computed once.
    """

    def __init__(self, world: World, values: np.ndarray):
        self.world, self.values, self.known = world, values, {}
        _, self.plan = planned(world)

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
        likeness = truths.expected(claim) in verdicts.LIKENESS
        rows = None if average and not likeness else self._evidence(claim, found)
        whole = np.einsum("c,dcb->db", truths.weights(self.world, claim), found)
        judged, means = [], _means(whole)
        of_average = _strengths(claim, means, truths.bounds(self.world, claim)) if average else None
        votes = compare.votes_of(truths.comparisons(self.world, claim), holds)
        usual = truths.bounds(self.world, claim, quantity.usual_margin)
        # An order has no single average to show.
        ends = [(np.nan, np.nan)] * len(found) if "order" in claim else _intervals(whole, claim)
        for draw, (low, high) in enumerate(ends):
            if average:
                evidence = of_average[draw]
                if rows and _one_against(rows[draw], levels):
                    evidence = evidence._replace(supports=1.0)
            else:
                evidence = verdicts.combine(_by_vote(rows[draw], votes), holds)
            size = judging.size_of(claim, quantity, {"shown": means[draw], "low": low}, levels.supports)
            verdict, alike = verdicts.judge(evidence, *levels), False
            if verdict == verdicts.INCONCLUSIVE and not likeness and not quantity.printed:
                shown = [means[draw]] if average else self._of_draw(claim, found, draw)
                alike = all(max(one.above(usual.lower), one.below(usual.upper)) < levels.supports for one in shown)
            judged.append((Judged(verdict, size, low, high, alike=alike), evidence))
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
        one_does = claim.get("holds") in (verdicts.MOST, verdicts.SOME)
        key = repr([id(found), one_does, claim["expected"], findings.margin(claim), findings.paper_magnitude(claim)])
        if key not in self.known:
            bounds = quantities.find(claim.get("quantity")).bounds(findings.margin(claim))
            means, many = self._of_comparisons(claim, found), found.shape[1]
            flat = _strengths(claim, means, bounds)
            if many > 1 and any(one.pooled for one in means):
                strictly = _strengths(claim, [one.strictly for one in means], bounds)
                flat = [b if one_does else a._replace(opposes=b.opposes) for a, b in zip(flat, strictly, strict=True)]
            self.known[key] = [flat[i : i + many] for i in range(0, len(flat), many)]
        return self.known[key]

    def _of_draw(self, claim: dict, found: np.ndarray, draw: int) -> list[Mean]:
        many = found.shape[1]
        return self._of_comparisons(claim, found)[draw * many : (draw + 1) * many]

    def _of_comparisons(self, claim: dict, found: np.ndarray) -> list[Mean]:
        """Return the mean of each comparison of each draw, with the spread that other comparisons lend to it."""
        lends = "quantity" not in claim and "statistic" not in claim.get("a", {})
        key = repr([id(found), "means", lends])
        if key not in self.known:
            means = _means(found.reshape(-1, found.shape[-1]))
            if lends and found.shape[-1] < independence.BATCHED:
                # Sides have the same metric, so its name says which comparisons lend.
                lent = [self._lent(metric_of(self.plan, a)) for a, _, _ in contrasts(claim)]
                if any(one != NOTHING for of_metric in lent for one in of_metric):
                    given = (one for of_draw in zip(*lent, strict=True) for one in of_draw)
                    means = [_moderated(mean, one) for mean, one in zip(means, given, strict=True)]
            self.known[key] = means
        return self.known[key]

    def _lent(self, metric: str) -> list[Lent]:
        """Return what comparisons of a metric lend in each draw, between cells that follow each other."""
        if metric not in self.known:
            own = [number for number, (name, _) in enumerate(self.plan["numbered"]) if name == metric]
            lent = [NOTHING] * len(self.values)
            if len(own) > spreads.ENOUGH and self.world.values is not events:
                logs = np.log(self.values[:, own].mean(axis=-1))
                deviations, degrees = np.diff(logs, axis=1).std(axis=-1, ddof=1), logs.shape[-1] - 1
                lent = [spreads.lent([Spread(one, degrees) for one in of_draw]) for of_draw in deviations.tolist()]
            self.known[metric] = lent
        return self.known[metric]


def _moderated(mean: Mean, lent: Lent) -> Mean:
    return mean if lent == NOTHING or math.isnan(mean.mean) else mean.moderated(lent)


def _by_vote(rows: list[verdicts.Strength], votes: list[list[int]]) -> list[verdicts.Strength]:
    """Return the evidence of each vote, which is for a claim if each of its comparisons is."""
    if len(votes) == len(rows):
        return rows
    return [verdicts.combine([rows[place] for place in vote], verdicts.EACH) for vote in votes]


def _strengths(claim: dict, means: list, bounds: verdicts.Bounds) -> list[verdicts.Strength]:
    """Return the evidence of each mean."""
    named, expected = bool((findings.paper_magnitude(claim) or {}).get("low")), truths.expected(claim)
    return [verdicts.strength(expected, mean, bounds, named) for mean in means]


def _means(differences: np.ndarray) -> list[Mean]:
    """Return Mean.of for each row of differences, all at once."""
    n = differences.shape[-1]
    middle, error = differences.mean(axis=-1), differences.std(axis=-1, ddof=1) / np.sqrt(n)
    error = np.where(np.ptp(differences, axis=-1) > blocks.ROUNDING, error, 0.0)
    return [Mean(mean, of, n - 1) for mean, of in zip(middle.tolist(), error.tolist(), strict=True)]


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

"""The truth of a simulated world: true effects of comparisons, and whether what a verdict asserts is true."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from plimsoll.analysis import dispersions
from plimsoll.analysis.blocks import Sample
from plimsoll.claims import book, compare, findings, quantities, verdicts
from plimsoll.claims.quantities.memory_contention import ratio
from plimsoll.claims.quantities.printed_value import LEAST
from scipy import special

from tests.bench.calibration.simulation.worlds import SPREAD, World, planned
from tests.bench.calibration.study import IN_PART, Judged, arranged, cell_of, contrasts, metric_of

# Differences as small as this are a matter of rounding.
TINY = 1e-9


class Known(NamedTuple):
    """Functions of a quantity, both on the scale of the test.

    `differences` takes values (draws, blocks, iterations) of side a, of side b and of their reference, and gives
    differences by block. `true` gives the true difference of levels.
    """

    differences: Callable
    true: Callable


def _of_values(claim: dict, a: np.ndarray, b: np.ndarray, reference) -> np.ndarray:
    half = 0.5 if claim.get("counts") else 0.0
    sides = [
        {"": np.mean, "median": np.median, "mean": np.mean}[claim[side].get("statistic", "")](values, axis=-1)
        if side in claim
        else values.mean(axis=-1)
        for side, values in (("a", a), ("b", b))
    ]
    return np.log(sides[0] + half) - np.log(sides[1] + half)


def _of_fractions(fraction: Callable) -> Callable:
    return lambda claim, a, b, reference: (fraction(a, reference) - fraction(b, reference))[..., 0]


def _sample(values: np.ndarray) -> Sample:
    which = np.repeat(np.arange(len(values)), values.shape[1])
    return Sample(values.reshape(-1), which, np.zeros(values.size, bool))


def _of_spreads(claim: dict, a: np.ndarray, b: np.ndarray, reference) -> np.ndarray:
    return np.stack([dispersions.spread_differences(_sample(x), _sample(y))[1] for x, y in zip(a, b, strict=True)])


def _of_variation(claim: dict, a: np.ndarray, b: np.ndarray, reference) -> np.ndarray:
    return np.stack([dispersions.log_variation(_sample(x))[1] for x in a]) - np.log(claim["cv"])


def _of_odds(claim: dict, a: np.ndarray, b: np.ndarray, reference) -> np.ndarray:
    return special.logit(np.clip(a[..., 0], LEAST, 1 - LEAST)) - special.logit(claim["value"])


def _loss(value, reference):
    return 1 - value / reference


QUANTITIES = {
    "value": Known(_of_values, lambda claim, a, b, reference: a - b),
    "relative loss": Known(
        _of_fractions(_loss), lambda claim, a, b, r: _loss(np.exp(a), np.exp(r)) - _loss(np.exp(b), np.exp(r))
    ),
    "memory contention ratio": Known(
        _of_fractions(ratio),
        lambda claim, a, b, r: ratio(np.exp(a), np.exp(r)) - ratio(np.exp(b), np.exp(r)),
    ),
    "dispersion": Known(_of_spreads, lambda claim, a, b, r: a - b),
    "variation": Known(_of_variation, lambda claim, a, b, r: a + np.log(SPREAD) - np.log(claim["cv"])),
    "printed value": Known(_of_odds, lambda claim, a, b, r: a - special.logit(claim["value"])),
}


def signs(world: World, claim: dict) -> np.ndarray:
    """Return the sign of each of a claim's comparisons in their average: 1 where higher is better (the first is so),
    else -1."""
    return np.array([-1 if a in world.times else 1 for a, _, _ in contrasts(claim)])


def comparisons(world: World, claim: dict) -> list[dict]:
    """Return the benchmark and the cells of each comparison, from which the judge takes its votes."""
    study, plan = planned(world)
    found = []
    for a, b, reference in contrasts(claim):
        before = None if reference is None else cell_of(plan, reference)
        cells = {"cell_a": cell_of(plan, a), "cell_b": cell_of(plan, b), "reference_a": before, "reference_b": before}
        found.append({"benchmark": compare.benchmark_of(study["metrics"][metric_of(plan, a)]), **cells})
    return found


def weights(world: World, claim: dict) -> np.ndarray:
    """Return the weight of each comparison in their average, with the sign that it has there."""
    return compare.votes(comparisons(world, claim)) * signs(world, claim)


def expected(claim: dict) -> str:
    """Return what a claim says of a metric of which higher is better."""
    return {"better": "higher"}.get(claim["expected"], claim["expected"])


def bounds(world: World, claim: dict, margin: float | None = None) -> verdicts.Bounds:
    """Return the differences between which the sides of a claim are alike: symmetric if an average changes signs.

    They are those of the claim's own margin if none is given.
    """
    found = quantities.find(claim.get("quantity")).bounds(findings.margin(claim) if margin is None else margin)
    turned = claim.get("holds") == verdicts.AVERAGE and (signs(world, claim) < 0).any()
    return verdicts.Bounds(-found.upper, found.upper) if turned else found


def effects(world: World, claim: dict) -> np.ndarray:
    """Return the true differences of a claim's comparisons, on the scale of the test."""
    known = QUANTITIES[claim.get("quantity", "value")]
    return np.array(
        [known.true(claim, *(None if cell is None else world.levels[cell] for cell in one)) for one in contrasts(claim)]
    )


class Asserted(NamedTuple):
    """Whether what each verdict asserts is true."""

    reproduced: bool
    contradicted: bool
    conditional: bool


def asserted(world: World, claim: dict) -> Asserted:
    """Return whether what each verdict asserts is true. Exactly no difference, or one of exactly the margin, makes none
    true.

    A difference that is claimed with a size is contradicted by one below the bound. Between that and 0 neither verdict
    is wrong: the sign is as the paper says, the size is not. Over arrangements both verdicts are about all of them.
    `conditional` asserts that one arrangement agrees and another one contradicts.
    """
    if "sound" in claim:
        return Asserted(*claim["sound"], False)
    if "arranged" in claim:
        so, against = zip(*(_asserted(world, one) for one in arranged(claim)), strict=True)
        return Asserted(all(so), all(against), any(so) and any(against))
    parts = [_asserted(world, part) for part in book.parts_of(claim) or [claim]]
    return Asserted(all(part[0] for part in parts), any(part[1] for part in parts), False)


def wrongly_in_part(world: World, claim: dict, found: Iterable[Judged]) -> int:
    """Return how many results in part name an arrangement that supports or contradicts the claim although that is not true."""
    true = [_asserted(world, one) for one in arranged(claim)]
    known = {verdicts.REPRODUCED: 0, verdicts.CONTRADICTED: 1}
    in_part = [one.each for one in found if one.told == IN_PART]
    return sum(
        any(verdict in known and not of[known[verdict]] for verdict, of in zip(each, true, strict=True)) for each in in_part
    )


def _asserted(world: World, claim: dict) -> tuple[bool, bool]:
    found, holds = effects(world, claim), claim.get("holds", verdicts.EACH)
    if holds == verdicts.AVERAGE:
        found, holds = (weights(world, claim) * found).sum(keepdims=True), verdicts.EACH
    lower, upper = bounds(world, claim)
    named = (findings.paper_magnitude(claim) or {}).get("low")
    said = expected(claim)
    if said in ("lower", "not_higher"):
        found, said, lower, upper = -found, {"lower": "higher", "not_higher": "not_lower"}[said], -upper, -lower
    so, against = {
        "higher": (found > TINY, found < (upper if named else lower) - TINY),
        "not_lower": (found > lower + TINY, found < lower - TINY),
        "no_difference": ((found > lower + TINY) & (found < upper - TINY), (found < lower - TINY) | (found > upper + TINY)),
    }[said]
    # An average has one difference, which is the only vote.
    votes = compare.votes_of(comparisons(world, claim)[: len(found)], holds)
    m, u = len(votes), verdicts.required(holds, len(votes))
    return sum(so[vote].all() for vote in votes) >= u, sum(against[vote].any() for vote in votes) >= m - u + 1


def is_alike(world: World, claim: dict) -> bool:
    """Return whether all differences of a claim, or their average, are smaller than the usual margin."""
    found = effects(world, claim)
    if claim.get("holds") == verdicts.AVERAGE:
        found = (weights(world, claim) * found).sum(keepdims=True)
    lower, upper = bounds(world, claim, quantities.find(claim.get("quantity")).usual_margin)
    return bool(((found > lower + TINY) & (found < upper - TINY)).all())


def back(claim: dict, quantity) -> Callable[[float], float]:
    """Return the function from the scale of the test to effects."""
    if not quantity.printed:
        return quantity.back
    return lambda difference: special.expit(special.logit(claim["value"]) + difference) - claim["value"]

"""Spreads of many comparisons together, and what they lend to one comparison of few blocks.

The standard deviation of a comparison of four blocks has three degrees of freedom. If the spreads of many comparisons
of a metric are alike, they say more about its spread than its own blocks do. True variances are assumed to be
distributed as s0^2 d0 / chi2(d0) (Smyth 2004, Stat. Appl. Genet. Mol. Biol. 3:3). d0 is large where they are alike, and
small where they are not. The spread of a comparison then has d0 + d degrees of freedom, and Student's t keeps its level
(moderated t). No difference influences this.

A level that holds on average over all comparisons may not hold for one that is always noisier than the others. Two
rules bound its error. Nothing is lent if spreads may differ much (ALIKE). Whatever is known of the others, a comparison
gets few degrees of freedom from them (CAP), so its own spread keeps its weight.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import special

# Fewer comparisons lend nothing: their spreads may be alike by chance.
ENOUGH = 20
# Fewest degrees of freedom of a prior that is lent. If spreads vary more than that from one comparison to the next, a
# comparison that is always noisier than the others would be taken for one of them.
ALIKE = 8.0
# Most degrees of freedom of a prior that is lent. Student's t gains most by the first few, and more of them would only
# let a comparison's own spread count for less.
CAP = 8.0
# Standard errors from the estimated variation of the variances to the upper end of its one-sided interval of 80 %.
CAUTION = 0.84
# More degrees of freedom than these change nothing.
MOST = 200.0


class Spread(NamedTuple):
    """A standard deviation, and its degrees of freedom."""

    deviation: float
    degrees: float

    def with_own(self, deviation: float, degrees: float) -> "Spread":
        """Return this spread combined with a comparison's own spread (Smyth 2004, equation 7)."""
        if not self.degrees:
            return Spread(deviation, degrees)
        both = self.degrees + degrees
        return Spread(math.sqrt((self.degrees * self.deviation**2 + degrees * deviation**2) / both), both)


UNKNOWN = Spread(math.nan, 0.0)


def fit(variances: Sequence[float], degrees: Sequence[float]) -> Spread:
    """Return s0 and d0 of variances with their degrees of freedom (Smyth 2004, section 6.2); UNKNOWN for fewer than ENOUGH.

    log s^2 - psi(d/2) + log(d/2) has the variance psi'(d/2) + psi'(d0/2). It is taken from its upper end (CAUTION),
    because few variances may be alike by chance. Its standard error follows from the kurtosis of log chi2, which is
    far from that of normal values where d is small.
    """
    s2, half = np.asarray(variances, float), np.asarray(degrees, float) / 2
    used = (s2 > 0) & (half > 0)
    s2, half = s2[used], half[used]
    if len(s2) < ENOUGH:
        return UNKNOWN
    logs = np.log(s2) - special.psi(half) + np.log(half)
    excess = float((special.polygamma(3, half) / special.polygamma(1, half) ** 2).mean())
    upper = logs.var(ddof=1) * (1 + CAUTION * math.sqrt((2 + excess) / (len(logs) - 1)))
    beyond = float(upper - special.polygamma(1, half).mean())
    # The prior cannot have more degrees of freedom than all variances together.
    most = min(MOST, float(2 * half.sum()))
    prior = min(most, 2 * _inverse_trigamma(beyond)) if beyond > 0 else most
    return Spread(math.exp((float(logs.mean()) + float(special.psi(prior / 2)) - math.log(prior / 2)) / 2), prior)


def _inverse_trigamma(value: float) -> float:
    """Return y with psi'(y) = value, by Newton's method on 1 / psi' (Smyth 2004, appendix)."""
    y = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(special.polygamma(1, y))
        step = trigamma * (1 - trigamma / value) / float(special.polygamma(2, y))
        y += step
        if abs(step) < 1e-10 * y:
            break
    return y


class Lent(NamedTuple):
    """What similar comparisons lend to one comparison.

    `prior` is a spread to combine with its own. It has at most CAP degrees of freedom, and is UNKNOWN if their spreads
    are not ALIKE. `pooled` is the mean of all of their variances, whatever its own is.
    """

    prior: Spread
    pooled: Spread


NOTHING = Lent(UNKNOWN, UNKNOWN)


def lent(comparisons: Sequence[Spread]) -> Lent:
    """Return what comparisons lend to one like them, from their own spreads; NOTHING for fewer than ENOUGH."""
    prior = fit([one.deviation**2 for one in comparisons], [one.degrees for one in comparisons])
    if not prior.degrees:
        return NOTHING
    alike = Spread(prior.deviation, min(CAP, prior.degrees)) if prior.degrees >= ALIKE else UNKNOWN
    return Lent(alike, pool(comparisons))


def pool(comparisons: Sequence[Spread]) -> Spread:
    """Return the mean of all variances with the degrees of freedom of Satterthwaite (1946), at most MOST.

    These are fewer the more the variances differ: (sum d v)^2 / sum d v^2. An estimated v^2 is too large by a factor of
    (d + 2) / d, which is taken out. Variances that are alike then have all of their degrees together.
    """
    variances, degrees = np.array([(one.deviation**2, one.degrees) for one in comparisons]).T
    whole = float(degrees @ variances)
    squares = float((degrees**2 / (degrees + 2)) @ variances**2)
    return Spread(math.sqrt(whole / degrees.sum()), min(MOST, whole**2 / squares))


def of_kinds(comparisons: Iterable[tuple[Hashable, Spread]]) -> dict[Hashable, Lent]:
    """Return what comparisons of each kind lend to one of them, from (kind, own spread) of each comparison.

    If a kind has too few comparisons, those of all kinds together lend.
    """
    kinds: dict[Hashable, list[Spread]] = {}
    for kind, spread in comparisons:
        kinds.setdefault(kind, []).append(spread)
    everything = lent([one for group in kinds.values() for one in group])
    return {kind: own if (own := lent(group)) != NOTHING else everything for kind, group in kinds.items()}


def neighbours(levels: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield pairs of cells that differ in one factor, as comparisons do.

    Each cell is paired with the next one that is like it in all other factors. `levels` has the levels of each cell,
    all in the same order of the factors.
    """
    number = max(map(len, levels.values()), default=0)
    for factor in range(number):
        alike: dict[tuple, list[str]] = {}
        for cell, own in levels.items():
            alike.setdefault((*own[:factor], *own[factor + 1 :]), []).append(cell)
        for group in alike.values():
            yield from pairwise(group)

"""Claims about counts in each run, such as which of two benchmarks makes more calls."""

import numpy as np

from plimsoll.analysis import blocks, independence
from plimsoll.analysis.blocks import Sample
from plimsoll.claims import verdicts
from plimsoll.claims.quantities.base import SHARE, Observations, Quantity
from plimsoll.claims.quantities.value import TOO_FEW
from plimsoll.claims.sides import Contrast, Side


class Count(Quantity):
    """A count that is higher or lower than another in every block.

    The counts of a deterministic algorithm do not vary, so there is nothing to test.
    """

    name = "count"
    scale = SHARE
    effect_in_words = "share of the runs that agree"
    shown_as = "share"
    change_as = "points"

    def sample(self, observations: Observations, side: Side) -> Sample:
        """Return the counts unchanged: no logarithm is taken of them."""
        return observations.values(side.metric, side.cell)

    def compare(self, claim: dict, observations: Observations, contrast: Contrast, row: dict, alpha: float) -> dict:
        """Return the row with the share of the blocks in which the counts compare as the claim says."""
        a, b = (observations.sample(side) for side in (contrast.a, contrast.b))
        row = {**row, "n_a": len(a.values), "n_b": len(b.values)}
        in_a, in_b = blocks.within_blocks(a, b)
        more = in_a > in_b if row["expected"] == "higher" else in_a < in_b
        # Where blocks are numbered by session, a session agrees if all its blocks agree.
        more = independence.per_session(more.astype(float), np.intersect1d(a.blocks, b.blocks)) == 1
        means = {"mean_a": in_a.mean(), "mean_b": in_b.mean()} if len(more) else {}
        return {**row, **means, **share(int(more.sum()), len(more))}


def share(count: int, number: int) -> dict:
    """Return the share of the runs that agree with a claim, Wilson's interval, and the verdict.

    The claim is reproduced if all `number` runs agree. It is contradicted if the interval shows that fewer than half
    agree. Fewer than SMALLEST runs are inconclusive. Of no runs there is no share.
    """
    from statsmodels.stats.proportion import proportion_confint

    effect = count / number if number else np.nan
    low, high = proportion_confint(count, number, method="wilson") if number else (np.nan, np.nan)
    verdict = verdicts.REPRODUCED if count == number else verdicts.CONTRADICTED if high < 0.5 else verdicts.INCONCLUSIVE
    return {
        **{"label": "share of the runs", "n": number, "effect": effect, "low": low, "high": high},
        **{
            "test": "Wilson's interval" if number else TOO_FEW,
            "verdict": verdict if number >= blocks.SMALLEST else verdicts.INCONCLUSIVE,
        },
    }


QUANTITIES = (Count(),)

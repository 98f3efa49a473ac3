"""Claims about what can be counted run by run: what carried the messages, and which of two benchmarks makes more calls."""

import numpy as np

from plimsoll.claims import estimates, verdicts
from plimsoll.claims.estimates import Sample
from plimsoll.claims.sides import Contrast


def transport(wanted: str, pairs: list[Contrast], transports: dict[str, list[str]]) -> list[dict]:
    """Rows of a claim about what carried the messages: `wanted` must have carried some in every run of each cell of side a, and
    none in any of side b (ranks of one container share memory on both sides). `transports` by cell, an entry a run."""
    rows = []
    for side, expected in (("a", f"carried by {wanted}"), ("b", f"not carried by {wanted}")):
        for path in sorted({getattr(pair, side).cell for pair in pairs}):
            seen = transports.get(path, [])
            count = sum((wanted in carried) == (side == "a") for carried in seen)
            rows.append({"metric": "transport", "cell_a": path, "expected": expected, **_share(count, len(seen))})
    return rows


def in_every_run(row: dict, a: Sample, b: Sample) -> dict:
    """A row of a claim that one count is higher or lower than another, by so much that it must be so in every block.

    Counts of a deterministic algorithm do not vary, and what does not vary has no test.
    """
    in_a, in_b = estimates.within_blocks(a, b)
    more = in_a > in_b if row["expected"] == "higher" else in_a < in_b
    means = {"mean_a": in_a.mean(), "mean_b": in_b.mean()} if len(more) else {}
    return {**row, **means, **_share(int(more.sum()), len(more))}


def _share(count: int, number: int) -> dict:
    """Share of the runs that agree with the claim, and the verdict: all of them must."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(count, number, method="wilson") if number else (np.nan, np.nan)
    agrees = verdicts.REPRODUCED if count == number else verdicts.CONTRADICTED
    return {
        **{"label": "share of the runs", "n": number, "effect": count / max(1, number), "low": low, "high": high},
        **{"test": "Wilson's interval", "verdict": agrees if number else verdicts.INCONCLUSIVE},
    }

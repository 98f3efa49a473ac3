"""Tests of a table: the usual two-sample tests of cells that differ in one factor."""

from collections.abc import Iterator
from itertools import combinations

from plimsoll import design
from plimsoll.interchange import Record

# At most this many pairs of cells of a metric are tested: a table of them is for reading.
MOST = 400


class Readings(design.Readings):
    """Readings of a table, which has rows and no records."""

    def observations(self, study: dict, row: dict, record: Record) -> list[dict]:
        """Return no observation, as there are no records."""
        return []

    def tests(self, study: dict, observations):
        """Return one row per metric and pair of cells that differ in one factor, with p adjusted (Holm) within the metric.

        The test is Student's, Welch's or Mann-Whitney's (plimsoll.analysis.paper_tests). It takes runs as independent and
        does not know blocks: verdicts do not rest on it.
        """
        import pandas as pd

        from plimsoll.analysis import cell_paths, paper_tests

        factors, rows = study.design.factors.FACTORS, []
        for metric, group in observations.groupby("metric", sort=False):
            cells = {key: one["value"].to_numpy(float) for key, one in group.groupby(list(factors), sort=False)}
            own = [
                {
                    **{"metric": metric, "factor": factor},
                    **{f"cell_{side}": cell_paths.of_row(dict(zip(factors, key, strict=True)), factors) for side, key in pair},
                    **paper_tests.compare(*(cells[key] for _, key in pair), study["alpha"]),
                }
                for factor, pair in _pairs(list(cells), factors)
            ]
            paper_tests.adjust(own, "p", "p_holm")
            rows += own
        return pd.DataFrame(rows)


def _pairs(keys: list[tuple], factors: tuple[str, ...]) -> Iterator[tuple[str, tuple]]:
    """Yield (factor, (("a", key), ("b", key))) for up to MOST pairs of cells that differ in this factor alone."""
    found = 0
    for one, other in combinations(keys, 2):
        differing = [factor for factor, a, b in zip(factors, one, other, strict=True) if a != b]
        if len(differing) == 1 and found < MOST:
            found += 1
            yield differing[0], (("a", other), ("b", one))

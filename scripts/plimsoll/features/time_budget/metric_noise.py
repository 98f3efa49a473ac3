"""Noise of the differences of a metric, pooled over many comparisons."""

import copy
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from plimsoll.analysis import blocks, independence
from plimsoll.features.time_budget.claim_parts import Part, compared
from plimsoll.interchange import Plan

# Fewer comparisons than ENOUGH have no noise of their own: the noise of their metric is used. With fewer than FEW
# comparisons of the metric, that would be hardly more than a comparison's own noise.
ENOUGH, FEW = 8, 4


class Noise:
    """Standard deviation of a difference within a block, on the scale of the test.

    It is pooled over all comparisons of a metric and a quantity between cells of the same two kinds. If these are few,
    it is pooled over all comparisons of the metric. A cell's kind is its levels of the factors `kinds`, by which noise
    differs (plimsoll.design.Factors). `otherwise` is the noise of other measurements. It is used for metrics of which
    these measurements have few comparisons or none.
    """

    def __init__(self, parts: Sequence[Part], plan: Plan, kinds: Sequence[str], otherwise: "Noise | None" = None):
        self.plan, self.kinds, self.otherwise = plan, kinds, otherwise
        pooled: dict[tuple, dict[tuple, tuple[float, int]]] = defaultdict(dict)
        for part in parts:
            for row in part.rows:
                if math.isfinite(row["deviation"]) and row["n"] >= blocks.SMALLEST:
                    for key in self._keys(part, row):
                        # Many claims are about the same comparison, which is pooled once.
                        pooled[key].setdefault(compared(row), (row["deviation"] ** 2, int(independence.degrees(row["n"]))))
        self.pooled = {key: (math.sqrt(_pooled(found.values())), len(found)) for key, found in pooled.items()}
        self._common = _in_common(parts)

    def or_else(self, other: "Noise") -> "Noise":
        """Return a copy that uses the noise of `other` measurements for metrics with few comparisons or none."""
        both = copy.copy(self)
        both.otherwise = other
        return both

    @property
    def common(self) -> float:
        """Correlation of two comparisons of the same metric within a block; 1 if it is not known."""
        if self._common is not None:
            return self._common
        return self.otherwise.common if self.otherwise else 1.0

    def of(self, part: Part, row: Mapping) -> float:
        """Return the noise of a comparison of a part; NaN if nothing like it was measured."""
        finer, coarser = (self.pooled.get(key, (math.nan, 0)) for key in self._keys(part, row))
        for noise, number in (finer, coarser):
            if number >= ENOUGH:
                return noise
        noise, number = coarser
        if number >= FEW or self.otherwise is None:
            return noise
        elsewhere = self.otherwise.of(part, row)
        return elsewhere if math.isfinite(elsewhere) else noise

    def of_average(self, part: Part) -> float:
        """Return the noise of the average of a part's comparisons. Comparisons of the same metric have noise in common."""
        m, shared = len(part.rows), self.common / part.metrics
        return math.sqrt(float(np.mean([self.of(part, row) ** 2 for row in part.rows])) * (shared + (1 - shared) / m))

    def _keys(self, part: Part, row: Mapping) -> tuple[tuple, tuple]:
        """Return the finer and the coarser group that a comparison belongs to.

        The label is part of both: two statistics of one cell differ by less than two cells, and the label says so.
        """
        cells = (self.plan["cells"].get(row[side]) for side in ("cell_a", "cell_b"))
        kinds = frozenset(tuple(cell[factor] for factor in self.kinds) for cell in cells if cell)
        metric = (row["metric"], row["metric_b"], row["label"], part.result["quantity"] or "")
        return (*metric, kinds), metric


def _in_common(parts: Iterable[Part]) -> float | None:
    """Return the correlation of two comparisons of the same metric within a block, from the averages of many parts.

    None for fewer than ENOUGH parts.
    """
    found = []
    for part in parts:
        m, metrics, average = len(part.rows), part.metrics, part.average
        single = [row["deviation"] ** 2 for row in part.rows if math.isfinite(row["deviation"])]
        if m > 1 and len(single) == m and average:
            share = average["deviation"] ** 2 / max(float(np.mean(single)), blocks.ROUNDING)
            found.append(metrics * (share - 1 / m) / (1 - 1 / m))
    return float(np.clip(np.mean(found), 0.0, 1.0)) if len(found) >= ENOUGH else None


def _pooled(variances: Iterable[tuple[float, int]]) -> float:
    """Return the mean of variances, weighted by their degrees of freedom, from (variance, degrees of freedom)."""
    values, degrees = zip(*variances, strict=True)
    return float(np.average(values, weights=degrees))

"""Blocks that are needed to decide the claims of a study. They follow from measured noise and never from measured effects.

The number of blocks of a comparison follows from the spread of many comparisons of its metric together (`Noise`) and
from the margin of its claim. The size that the paper names and what other measurements found (`OtherMeasurements`) also count.
A comparison's own mean has no influence, and its own spread counts as that of one comparison in a pool. The usual tests
of all blocks together therefore keep their error rates (docs/reports/verdicts.md). Claims that are clear already, at a level of
a thousandth, get no more blocks (Haybittle 1971, Peto and others 1976).
"""

import copy
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from plimsoll.analysis import blocks
from plimsoll.claims import compare, decision_cost, findings, quantities, verdicts
from plimsoll.claims.decision_cost import CELL_COLUMNS
from plimsoll.claims.quantities.base import RATIO
from plimsoll.features.time_budget.allocation import Need
from plimsoll.interchange import Plan

# Level at which a claim is clear after a first stage.
CLEAR = 0.001
# A paper's number is an estimate, so half of it should be found.
OF_THE_PAPER = 0.5
# Fewer comparisons than ENOUGH have no noise of their own: the noise of their metric is used. With fewer than FEW
# comparisons of the metric, that would be hardly more than a comparison's own noise.
ENOUGH, FEW = 8, 4
# Confidence that a difference is as large as other measurements say. It only decides how often a comparison is repeated.
SURE = 0.8
# Interval of a difference that is not known.
NOWHERE = (-math.inf, math.inf)


class Part(NamedTuple):
    """What must be shown for a claim: one part of it, in one arrangement of what its paper leaves open.

    A claim without parts and arrangements has one Part. `name` is (claim, number of the part, arrangement in words),
    `result` is the measured result, and `rows` are its comparisons.
    """

    name: tuple[str, int, str]
    result: dict
    rows: list[dict]

    @property
    def metrics(self) -> int:
        """Number of metrics that are compared."""
        return len({row["metric"] for row in self.rows})

    @property
    def averaged(self) -> bool:
        """Whether the average of the comparisons is judged.

        It is false for an order, which has one average for each entry: each of these must be shown.
        """
        return self.result["holds"] == verdicts.AVERAGE and "order" not in self.result["asked"]

    @property
    def average(self) -> dict | None:
        """The measured average if there are enough blocks for it; None if each comparison is judged."""
        return self.result["whole"] if self.averaged else None

    @property
    def votes(self) -> list[list[int]]:
        """Votes of the comparisons, as the verdict counts them. A vote is a list of places in `rows`."""
        return compare.votes_of(self.rows, self.result["holds"])

    @property
    def judged(self) -> int:
        """Number of things that are judged: the votes, or 1 for the average."""
        return 1 if self.averaged else len(self.votes)

    @property
    def number(self) -> int:
        """How many of the things that are judged must be shown."""
        holds = self.result["holds"]
        return self.judged if holds == verdicts.AVERAGE else verdicts.required(holds, self.judged)


def parts_of(results: Iterable[dict], rows: pd.DataFrame, metrics: Mapping[str, Mapping]) -> dict[str, list[Part]]:
    """Return the parts of each testable claim in `results`, by claim. `rows` are the comparisons, `metrics` the study's."""
    benchmarks = rows["metric"].map(lambda name: compare.benchmark_of(metrics.get(name, {})))
    by_claim = {name: own.to_dict("records") for name, own in rows.assign(benchmark=benchmarks).groupby("claim")}
    testable = [one for one in results if one["verdict"] != verdicts.NOT_TESTABLE and one["id"] in by_claim]
    return {one["id"]: _parts(one, by_claim[one["id"]]) for one in testable}


def _parts(result: dict, rows: list[dict]) -> list[Part]:
    parts = []
    for number, part in enumerate(result["parts"] or [result], start=1):
        own = [row for row in rows if row["part"] == number]
        for words, arranged in (part["arrangements"] or {"": {}}).items():
            of_it = [row for row in own if not words or row["arrangement"] == words]
            parts.append(Part((result["id"], number, words), {**part, **arranged}, of_it))
    return [part for part in parts if part.rows and part.result["verdict"] != verdicts.NOT_TESTABLE]


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
                        pooled[key].setdefault(_compared(row), (row["deviation"] ** 2, int(blocks.degrees(row["n"]))))
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


def _compared(row: Mapping) -> tuple:
    """Return a key for what a comparison compares: its metrics, its label and its cells."""
    cells = (row[column] for column in CELL_COLUMNS if isinstance(row[column], str))
    return (row["metric"], row["metric_b"], row["label"], *cells)


class Estimate(NamedTuple):
    """A measured difference on the scale of the test, with its standard error and degrees of freedom."""

    middle: float
    error: float
    degrees: int

    def interval(self, sure: float) -> tuple[float, float]:
        """Return the ends of an interval of the difference.

        It is above the lower end with a confidence of `sure`, and below the upper end with the same confidence.
        """
        half = special.stdtrit(self.degrees, sure) * self.error
        return self.middle - half, self.middle + half


class OtherMeasurements:
    """What other measurements of a study found of its differences."""

    def __init__(self, parts: Iterable[Part] = ()):
        self.estimates: dict[tuple, Estimate] = {}
        for part in parts:
            # A comparison with a printed value reports a difference of shares and tests a difference of log odds.
            if quantities.find(part.result["quantity"] or None).printed:
                continue
            known = [(_compared(row), row) for row in part.rows] + [((), part.average)] * bool(part.average)
            scale = part.rows[0]["scale"]
            own = {what: one for what, one in known if _has_differences(part, one) and _is_measured(one)}
            self.estimates |= {(part.name, what): _estimate(one, scale) for what, one in own.items()}

    def of(self, part: Part, row: Mapping | None, among: int = 1) -> tuple[float, float]:
        """Return the interval of a comparison of a part, or of its average (for None); NOWHERE if nothing is known.

        It is wider for the most extreme one `among` several, which is so far off partly by chance.
        """
        estimate = self.estimates.get((part.name, _compared(row) if row else ()))
        return estimate.interval(1 - (1 - SURE) / among) if estimate else NOWHERE


def _is_measured(row: Mapping) -> bool:
    return row["n"] >= blocks.SMALLEST and math.isfinite(row["effect"])


def _estimate(row: Mapping, scale: str) -> Estimate:
    middle = math.log1p(row["effect"]) if scale == RATIO else row["effect"]
    return Estimate(middle, row["deviation"] / math.sqrt(row["n"]), int(blocks.degrees(row["n"])))


class BlockNeeds(NamedTuple):
    """The blocks that claims need (`needs`), the names of claims that are `clear`, and of those whose needs are `unknown`."""

    needs: list[Need]
    clear: list[str]
    unknown: list[str]


def of_claims(
    parts: Mapping[str, Sequence[Part]],
    clear: Iterable[str],
    noise: Noise,
    alpha: float,
    elsewhere: OtherMeasurements | None = None,
) -> BlockNeeds:
    """Return what claims with these `parts` need. `clear` names the claims that need no more blocks."""
    asked, settled, known = BlockNeeds([], [], []), set(clear), elsewhere or OtherMeasurements()
    for name, own in parts.items():
        if name in settled:
            asked.clear.append(name)
        elif wanted := _blocks(own, noise, alpha, known):
            asked.needs.append(Need(name, wanted))
        else:
            asked.unknown.append(name)
    return asked


def _blocks(parts: Sequence[Part], noise: Noise, alpha: float, known: OtherMeasurements) -> dict[str, int]:
    """Return the blocks by cell that decide a claim; empty if that is not known.

    All parts must be shown, or one must be contradicted. If other measurements contradict a part, contradicting it is enough.
    The condition of a claim is decided in any case.
    """
    numbers = {part.name[1] for part in parts}
    against = {part.name: _opposed(part, noise, alpha / len(numbers), known) for part in parts}
    conditions = [part for part in parts if part.result.get("condition")]
    first = [against[part.name] or _supported(part, noise, alpha, blocks.POWER, known) for part in conditions]
    if not all(first):
        return {}
    for number in sorted(numbers):
        in_each_arrangement = [against[part.name] for part in parts if part.name[1] == number]
        if all(in_each_arrangement):
            return _merged([*first, *in_each_arrangement])
    # All must be shown with this power together, so each one needs more.
    power = blocks.POWER ** (1 / max(1, sum(part.number for part in parts)))
    chosen = [against[part.name] or _supported(part, noise, alpha, power, known) for part in parts]
    return _merged(chosen) if all(chosen) else {}


# Cells of a comparison, and the blocks that decide it.
Decides = tuple[set[str], int]


def _merged(chosen: Iterable[list[Decides]]) -> dict[str, int]:
    wanted: dict[str, int] = {}
    for cells, count in (one for each in chosen for one in each):
        wanted |= {cell: max(count, wanted.get(cell, 0)) for cell in cells}
    return wanted


def _supported(part: Part, noise: Noise, alpha: float, power: float, known: OtherMeasurements) -> list[Decides]:
    """Return the votes that support a part, as many as must be shown, or its average; empty if that is not known.

    All comparisons of a vote are shown with this power together. If u of m votes must be shown, the verdict multiplies
    their p-values by m - u + 1, and so the levels are divided by it.
    """
    counts, among = [], part.judged - part.number + 1
    for size, vote in _judged(part, noise, known):
        if len(vote) == size:
            each = [_until_clear(part, one, (alpha / among, CLEAR / among), power ** (1 / size)) for one in vote]
            counts.append((_cells(vote), max(each)))
    return _cheapest(counts, part.number)


def _until_clear(part: Part, one: "Comparison", levels: tuple[float, float], power: float) -> int:
    """Return the blocks to which a comparison is repeated next (`_looks`)."""
    for interval, level in _looks(one.row, one.interval, *levels):
        if (count := _to_support(part, one.row, one.noise, level, power, interval)) > one.row["n"]:
            break
    return count


def _looks(row: Mapping, interval: tuple[float, float], alpha: float, clear: float) -> list[tuple[tuple[float, float], float]]:
    """Return what a comparison is repeated for, step by step: (where its difference lies, level at which that is shown).

    First it gets the blocks that are enough if other measurements are right, and then those that make it `clear`. If it
    is not clear then, the other measurements were wrong about it, and its difference counts as unknown.
    """
    differs = interval != NOWHERE and row["expected"] not in verdicts.LIKENESS
    return [(interval, alpha), *([(interval, clear)] if differs else []), (NOWHERE, alpha)]


def _opposed(part: Part, noise: Noise, alpha: float, known: OtherMeasurements) -> list[Decides]:
    """Return the votes that contradict a part, if other measurements contradict it.

    If u of m votes must be shown, m - u + 1 of them contradict the part, each with a p that is u times its own. One
    of the k comparisons of a vote contradicts it, with a p that is k times its own. Empty if other measurements do not
    contradict the part, or if that many blocks are measured already.
    """
    counts = []
    for size, vote in _judged(part, noise, known, 1 if part.averaged else len(part.rows)):
        level = alpha / part.number / size
        distances = [(one, _against(part, one.row, one.interval)) for one in vote]
        each = [(one, blocks.sample_size(one.noise, distance, level)) for one, distance in distances if distance > 0]
        if more := [count for one, count in each if count > one.row["n"]]:
            counts.append((_cells(vote), min(more)))
    return _cheapest(counts, part.judged - part.number + 1)


def _cheapest(counts: list[Decides], number: int) -> list[Decides]:
    """Return the `number` votes that need the fewest blocks. Empty if there are fewer, or if one needs more than
    blocks.MOST."""
    chosen = sorted(counts, key=lambda one: one[1])[:number]
    return chosen if len(chosen) == number and chosen[-1][1] <= blocks.MOST else []


class Comparison(NamedTuple):
    """A comparison, or the average of several, with its cells, its noise, and its interval by other measurements."""

    row: Mapping
    cells: set[str]
    noise: float
    interval: tuple[float, float]


def _cells(vote: Sequence[Comparison]) -> set[str]:
    return set().union(*(one.cells for one in vote))


def _judged(part: Part, noise: Noise, known: OtherMeasurements, among: int = 1) -> list[tuple[int, list[Comparison]]]:
    """Return what is judged of a part: (number of a vote's comparisons, those that are tested and whose noise is known).

    If the average is judged, it is the only vote. It is not tested if one of its comparisons is not. The intervals are
    those for the most extreme one `among` several.
    """
    tested = [_has_differences(part, row) for row in part.rows]
    if part.averaged:
        return [(1, _known(_average(part, noise, known, among)))] if all(tested) else []
    cells = decision_cost.cells_of_row
    each = [Comparison(row, cells(row), noise.of(part, row), known.of(part, row, among)) for row in part.rows]
    return [(len(vote), _known(*(each[place] for place in vote if tested[place]))) for vote in part.votes]


def _average(part: Part, noise: Noise, known: OtherMeasurements, among: int) -> Comparison:
    row = {**part.rows[0], "n": min(row["n"] for row in part.rows)}
    cells = set(decision_cost.cells_of_rows(part.rows))
    return Comparison(row, cells, noise.of_average(part), known.of(part, None, among))


def _known(*vote: Comparison) -> list[Comparison]:
    return [one for one in vote if math.isfinite(one.noise)]


def _has_differences(part: Part, row: Mapping) -> bool:
    """Return whether a comparison is tested by differences within blocks. Trends, counts and runs at their limit are not."""
    return "along" not in part.result["asked"] and (math.isfinite(row["deviation"]) or row["n"] < blocks.SMALLEST)


def _to_support(part: Part, row: Mapping, spread: float, alpha: float, power: float, interval: tuple[float, float]) -> int:
    """Return the blocks that support a comparison whose difference lies in an interval, at the end that needs more blocks."""
    lower, upper = quantities.find(part.result["quantity"] or None).bounds(row["margin"])
    low, high = interval
    room, expected = min(abs(upper), abs(lower)), row["expected"]
    if expected not in verdicts.LIKENESS:
        found = low if expected == "higher" else -high
        return blocks.sample_size(spread, max(room, _of_paper(part.result, row), found), alpha, power=power)
    if expected == "no_difference":
        return blocks.sample_size(spread, room, alpha, alike=True, power=power)
    within = low - lower if expected == "not_lower" else upper - high
    return blocks.sample_size(spread, max(room, within), 2 * alpha, power=power)


def _against(part: Part, row: Mapping, interval: tuple[float, float]) -> float:
    """Return how far the interval of a difference lies on the side that contradicts what is expected; below 0 if it
    does not."""
    lower, upper = quantities.find(part.result["quantity"] or None).bounds(row["margin"])
    low, high = interval
    below, above = lower - high, low - upper
    return {
        **dict.fromkeys(("higher", "not_lower"), below),
        **dict.fromkeys(("lower", "not_higher"), above),
    }.get(row["expected"], max(below, above))


def _of_paper(part: dict, row: dict) -> float:
    """Return half of the size that the paper names, on the scale of the test; 0 if it names none."""
    named = part.get("paper_magnitude") or {}
    sizes = [abs(named[end]) for end in ("low", "high") if named.get(end)]
    size = OF_THE_PAPER * min(sizes, default=0.0)
    return math.log1p(size) if row["scale"] == RATIO else size


def clear(results: Iterable[dict]) -> list[str]:
    """Return the names of claims that are decided in all arrangements. Their results must have been judged at the level
    CLEAR."""
    return [result["id"] for result in results if result["verdict"] in verdicts.SETTLED and not _is_open_somewhere(result)]


def _is_open_somewhere(result: dict) -> bool:
    return any(
        one["verdict"] == verdicts.INCONCLUSIVE
        for part in (result, *result["parts"])
        for one in (part["arrangements"] or {}).values()
    )


def decided_counts(results: Iterable[dict]) -> tuple[int, int]:
    """Return the numbers of (decided, testable) claims, without those that have the comparisons of another one."""
    asked = (*verdicts.SETTLED, verdicts.INCONCLUSIVE)
    counted = [result["verdict"] for result in findings.without_repeats(list(results)) if result["verdict"] in asked]
    return sum(verdict in verdicts.SETTLED for verdict in counted), len(counted)

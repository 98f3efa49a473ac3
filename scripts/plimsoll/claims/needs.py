"""What the findings of a study need to be decided, from the noise that was measured and never from what it seems to show.

How many blocks a comparison is given follows from the spread of many comparisons of its metric together (`Noise`), from the
margin of its claim, from the size that the paper names, and from what other measurements found (`Elsewhere`). Its own mean has
no say, and its own spread has that of one comparison in a pool: so the usual tests of all blocks together keep their error
rates (docs/verdicts.md). Findings that are clear already, by a thousandth, get no more (Haybittle 1971, Peto and others 1976).
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
from plimsoll.claims import findings, quantities, verdicts
from plimsoll.claims.deciding import CELL_COLUMNS
from plimsoll.claims.quantities.base import RATIO
from plimsoll.interchange import Plan
from plimsoll.planning.allocation import Need

# What a comparison has in place of a cell where the other side is a number of the paper.
PAPER = "the paper"
# Level of what is clear after a first stage.
CLEAR = 0.001
# A paper's number is an estimate: half of it should be found.
OF_THE_PAPER = 0.5
# Fewer comparisons than these have no noise of their own: that of their metric counts. Of a metric of fewer than FEW it would
# be hardly more than a comparison's own.
ENOUGH, FEW = 8, 4
# How surely a difference is as large as other measurements say: it only sets how often it is repeated.
SURE = 0.8
# Where a difference may lie of which nothing is known.
NOWHERE = (-math.inf, math.inf)


class Part(NamedTuple):
    """What must come out for a finding: a part of it in one arrangement of what its paper leaves open, or all of it where there
    are no parts and no arrangements. Its `name` is (finding, number of the part, arrangement in words), `result` is what was
    found, and `rows` are its comparisons."""

    name: tuple[str, int, str]
    result: dict
    rows: list[dict]

    @property
    def metrics(self) -> int:
        """How many metrics are compared."""
        return len({row["metric"] for row in self.rows})

    @property
    def averaged(self) -> bool:
        """Whether the average of its comparisons is judged. An order has one for each entry, and each must come out."""
        return self.result["holds"] == verdicts.AVERAGE and "order" not in self.result["asked"]

    @property
    def average(self) -> dict | None:
        """What was found of the average, if there are enough blocks for it."""
        return self.result["whole"] if self.averaged else None

    @property
    def judged(self) -> int:
        """How many are judged: its comparisons, or their average."""
        return 1 if self.averaged else len(self.rows)

    @property
    def number(self) -> int:
        """How many of these must come out."""
        return {verdicts.MOST: self.judged // 2 + 1, verdicts.SOME: 1}.get(self.result["holds"], self.judged)


def parts_of(results: Iterable[dict], rows: pd.DataFrame) -> dict[str, list[Part]]:
    """The parts of each testable finding of `results`, by finding; `rows` are the comparisons."""
    by_claim = {name: own.to_dict("records") for name, own in rows.groupby("claim")}
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
    """Standard deviation of a difference within a block, on the scale of the test: pooled over all comparisons of a metric and
    a quantity between cells of the same two kinds, or over all of the metric where these are few. A cell's kind is what it is
    in the factors `kinds`, by which noise differs (plimsoll.design.Factors). `otherwise` is the noise of other measurements, of
    metrics of which few comparisons, or none, were measured in these."""

    def __init__(self, parts: Sequence[Part], plan: Plan, kinds: Sequence[str], otherwise: "Noise | None" = None):
        self.plan, self.kinds, self.otherwise = plan, kinds, otherwise
        pooled: dict[tuple, dict[tuple, tuple[float, int]]] = defaultdict(dict)
        for part in parts:
            for row in part.rows:
                if math.isfinite(row["deviation"]) and row["n"] >= blocks.SMALLEST:
                    for key in self._keys(part, row):
                        # Many findings are about the same comparison.
                        pooled[key].setdefault(_compared(row), (row["deviation"] ** 2, int(blocks.degrees(row["n"]))))
        self.pooled = {key: (math.sqrt(_pooled(found.values())), len(found)) for key, found in pooled.items()}
        self._common = _in_common(parts)

    def or_else(self, other: "Noise") -> "Noise":
        """The same, with the noise of other measurements where few comparisons of a metric, or none, were measured in these."""
        both = copy.copy(self)
        both.otherwise = other
        return both

    @property
    def common(self) -> float:
        """Correlation of two comparisons of the same metric within a block; 1 where nothing is known of it."""
        if self._common is not None:
            return self._common
        return self.otherwise.common if self.otherwise else 1.0

    def of(self, part: Part, row: Mapping) -> float:
        """That of a comparison of a part; NaN where nothing like it was measured."""
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
        """That of the average of a part's comparisons, of which those of the same metric have noise in common."""
        m, shared = len(part.rows), self.common / part.metrics
        return math.sqrt(float(np.mean([self.of(part, row) ** 2 for row in part.rows])) * (shared + (1 - shared) / m))

    def _keys(self, part: Part, row: Mapping) -> tuple[tuple, tuple]:
        """The finer group that a comparison belongs to, and the coarser. Two statistics of one cell differ by less than two
        cells: the label says so."""
        cells = (self.plan["cells"].get(row[side]) for side in ("cell_a", "cell_b"))
        kinds = frozenset(tuple(cell[factor] for factor in self.kinds) for cell in cells if cell)
        metric = (row["metric"], row["metric_b"], row["label"], part.result["quantity"] or "")
        return (*metric, kinds), metric


def _in_common(parts: Iterable[Part]) -> float | None:
    """Correlation of two comparisons of the same metric within a block, from the averages of many parts; None of few."""
    found = []
    for part in parts:
        m, metrics, average = len(part.rows), part.metrics, part.average
        single = [row["deviation"] ** 2 for row in part.rows if math.isfinite(row["deviation"])]
        if m > 1 and len(single) == m and average:
            share = average["deviation"] ** 2 / max(float(np.mean(single)), blocks.ROUNDING)
            found.append(metrics * (share - 1 / m) / (1 - 1 / m))
    return float(np.clip(np.mean(found), 0.0, 1.0)) if len(found) >= ENOUGH else None


def _pooled(variances: Iterable[tuple[float, int]]) -> float:
    """Mean of (variance, degrees of freedom), by these."""
    values, degrees = zip(*variances, strict=True)
    return float(np.average(values, weights=degrees))


def _compared(row: Mapping) -> tuple:
    """What a comparison compares."""
    cells = (row[column] for column in CELL_COLUMNS if isinstance(row[column], str))
    return (row["metric"], row["metric_b"], row["label"], *cells)


class Estimate(NamedTuple):
    """A difference that was measured, on the scale of the test, with its standard error and degrees of freedom."""

    middle: float
    error: float
    degrees: int

    def interval(self, sure: float) -> tuple[float, float]:
        """Where the difference lies: above the lower end with a confidence of `sure`, and below the upper with as much."""
        half = special.stdtrit(self.degrees, sure) * self.error
        return self.middle - half, self.middle + half


class Elsewhere:
    """What other measurements of a study found of its differences."""

    def __init__(self, parts: Iterable[Part] = ()):
        self.estimates: dict[tuple, Estimate] = {}
        for part in parts:
            # What is set against a printed value is told as a difference of shares, and tested as one of log odds.
            if quantities.find(part.result["quantity"] or None).printed:
                continue
            known = [(_compared(row), row) for row in part.rows] + [((), part.average)] * bool(part.average)
            scale = part.rows[0]["scale"]
            own = {what: one for what, one in known if _has_differences(part, one) and _is_measured(one)}
            self.estimates |= {(part.name, what): _estimate(one, scale) for what, one in own.items()}

    def of(self, part: Part, row: Mapping | None, among: int = 1) -> tuple[float, float]:
        """The interval of a comparison of a part, or of its average (None); NOWHERE where nothing is known. It is wider for the
        most telling one `among` several, which is as far off as it is by chance too."""
        estimate = self.estimates.get((part.name, _compared(row) if row else ()))
        return estimate.interval(1 - (1 - SURE) / among) if estimate else NOWHERE


def _is_measured(row: Mapping) -> bool:
    return row["n"] >= blocks.SMALLEST and math.isfinite(row["effect"])


def _estimate(row: Mapping, scale: str) -> Estimate:
    middle = math.log1p(row["effect"]) if scale == RATIO else row["effect"]
    return Estimate(middle, row["deviation"] / math.sqrt(row["n"]), int(blocks.degrees(row["n"])))


class Asked(NamedTuple):
    """What findings need (`needs`), which are `clear`, and of which it is not known what they need (`unknown`)."""

    needs: list[Need]
    clear: list[str]
    unknown: list[str]


def of(
    parts: Mapping[str, Sequence[Part]], clear: Iterable[str], noise: Noise, alpha: float, elsewhere: Elsewhere | None = None
) -> Asked:
    """What findings need that have these `parts`; `clear` names those that need no more."""
    asked, settled, known = Asked([], [], []), set(clear), elsewhere or Elsewhere()
    for name, own in parts.items():
        if name in settled:
            asked.clear.append(name)
        elif wanted := _blocks(own, noise, alpha, known):
            asked.needs.append(Need(name, wanted))
        else:
            asked.unknown.append(name)
    return asked


def _blocks(parts: Sequence[Part], noise: Noise, alpha: float, known: Elsewhere) -> dict[str, int]:
    """Blocks by cell that decide a finding; none if that is not known.

    All parts must come out, or one must be contradicted: where other measurements found one that is, that one is enough.
    """
    numbers = {part.name[1] for part in parts}
    against = {part.name: _opposed(part, noise, alpha / len(numbers), known) for part in parts}
    for number in sorted(numbers):
        in_each_arrangement = [against[part.name] for part in parts if part.name[1] == number]
        if all(in_each_arrangement):
            return _merged(in_each_arrangement)
    # Each gets what the power of all leaves to one.
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


def _supported(part: Part, noise: Noise, alpha: float, power: float, known: Elsewhere) -> list[Decides]:
    """What bears a part out: as many of its comparisons as must come out, or its average; none if that is not known."""
    counts = []
    for row, cells, spread, interval in _judged(part, noise, known):
        for one, level in _looks(row, interval, alpha):
            if (count := _to_support(part, row, spread, level, power, one)) > row["n"]:
                break
        counts.append((cells, count))
    return _cheapest(counts, part.number)


def _looks(row: Mapping, interval: tuple[float, float], alpha: float) -> list[tuple[tuple[float, float], float]]:
    """What a comparison is repeated for, one after the other: (where its difference lies, level at which it is shown).

    What has the blocks that other measurements make enough of gets those that make it clear. What is not clear then is not as
    it was elsewhere, and nothing is known of its difference.
    """
    differs = interval != NOWHERE and row["expected"] not in verdicts.LIKENESS
    return [(interval, alpha), *([(interval, CLEAR)] if differs else []), (NOWHERE, alpha)]


def _opposed(part: Part, noise: Noise, alpha: float, known: Elsewhere) -> list[Decides]:
    """What contradicts a part, if other measurements contradict it: of m comparisons of which u must come out m - u + 1, each
    with a p that is u times its own; none if they don't, or if as many blocks are there."""
    counts = []
    for row, cells, spread, interval in _judged(part, noise, known, part.judged):
        distance = _against(part, row, interval)
        count = blocks.needed(spread, distance, alpha / part.number) if distance > 0 else 0
        if count > row["n"]:
            counts.append((cells, count))
    return _cheapest(counts, part.judged - part.number + 1)


def _cheapest(counts: list[Decides], number: int) -> list[Decides]:
    """So many of them, those that take least; none if there are fewer, or if they take more than anybody makes."""
    chosen = sorted(counts, key=lambda one: one[1])[:number]
    return chosen if len(chosen) == number and chosen[-1][1] <= blocks.MOST else []


def _judged(
    part: Part, noise: Noise, known: Elsewhere, among: int = 1
) -> list[tuple[Mapping, set[str], float, tuple[float, float]]]:
    """What of a part is judged, its comparisons or their average: (comparison, cells, noise, interval elsewhere) of each whose
    noise is known; nothing of an average of which one comparison is not tested. The intervals are those of one `among` so many
    of which the most telling ones are chosen."""
    tested = [row for row in part.rows if _has_differences(part, row)]
    if not part.averaged:
        found = [(row, _cells(row), noise.of(part, row), known.of(part, row, among)) for row in tested]
    elif len(tested) == len(part.rows):
        row = {**part.rows[0], "n": min(row["n"] for row in part.rows)}
        found = [(row, set().union(*map(_cells, part.rows)), noise.of_average(part), known.of(part, None, among))]
    else:
        found = []
    return [one for one in found if math.isfinite(one[2])]


def _has_differences(part: Part, row: Mapping) -> bool:
    """Whether a comparison is tested by differences within blocks: a trend, counts and runs at their limit are not."""
    return "along" not in part.result["asked"] and (math.isfinite(row["deviation"]) or row["n"] < blocks.SMALLEST)


def _to_support(part: Part, row: Mapping, spread: float, alpha: float, power: float, interval: tuple[float, float]) -> int:
    """Blocks that bear a comparison out whose difference lies in an interval: at the end of it at which it takes more."""
    lower, upper = quantities.find(part.result["quantity"] or None).bounds(row["margin"])
    low, high = interval
    room, expected = min(upper, -lower), row["expected"]
    if expected not in verdicts.LIKENESS:
        found = low if expected == "higher" else -high
        return blocks.needed(spread, max(room, _of_paper(part.result, row), found), alpha, power=power)
    if expected == "no_difference":
        return blocks.needed(spread, room, alpha, alike=True, power=power)
    within = low - lower if expected == "not_lower" else upper - high
    return blocks.needed(spread, max(room, within), 2 * alpha, power=power)


def _against(part: Part, row: Mapping, interval: tuple[float, float]) -> float:
    """How far the interval of a difference lies on the side that contradicts what is expected; below 0 if it does not."""
    lower, upper = quantities.find(part.result["quantity"] or None).bounds(row["margin"])
    low, high = interval
    below, above = lower - high, low - upper
    return {
        **dict.fromkeys(("higher", "not_lower"), below),
        **dict.fromkeys(("lower", "not_higher"), above),
    }.get(row["expected"], max(below, above))


def _of_paper(part: dict, row: dict) -> float:
    """Half of the size that the paper names, on the scale of the test; 0 if it names none."""
    named = part.get("paper_magnitude") or {}
    sizes = [abs(named[end]) for end in ("low", "high") if named.get(end)]
    size = OF_THE_PAPER * min(sizes, default=0.0)
    return math.log1p(size) if row["scale"] == RATIO else size


def cells_of(rows: pd.DataFrame) -> list[str]:
    """Paths of all cells that comparisons are about, in order."""
    return cells_of_rows(rows[list(CELL_COLUMNS)].to_dict("records"))


def cells_of_rows(rows: Iterable[Mapping]) -> list[str]:
    """Return the paths of all cells that comparisons are about, in order."""
    return sorted(set().union(*map(_cells, rows)))


def _cells(row: Mapping) -> set[str]:
    return {row[column] for column in CELL_COLUMNS if isinstance(row.get(column), str)} - {PAPER}


def clear(results: Iterable[dict]) -> list[str]:
    """Findings that are settled in all arrangements, of results that were judged at the level CLEAR."""
    return [result["id"] for result in results if result["verdict"] in verdicts.SETTLED and not _is_open_somewhere(result)]


def _is_open_somewhere(result: dict) -> bool:
    return any(
        one["verdict"] == verdicts.INCONCLUSIVE
        for part in (result, *result["parts"])
        for one in (part["arrangements"] or {}).values()
    )


def decided(results: Iterable[dict]) -> tuple[int, int]:
    """(settled, testable) findings of results, without those that have another one's comparisons."""
    asked = (*verdicts.SETTLED, verdicts.INCONCLUSIVE)
    counted = [result["verdict"] for result in findings.counted(list(results)) if result["verdict"] in asked]
    return sum(verdict in verdicts.SETTLED for verdict in counted), len(counted)

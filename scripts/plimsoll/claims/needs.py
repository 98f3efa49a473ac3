"""What the findings of a study need to be decided, from the noise that was measured and never from what it seems to show.

How many blocks a comparison is given follows from the spread of many comparisons of its metric together (`Noise`), from the
margin of its claim, and from the size that the paper names. Neither its own mean nor, but for one part in many, its own spread
has a say: so the usual tests of all blocks together keep their error rates (docs/verdicts.md). Findings that are clear already,
by a thousandth, get no more (Haybittle 1971, Peto and others 1976).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from plimsoll.analysis import blocks
from plimsoll.claims import findings, quantities, verdicts
from plimsoll.claims.deciding import CELL_COLUMNS
from plimsoll.interchange import Plan
from plimsoll.planning import precision
from plimsoll.planning.allocation import Need

# What a comparison has in place of a cell where the other side is a number of the paper.
PAPER = "the paper"
# Level of what is clear after a first stage.
CLEAR = 0.001
# A paper's number is an estimate: half of it should be found.
OF_THE_PAPER = 0.5
# Fewer comparisons than these have no noise of their own: that of their metric counts.
ENOUGH = 8


class Noise:
    """Standard deviation of a difference within a block, on the scale of the test: pooled over all comparisons of a metric
    between the same two runtimes, or over those of the metric where these are few."""

    def __init__(self, rows: pd.DataFrame, plan: Plan):
        self.plan = plan
        pooled: dict[tuple, list[tuple[float, int]]] = defaultdict(list)
        usable = rows[rows["test"].isin(precision.WITHIN_BLOCKS) & rows["low"].notna() & (rows["n"] >= blocks.SMALLEST)]
        for row in usable.drop_duplicates(["metric", "metric_b", *CELL_COLUMNS, "scale"]).to_dict("records"):
            variance, degrees = deviation(row) ** 2, int(row["n"]) - 1
            for key in self._keys(row):
                pooled[key].append((variance, degrees))
        self.pooled = {key: (math.sqrt(_pooled(found)), len(found)) for key, found in pooled.items()}

    def of(self, row: Mapping) -> float:
        """That of a comparison; NaN where nothing like it was measured."""
        for key in self._keys(row):
            value, number = self.pooled.get(key, (math.nan, 0))
            if number >= ENOUGH:
                return value
        return next((self.pooled[key][0] for key in self._keys(row) if key in self.pooled), math.nan)

    def in_common(self, parts: Iterable["Part"]) -> float:
        """Correlation of two comparisons of the same metric within a block, from the averages of parts of many findings; 1 of
        few, where nothing is known of it."""
        found = []
        for part in parts:
            m, metrics, average = len(part.rows), part.metrics, part.average
            single = [deviation(row) ** 2 for row in part.rows if math.isfinite(row["low"])]
            if m > 1 and len(single) == m and average and math.isfinite(average.get("low") or math.nan):
                share = deviation(average) ** 2 / float(np.mean(single))
                found.append(metrics * (share - 1 / m) / (1 - 1 / m))
        return float(np.clip(np.mean(found), 0.0, 1.0)) if len(found) >= ENOUGH else 1.0

    def of_average(self, part: "Part", common: float) -> float:
        """Standard deviation of the average of a part's comparisons, of which those of the same metric have noise in `common`
        (`in_common`)."""
        m, shared = len(part.rows), common / part.metrics
        return math.sqrt(float(np.mean([self.of(row) ** 2 for row in part.rows])) * (shared + (1 - shared) / m))

    def _keys(self, row: Mapping) -> tuple[tuple, tuple]:
        """The finer group that a comparison belongs to, and the coarser."""
        runtimes = {
            self.plan["cells"][row[side]]["runtime"] for side in ("cell_a", "cell_b") if row[side] in self.plan["cells"]
        }
        metric = (row["metric"], row["metric_b"], row["scale"])
        return (*metric, frozenset(runtimes)), metric


def _pooled(variances: list[tuple[float, int]]) -> float:
    """Mean of (variance, degrees of freedom), by these."""
    return float(np.average([value for value, _ in variances], weights=[degrees for _, degrees in variances]))


def deviation(row: Mapping) -> float:
    """Standard deviation of the differences of a comparison, from its 95 % interval."""
    low, high = (math.log1p(row[end]) if row["scale"] == "ratio" else row[end] for end in ("low", "high"))
    return (high - low) / 2 / special.stdtrit(row["n"] - 1, 0.975) * math.sqrt(row["n"])


class Asked(NamedTuple):
    """What findings need (`needs`), which are `clear`, and of which it is not known what they need (`unknown`)."""

    needs: list[Need]
    clear: list[str]
    unknown: list[str]


class Part(NamedTuple):
    """A part of a finding that can be tested, or a finding that has no parts: its result and its comparisons."""

    result: dict
    rows: list[dict]

    @property
    def metrics(self) -> int:
        """How many metrics are compared."""
        return len({row["metric"] for row in self.rows})

    @property
    def average(self) -> dict | None:
        """What was found of the average, if it is judged by that."""
        whole = self.result["whole"]
        return {**whole, "scale": self.rows[0]["scale"]} if self.result["holds"] == verdicts.AVERAGE and whole else None


def of(results: Iterable[dict], clear: Iterable[str], rows: pd.DataFrame, plan: Plan, alpha: float) -> Asked:
    """What the testable findings of `results` need; `clear` names those that need no more, `rows` are the comparisons."""
    noise, settled = Noise(rows, plan), set(clear)
    by_claim = {name: own.to_dict("records") for name, own in rows.groupby("claim")}
    testable = [one for one in results if one["verdict"] != verdicts.NOT_TESTABLE and one["id"] in by_claim]
    parts = {one["id"]: _parts(one, by_claim[one["id"]]) for one in testable}
    common = noise.in_common(part for each in parts.values() for part in each)
    asked = Asked([], [], [])
    for name, own in parts.items():
        if name in settled:
            asked.clear.append(name)
        elif wanted := _blocks(own, noise, common, alpha):
            asked.needs.append(Need(name, wanted))
        else:
            asked.unknown.append(name)
    return asked


def _parts(result: dict, rows: list[dict]) -> list[Part]:
    of_result = result["parts"] or [result]
    parts = [
        Part(part, [row for row in rows if row["part"] == number or len(of_result) == 1])
        for number, part in enumerate(of_result, start=1)
    ]
    return [part for part in parts if part.rows and part.result["verdict"] != verdicts.NOT_TESTABLE]


def _blocks(parts: list[Part], noise: Noise, common: float, alpha: float) -> dict[str, int]:
    """Blocks by cell that all parts of a finding take; none if that is not known of one of them."""
    wanted: dict[str, int] = {}
    for part in parts:
        if not (chosen := _of_part(part, noise, common, alpha)):
            return {}
        for cells, count in chosen:
            wanted |= {cell: max(count, wanted.get(cell, 0)) for cell in cells}
    return wanted


def _of_part(part: Part, noise: Noise, common: float, alpha: float) -> list[tuple[set[str], int]]:
    """(cells, blocks) of each comparison that must come out; none if that is not known."""
    holds, m = part.result["holds"], len(part.rows)
    if average := part.average:
        spread = noise.of_average(part, common)
        count = _of_row(part.result, {**part.rows[0], "expected": average["expected"]}, spread, alpha, blocks.POWER)
        return [] if count is None else [(set().union(*map(_cells, part.rows)), count)]
    number = {verdicts.MOST: m // 2 + 1, verdicts.SOME: 1}.get(holds, m)
    # All of them must come out: each with what the power of all leaves to one.
    power = blocks.POWER ** (1 / number)
    counts = [(_cells(row), _of_row(part.result, row, noise.of(row), alpha, power)) for row in part.rows]
    known = sorted(((cells, count) for cells, count in counts if count is not None), key=lambda pair: pair[1])
    return known[:number] if len(known) >= number else []


def _of_row(part: dict, row: dict, spread: float, alpha: float, power: float) -> int | None:
    if row["test"] not in precision.WITHIN_BLOCKS or not math.isfinite(spread):
        return None
    bounds = quantities.find(part["quantity"] or None).bounds(row["margin"])
    room = min(bounds.upper, -bounds.lower)
    if row["expected"] == "no_difference":
        count = blocks.needed(spread, room, alpha, alike=True, power=power)
    elif row["expected"] in verdicts.LIKENESS:
        count = blocks.needed(spread, room, 2 * alpha, power=power)
    else:
        count = blocks.needed(spread, max(room, _of_paper(part, row)), alpha, power=power)
    return None if count > blocks.MOST else count


def _of_paper(part: dict, row: dict) -> float:
    """Half of the size that the paper names, on the scale of the test; 0 if it names none."""
    named = part.get("paper_magnitude") or {}
    sizes = [abs(named[end]) for end in ("low", "high") if named.get(end)]
    size = OF_THE_PAPER * min(sizes, default=0.0)
    return math.log1p(size) if row["scale"] == "ratio" else size


def cells_of(rows: pd.DataFrame) -> list[str]:
    """Paths of all cells that comparisons are about, in order."""
    return sorted(set().union(*(_cells(row) for row in rows[list(CELL_COLUMNS)].to_dict("records"))))


def _cells(row: Mapping) -> set[str]:
    return {row[column] for column in CELL_COLUMNS if isinstance(row.get(column), str)} - {PAPER}


def clear(results: Iterable[dict]) -> list[str]:
    """Findings that are settled, of results that were judged at the level CLEAR."""
    return [result["id"] for result in results if result["verdict"] in verdicts.SETTLED]


def decided(results: Iterable[dict]) -> tuple[int, int]:
    """(settled, testable) findings of results, without those that have another one's comparisons."""
    asked = (*verdicts.SETTLED, verdicts.INCONCLUSIVE)
    counted = [result["verdict"] for result in findings.counted(list(results)) if result["verdict"] in asked]
    return sum(verdict in verdicts.SETTLED for verdict in counted), len(counted)

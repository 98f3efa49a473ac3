"""Blocks that are needed to decide the claims of a study. They follow from measured noise and never from measured effects.

The number of blocks of a comparison follows from the spread of many comparisons of its metric together (`Noise`) and
from the margin of its claim. The size that the paper names and what other measurements found (`OtherMeasurements`) also count.
A comparison's own mean has no influence, and its own spread counts as that of one comparison in a pool. The usual tests
of all blocks together therefore keep their error rates (docs/reports/verdicts.md). Claims that are clear already, at a level of
a thousandth, get no more blocks (Haybittle 1971, Peto and others 1976).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from plimsoll.analysis import sample_sizes
from plimsoll.claims import decision_cost, quantities, result_counts, verdicts
from plimsoll.claims.quantities.base import RATIO
from plimsoll.features.time_budget.allocation import Need
from plimsoll.features.time_budget.claim_parts import Part
from plimsoll.features.time_budget.metric_noise import Noise
from plimsoll.features.time_budget.other_measurements import NOWHERE, OtherMeasurements, has_differences

# Level at which a claim is clear after a first stage.
CLEAR = 0.001
# A paper's number is an estimate, so half of it should be found.
OF_THE_PAPER = 0.5


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
    asked, decided, known = BlockNeeds([], [], []), set(clear), elsewhere or OtherMeasurements()
    for name, own in parts.items():
        if name in decided:
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
    first = [against[part.name] or _supported(part, noise, alpha, sample_sizes.POWER, known) for part in conditions]
    if not all(first):
        return {}
    for number in sorted(numbers):
        in_each_arrangement = [against[part.name] for part in parts if part.name[1] == number]
        if all(in_each_arrangement):
            return _merged([*first, *in_each_arrangement])
    # All must be shown with this power together, so each one needs more.
    power = sample_sizes.POWER ** (1 / max(1, sum(part.number for part in parts)))
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
        each = [(one, sample_sizes.sample_size(one.noise, distance, level)) for one, distance in distances if distance > 0]
        if more := [count for one, count in each if count > one.row["n"]]:
            counts.append((_cells(vote), min(more)))
    return _cheapest(counts, part.judged - part.number + 1)


def _cheapest(counts: list[Decides], number: int) -> list[Decides]:
    """Return the `number` votes that need the fewest blocks. Empty if there are fewer, or if one needs more than
    sample_sizes.MOST."""
    chosen = sorted(counts, key=lambda one: one[1])[:number]
    return chosen if len(chosen) == number and chosen[-1][1] <= sample_sizes.MOST else []


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
    tested = [has_differences(part, row) for row in part.rows]
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


def _to_support(part: Part, row: Mapping, spread: float, alpha: float, power: float, interval: tuple[float, float]) -> int:
    """Return the blocks that support a comparison whose difference lies in an interval, at the end that needs more blocks."""
    lower, upper = quantities.find(part.result["quantity"] or None).bounds(row["margin"])
    low, high = interval
    room, expected = min(abs(upper), abs(lower)), row["expected"]
    if expected not in verdicts.LIKENESS:
        found = low if expected == "higher" else -high
        return sample_sizes.sample_size(spread, max(room, _of_paper(part.result, row), found), alpha, power=power)
    if expected == "no_difference":
        return sample_sizes.sample_size(spread, room, alpha, alike=True, power=power)
    within = low - lower if expected == "not_lower" else upper - high
    return sample_sizes.sample_size(spread, max(room, within), 2 * alpha, power=power)


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
    return [result["id"] for result in results if result["verdict"] in verdicts.DECIDED and not _is_open_somewhere(result)]


def _is_open_somewhere(result: dict) -> bool:
    return any(
        one["verdict"] == verdicts.INCONCLUSIVE
        for part in (result, *result["parts"])
        for one in (part["arrangements"] or {}).values()
    )


def decided_counts(results: Iterable[dict]) -> tuple[int, int]:
    """Return the numbers of (decided, testable) claims, without those that have the comparisons of another one."""
    asked = (*verdicts.DECIDED, verdicts.INCONCLUSIVE)
    counted = [result["verdict"] for result in result_counts.without_repeats(list(results)) if result["verdict"] in asked]
    return sum(verdict in verdicts.DECIDED for verdict in counted), len(counted)

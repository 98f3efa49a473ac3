"""From claims and observations to verdicts, with everything that a reader needs to doubt them."""

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

import pandas as pd
from scipy import stats

from plimsoll.claims import book, compare, decision_cost, findings, judging, quantities, result_counts, verdicts
from plimsoll.claims.judging import Levels
from plimsoll.claims.sides import Contrast, Side
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.errors import Unavailable
from plimsoll.interchange import Plan
from plimsoll.planning import availability

# What a comparison is expected to show after its sides are exchanged.
MIRRORED = {"higher": "lower", "lower": "higher", "not_lower": "not_higher", "not_higher": "not_lower"}
NO_CELLS = "the design has no two cells on this host that it compares"
# In words: a condition that is shown, so that its claim is tested; one that more runs may show.
SHOWN = (verdicts.REPRODUCED, f"{verdicts.REPRODUCED}, {verdicts.AS_LARGE}")
OPEN = (verdicts.INCONCLUSIVE, f"{verdicts.REPRODUCED}, {verdicts.UNCLEAR}")
# For each arrangement in words, a function from a claim to its contrasts.
Finders = Mapping[str, Callable[[dict], list]]


def evaluate(
    claims: list[dict], observations: StudyObservations, alpha: float, level: float | None = None
) -> tuple[list[dict], pd.DataFrame]:
    """Return (verdicts, comparisons): one dictionary per claim, in order, and one row per comparison that was made.

    Each claim is judged at `level`. It is `alpha` unless the claim was judged before. There are no bootstrap intervals
    if `observations` is brief.
    """
    finders = contrast_finders(observations.plan, observations.study)
    results, rows = [], []
    for claim in claims:
        result, compared = one(claim, observations, finders, level or alpha)
        result["decide"] = decision_cost.estimate(result, compared, observations)
        results.append(result)
        rows += [{"claim": claim["id"], **row} for row in compared]
    _count_once(results, rows)
    discover(results, alpha, level)
    table = pd.DataFrame(rows, columns=list(compare.COLUMNS))
    return results, table if observations.brief else compare.with_bootstrap(table, observations)


def contrast_finders(plan: Plan, study: dict) -> Finders:
    """Return the design's function from a claim to its contrasts, for each arrangement of what the paper leaves open."""
    contrasts = study.design.contrasts
    return {words: contrasts.comparison_finder(arranged, study) for words, arranged in contrasts.arrangements(plan).items()}


def _count_once(results: list[dict], rows: list[dict]) -> None:
    """Note in `counted_in` which other claim has the same comparisons and the same verdict, so that both count once.

    It is noted for claims that were transferred to another setting, or that are decided in part because a part is not
    testable. The other claim was not transferred. For a claim that is decided in part, the other one is decided as a
    whole.
    """
    compared: dict[str, set] = {}
    for row in rows:
        compared.setdefault(row["claim"], set()).add(_said(row))
    own = [result for result in results if result["comparisons"] and not result["transferred"] and not result["same_as"]]
    whole = [result for result in own if not result["in_part"]]
    for result in results:
        lacks = any(part["verdict"] == verdicts.NOT_TESTABLE for part in result["parts"])
        if result["transferred"] or (result["in_part"] and lacks):
            others = own if result["transferred"] else whole
            alike = (other["id"] for other in others if other["verdict"] == result["verdict"])
            result["counted_in"] = next((name for name in alike if compared[result["id"]] <= compared[name]), None)


def _said(row: Mapping) -> tuple:
    """Return a key for what a comparison is expected to show. It is the same for a comparison and its mirror image."""
    one, expected = (row["metric"], row["cell_a"]), row["expected"]
    other = row.get("metric_b", row["metric"]), row.get("cell_b", row["cell_a"])
    return (one, other, expected) if one <= other else (other, one, MIRRORED.get(expected, expected))


def discover(results: list[dict], alpha: float, level: float | None = None) -> None:
    """Note the `q` of each counted claim that was tested, and whether a decided one is `robust` to the number of claims.

    If claims were judged at a lower `level`, p is scaled as if that level were `alpha`.

    q is the smallest share of wrong decisions, among the decided claims of the study, at which the claim would be
    decided (Benjamini and Hochberg 1995; for directions too: Benjamini and Yekutieli 2005).
    """
    tested = [result for result in result_counts.without_repeats(results) if result["p"] is not None]
    p = [min(1.0, result["p"] * alpha / (level or alpha)) for result in tested]
    adjusted = stats.false_discovery_control(p) if tested else []
    for result, q in zip(tested, adjusted, strict=True):
        result["q"] = float(q)
        result["robust"] = bool(q < alpha) if result["verdict"] in verdicts.DECIDED else None


def one(claim: dict, observations: StudyObservations, finders: Finders, alpha: float) -> tuple[dict, list[dict]]:
    """Return the result of a claim, part by part if it has parts, and its comparisons.

    `finders` gives the design's contrasts of a claim for each arrangement of what the paper leaves open. If a claim
    cannot be tested here, its condition is not tested either.
    """
    judged = _sentence(claim, observations, finders, alpha)
    condition = book.condition_of(claim)
    if condition is None or judged[0]["verdict"] == verdicts.NOT_TESTABLE:
        return judged
    found, _ = _part(condition, observations, finders, Levels(alpha, alpha))
    standing = _standing(found, "magnitude" in condition)
    if standing in SHOWN:
        return judged
    reason = f"it is tested only if {condition['says']}; here that is {standing}"
    if standing not in OPEN:
        return findings.empty_result(claim, verdicts.NOT_TESTABLE, reason), []
    result, rows = _sentence(book.with_condition_as_part(claim), observations, finders, alpha)
    return findings.of_open_condition(result, reason), rows


def _standing(condition: dict, sized: bool) -> str:
    """Return in words how a condition stands, from its result. Its size counts if the paper prints one (`sized`)."""
    if condition["verdict"] == verdicts.NOT_TESTABLE:
        return f"not testable ({condition['reason']})"
    if sized and condition["verdict"] == verdicts.REPRODUCED:
        return f"{verdicts.REPRODUCED}, {condition['size'] or verdicts.UNCLEAR}"
    return condition["verdict"]


def _sentence(claim: dict, observations: StudyObservations, finders: Finders, alpha: float) -> tuple[dict, list[dict]]:
    """Return the result of a claim and its comparisons, whatever its condition is."""
    parts = book.parts_of(claim) or [claim]
    judged = [_part(part, observations, finders, levels) for part, levels in zip(parts, _levels(parts, alpha), strict=True)]
    rows = [{**row, "part": number} for number, (_, compared) in enumerate(judged, 1) for row in compared]
    results = [result for result, _ in judged]
    result = findings.of_parts(claim, results, rows, alpha) if "parts" in claim else results[0]
    evidence = list(result.pop("evidence", {}).values())
    # Counts have no p: their evidence is certain.
    result["p"] = (verdicts.p_of(evidence, alpha) or None) if any(evidence) else None
    return result, rows


def _levels(parts: list[dict], alpha: float) -> list[Levels]:
    """Return the levels of each part.

    A contradicted main part contradicts the sentence, so each main part has its share of alpha. An aside contradicts
    only itself.
    """
    shared = alpha / max(1, len(book.main(parts)))
    return [Levels(alpha, alpha if part.get("aside") else shared) for part in parts]


def _part(claim: dict, observations: StudyObservations, finders: Finders, levels: Levels) -> tuple[dict, list[dict]]:
    if unavailable := _unavailable(claim, observations):
        return findings.empty_result(claim, verdicts.NOT_TESTABLE, unavailable.reason), []
    compared = {words: _asked(claim, ask) for words, ask in finders.items()}
    # An arrangement in which no cell of a claim is planned says nothing about the claim.
    compared = {words: one for words, one in compared.items() if one[0]} or compared
    # Arrangements that do not change what is compared are tested once.
    different: dict[tuple, str] = {}
    for words, (contrasts, _) in compared.items():
        different.setdefault(tuple(map(_key, contrasts)), words)
    broken = {words: reason for words in different.values() if (reason := unfit(compared[words][0], observations))}
    broken = {} if len(different) == 1 else broken
    judged = {
        words: _arranged(claim, observations, finders[words], compared[words], levels)
        for words in different.values()
        if words not in broken
    }
    if not judged:
        return findings.empty_result(claim, verdicts.NOT_TESTABLE, "; ".join(dict.fromkeys(broken.values()))), []
    if len(different) > 1:
        return findings.of_arrangements(judged, broken, levels)
    ((result, rows),) = judged.values()
    return {**result, "evidence": {"": result.get("evidence")}}, rows


def unfit(contrasts: Iterable[Contrast | list[Side]], observations: StudyObservations) -> str:
    """Return in words why an arrangement does not fit some contrasts: it changes what one of their cells is. Empty if
    it fits."""
    cells = {path for one in contrasts for side in (one if isinstance(one, list) else [one]) for path in side.cells}
    reason_of = observations.study.design.contrasts.unfit
    known = (observations.plan["cells"][path] for path in sorted(cells) if path in observations.plan["cells"])
    return next(filter(None, map(reason_of, known)), "")


def _key(asked: Contrast | list[Side]) -> tuple:
    """Return what is compared as a key for a dictionary: a contrast, or the sides along a trend."""
    return tuple(asked) if isinstance(asked, list) else asked


def _arranged(
    claim: dict, observations: StudyObservations, asked: Callable[[dict], list], compared: tuple[list, dict], levels: Levels
) -> tuple[dict, list[dict]]:
    result, rows = _tested(claim, observations, *compared, levels)
    if not rows and (moved := observations.study.design.contrasts.transferred_claim(claim)):
        result, rows = _tested(moved, observations, *_asked(moved, asked), levels)
        result["transferred"] = bool(rows)
    return result, rows


def _asked(claim: dict, asked: Callable[[dict], list]) -> tuple[list, dict]:
    """Return what a claim compares. For an order, also return the number of the pair of entries that each comparison is of.

    In an order each entry is compared with the next one.
    """
    if "order" not in claim:
        return asked(claim), {}
    pairs = enumerate(pairwise(claim["order"]))
    part_of = {one: number for number, (a, b) in pairs for one in asked({**claim, "a": a, "b": b})}
    return list(part_of), part_of


def _unavailable(claim: dict, observations: StudyObservations) -> Unavailable | None:
    """Return why a claim cannot be tested, whatever is measured of it; None if it can."""
    if "untestable" in claim:
        return Unavailable(claim["untestable"])
    quantity = quantities.find(claim.get("quantity"))
    if "expected" not in claim and quantity.says_sides and not quantity.one_side and "along" not in claim:
        return Unavailable("it does not say which side is higher")
    unmet = (observations.unmet_needs[need] for need in claim["needs"] if need in observations.unmet_needs)
    if needs := [Unavailable(f"it needs {what}") for what in unmet]:
        return availability.join(needs)
    periodic = claim.get("along", {}).get("direction") == "periodic"
    return Unavailable("Plimsoll has no test for a trend that is periodic") if periodic else None


def _tested(claim: dict, observations: StudyObservations, asked: list, pairs: dict, levels: Levels) -> tuple[dict, list[dict]]:
    """Return the result of a claim whose needs are met, and its comparisons."""
    trend = "along" in claim
    unavailable = [observations.unavailable(one) for one in asked]
    possible = [one for one, reason in zip(asked, unavailable, strict=True) if reason is None]
    if trend and possible and max(len(sides) for sides in possible) < 3:
        most = max(len(sides) for sides in possible)
        reason = f"a trend needs three levels of {claim['along']['factor']}, and {most} can be measured here"
        return findings.empty_result(claim, verdicts.NOT_TESTABLE, reason), []
    if not possible:
        reason = availability.join(sorted(filter(None, unavailable), key=str)).reason or NO_CELLS
        return findings.empty_result(claim, verdicts.NOT_TESTABLE, reason), []
    quantity = quantities.find(claim.get("quantity"))
    if trend:
        rows = [compare.of_levels(claim, observations, sides) for sides in possible if len(sides) > 2]
    else:
        rows = quantity.rows(
            claim, observations, possible, lambda one: compare.begun(claim, observations, one), levels.supports
        )
    for row in rows:
        row["scale"] = quantity.scale
    if pairs:
        for row, one in zip(rows, possible, strict=True):
            row["pair"] = pairs[one]
    judged = judging.judge(claim, quantity, rows, levels)
    cells = {path for one in possible for side in (one if isinstance(one, list) else [one]) for path in side.cells}
    known = {"substitutes": _substitutes(observations.plan, cells), "unwatched": len(cells & observations.unwatched)}
    summary = {**findings.summary(rows, len(asked) - len(possible)), **known}
    result = {**findings.empty_result(claim, judged["verdict"], ""), **summary, **judged}
    result["asked"]["holds"] = judged["holds"]
    return result, rows


def _substitutes(plan: Plan, cells: set[str]) -> list[str]:
    """Return the names of what stands in for a program of the paper in the cells that were compared."""
    return sorted({name for path in cells for name in plan["cells"][path].get("substitutes", {}).values()})

"""What the ratios of a study's answer need to be decided."""

import math
from collections.abc import Iterable, Mapping

from plimsoll.claims import answer, compare, decision_cost, verdicts
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.features.time_budget import metric_noise, needs, other_measurements
from plimsoll.features.time_budget.allocation import Need
from plimsoll.features.time_budget.needs import Part


def parts(observations: StudyObservations, alpha: float) -> dict[str, Part]:
    """Return the ratios that can be measured here, by name, each as the only part of a claim that there is no loss.

    They are in the order in which they are wanted. `p` of a part's result is the smaller of two p-values: for a
    difference beyond MARGIN, and for no loss of more than MARGIN.
    """
    return {name: _part(name, rows, whole) for name, (rows, whole) in answer.measurable_ratios(observations, alpha).items()}


def _part(name: str, rows: list[dict], whole: dict | None) -> Part:
    """Return a ratio as the only part of an inconclusive claim that has no arrangements."""
    result = {"id": name, "quantity": None, "asked": {}, "verdict": verdicts.INCONCLUSIVE, "whole": whole, "p": 1.0}
    result["holds"] = verdicts.AVERAGE if len(rows) > 1 else verdicts.EACH
    if whole and "shown" in whole:
        result["p"] = min(answer.p_values(whole))
    of_table = [{**dict.fromkeys(compare.COLUMNS, math.nan), **row} for row in rows]
    return Part((name, 1, ""), result, of_table)


def wanted(
    ratios: Mapping[str, Part],
    noise: metric_noise.Noise,
    alpha: float,
    least: int,
    elsewhere: other_measurements.OtherMeasurements | None = None,
) -> list[Need]:
    """Return the blocks that decide for each of the ratios (`parts`) whether it is a loss of MARGIN, in the order of
    the ratios.

    p is adjusted for the number of ratios. Each ratio gets at least `least` blocks. It gets exactly these if it is
    clear already, or if the number that it needs is not known.
    """
    number = max(1, len(ratios))
    clear = [name for name, part in ratios.items() if number * part.result["p"] < needs.CLEAR]
    asked = needs.of_claims({name: [part] for name, part in ratios.items()}, clear, noise, alpha / number, elsewhere)
    known = {need.finding: need for need in asked.needs}
    return [known.get(name, need).at_least(least) for name, need in zip(ratios, first(ratios.values(), least), strict=True)]


def first(ratios: Iterable[Part], least: int) -> list[Need]:
    """Return what ratios need for a first answer: `least` blocks of each of their cells."""
    return [Need(part.name[0], dict.fromkeys(decision_cost.cells_of_rows(part.rows), least)) for part in ratios]

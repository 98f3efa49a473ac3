"""Measure a study within a time budget: a first stage, and a second stage that spends the rest on the study's answer
and claims.

The first stage has three to five blocks of everything. If the time is too short for three, the ratios of the study's
answer come first, in their order. Then come the claims that the study's reference measurements would decide soonest,
with fewer blocks of everything if these leave time for it. The second stage is fixed when the first has ended
(plimsoll.features.time_budget.needs says from what).
"""

import math
import time
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from plimsoll import rounds
from plimsoll.analysis.sample_sizes import POWER
from plimsoll.claims import decision_cost, result_counts, verdicts
from plimsoll.config import configuration
from plimsoll.config.studies import Study
from plimsoll.errors import PlimsollError, hours_in_words, many
from plimsoll.features.time_budget import answer_needs, costs, needs, study_state
from plimsoll.features.time_budget.allocation import LEAST, Costs, Need, allocate, in_order
from plimsoll.features.time_budget.study_state import StudyState
from plimsoll.interchange import Plan
from plimsoll.measuring import plan_file
from plimsoll.planning import forecasts, repetitions, timetable
from plimsoll.workflow import prepare

# Stages in which a killed workflow can be.
UNFINISHED = ("first", "second")
# Blocks of everything in a first stage, with the largest share of the time that they may take. Beyond that share, time
# is better spent by the second stage. With fewer than three blocks nothing is tested, so three blocks may take more. So
# may fewer blocks besides the answer.
FIRST_SHARE, SHORT_SHARE = 0.55, 0.75
FIRST_BLOCKS = {5: FIRST_SHARE, 4: FIRST_SHARE, 3: SHORT_SHARE}
# If the time is too short for these, fewer blocks of everything are measured: for figures, and for claims about which
# other measurements are wrong. They may cost a tenth of the claims that could be decided.
FEWER_BLOCKS, MOST_OF = (2, 1, 0), 0.9
# Most blocks of a cell that no testable claim is about: it is only for figures and tables.
FOR_FIGURES = 3
# Share of the time that is for measuring. Figures and pages are made afterwards, and some runs are repeated.
FOR_MEASURING = timetable.MEASURED
# Share of the time in which the answer precedes the claims. Time that one of them does not need goes to the other.
FOR_ANSWER = 0.5
# A stage that ends early by at least this share of its time says so.
EARLY = 0.1
# Recommended times are multiples of this many hours.
ROUNDED = 0.05


class Until(NamedTuple):
    """The moment (seconds since 1970) at which measuring should end, and the `minutes` in all that the user has given."""

    moment: float
    minutes: float


def spend(study: str, hours: float, settings: list[str], until: Until | None = None) -> None:
    """Measure a study until it was measured for `hours` in all, and save a forecast of what more time would decide.

    If it was measured that long before, do nothing. With `until` the second stage ends then, so that the time in all is
    kept although the first stage, or an image, took other times than foretold. Raise PlimsollError if the workflow
    fails, or if the time is too short for anything.
    """
    config = configuration.read(settings)
    prepared = prepare({**config, "studies": [study]})
    loaded, plan = prepared.studies[study], prepared.plans[study]
    folder, profile = Path("results") / study, config["profile"]
    noted, resumed = repetitions.read_request(folder, profile).hours or {}, False
    if noted.get("stage") not in UNFINISHED:
        spent = sum(noted.get("given", []))
        if hours <= spent:
            return
        minutes = {"minutes": noted["minutes"]} if "minutes" in noted else {}
        noted = {"stage": "first", "given": [*noted.get("given", []), hours - spent], "before": _seconds(folder, plan)}
        noted |= {"minutes": until.minutes} if until else minutes
        _ask(folder, profile, plan, _begun(loaded, plan, (hours - spent) * 3600, folder), noted)
    else:
        # What was killed goes on in the time that it was given. More time is spent after that.
        resumed, until = True, None
    judged, other = None, study_state.reference(loaded, plan, folder)
    if noted["stage"] == "first":
        _snakemake(folder, settings)
        judged = study_state.judge(folder, loaded)
        if until:
            noted["given"][-1] = _given_until(until.moment, judged, noted["before"])
        blocks, ratios, chosen = second_stage(judged, other, noted["given"][-1], noted["before"])
        if chosen or ratios:
            _foretell(folder, judged, other, _spent(judged, noted), sum(noted["given"]))
            print(f"plimsoll: {study}: {_said(judged)}; the rest is for {_of_both(ratios, chosen)}.", flush=True)
        if early := _early(judged, blocks, noted["given"][-1], noted["before"]):
            print(f"plimsoll: {study}: {early}", flush=True)
        noted |= {"stage": "second", "chosen": chosen, "ratios": len(ratios)}
        _ask(folder, profile, judged.plan, blocks, noted)
    if noted["chosen"] or noted.get("ratios"):
        _snakemake(folder, settings)
        judged = None
    judged = judged or study_state.judge(folder, loaded)
    _foretell(folder, judged, other, sum(noted["given"]), sum(noted["given"]))
    noted["stage"] = "done"
    _ask(folder, profile, judged.plan, blocks_of(judged.plan), noted)
    print(f"plimsoll: {study}: {_said(judged)} after {hours_in_words(sum(noted['given']))}.", flush=True)
    if resumed and hours > sum(noted["given"]):
        spend(study, hours, settings)


def _begun(study: Study, plan: Plan, seconds: float, folder: Path) -> dict[str, int]:
    """Return the blocks by cell with which a new time budget starts.

    If every cell has blocks already, these are returned. Otherwise a first stage adds blocks to them, also to those that
    were measured for one figure. Raise
    PlimsollError if the time is too short for anything.
    """
    there = blocks_of(plan) if study_state.is_measured(folder) else study_state.recorded(folder, plan)
    if there and all(there.values()):
        return there
    begun = first_stage(study, plan, seconds, folder, there)
    if not any(begun.values()):
        usual, fewest = costs.of_plan(plan), min(FIRST_BLOCKS)
        raise PlimsollError(
            f"{seconds / 3600:g} h is too short for any ratio or claim of {study['id']} on this machine: {fewest} blocks "
            f"of everything take some {usual.seconds(dict.fromkeys(usual.run, fewest)) / 3600:.1f} hours. Nothing was "
            "measured. Give more time: --hours, or --minutes."
        )
    return begun


def first_stage(
    study: Study, plan: Plan, seconds: float, own: Path | None = None, there: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return the blocks by cell of a first stage of `seconds`, in addition to the blocks that are `there` (in `own`,
    the study's results).

    The first stage has as many of FIRST_BLOCKS of everything as fit, and LEAST of the answer's cells. If none fits, the
    ratios of the answer come first, then what other measurements decided soonest. The result is empty if the time is
    too short for that.
    """
    usual, nothing, there = costs.of_plan(plan), study_state.of_nothing(study, plan), there or {}
    asked, ratios = set(decision_cost.cells_of(nothing.rows)), nothing.of_answer(None)
    of_answer = {cell: LEAST for need in ratios for cell in need.blocks}
    for blocks, share in FIRST_BLOCKS.items():
        everything = more_of(_everything(usual, asked, blocks), of_answer)
        if usual.seconds(everything) <= share * seconds:
            return more_of(there, everything)
    answered, bought = _answer(there, ratios, usual, seconds)
    possible = [more_of(answered, _everything(usual, asked, blocks)) for blocks in FEWER_BLOCKS]
    blocks, chosen = _soonest(there, nothing.soonest(study_state.reference(study, plan, own)), possible, usual, seconds)
    if bought or chosen:
        print(f"plimsoll: {study['id']}: the first stage is for {_of_both(bought, chosen)}.", flush=True)
    return blocks


def _answer(there: Mapping[str, int], ratios: Sequence[Need], usual: Costs, seconds: float) -> tuple[dict[str, int], list[str]]:
    """Return (blocks by cell, ratios) for the answer in a first stage.

    If its share of the time pays for no ratio, it gets all time.
    """
    for share in (FOR_ANSWER * FOR_MEASURING, FOR_MEASURING):
        answered, bought = in_order(there, ratios, usual, share * seconds, LEAST)
        if bought:
            break
    return answered, bought


def more_of(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the larger number of blocks of each cell."""
    return {path: max(one.get(path, 0), other.get(path, 0)) for path in {**one, **other}}


def _everything(usual: Costs, asked: Set[str], blocks: int) -> dict[str, int]:
    """Return this number of blocks for each cell. A cell that no testable claim is about gets at most FOR_FIGURES."""
    wanted = {path: blocks if path in asked else min(blocks, FOR_FIGURES) for path in usual.run}
    return {path: number for path, number in wanted.items() if number}


def _soonest(
    there: Mapping[str, int], soonest: Sequence[Need], possible: Sequence[dict[str, int]], usual: Costs, seconds: float
) -> tuple[dict[str, int], list[str]]:
    """Return (blocks by cell, claims) of a first stage for the claims that need least time, in addition to the blocks
    that are `there`.

    `possible` has alternatives for the blocks of everything. The first one is taken that leaves time for MOST_OF the
    claims that the best alternative pays for.
    """
    before = usual.seconds(there)

    def bought(everything: dict[str, int], share: float) -> tuple[dict[str, int], list[str]]:
        return allocate(everything, soonest, usual, share * seconds - (usual.seconds(everything) - before))

    fitting = [one for one in possible if usual.seconds(one) - before <= SHORT_SHARE * seconds] or [possible[-1]]
    numbers = [len(bought(everything, FOR_MEASURING)[1]) for everything in fitting]
    everything = next(one for one, number in zip(fitting, numbers, strict=True) if number >= MOST_OF * max(numbers))
    return bought(everything, FIRST_SHARE)


def _of_both(ratios: Sequence[str], claims: Sequence[str]) -> str:
    """Say in words what a stage is for."""
    each = ((ratios, "ratio", "of the answer"), (claims, "claim", "that should be decided soonest"))
    return " and ".join(f"{many(len(names), what)} {of}" for names, what, of in each if names)


def second_stage(
    judged: StudyState, other: StudyState | None, hours: float, before: float
) -> tuple[dict[str, int], list[str], list[str]]:
    """Return (blocks by cell, ratios, claims) of the second stage. The rest of the hours is for the answer and for
    claims that are not clear.

    `before` are the seconds that were measured before this time budget.
    """
    measured = costs.of_plan(judged.plan, judged.runs)
    spent = measured.seconds(blocks_of(judged.plan)) - before
    return _bought(judged, other, measured, FOR_MEASURING * hours * 3600 - spent)


def _early(judged: StudyState, blocks: Mapping[str, int], hours: float, before: float) -> str:
    """Return a sentence that a second stage with these blocks ends early, and why; empty if it does not."""
    measuring = FOR_MEASURING * hours * 3600
    left = measuring - (costs.of_plan(judged.plan, judged.runs).seconds(blocks) - before)
    if left < EARLY * measuring:
        return ""
    return (
        f"it ends some {left / 60:.0f} minutes early: every open claim has the blocks that it needs, or needs more than this "
        "time pays for."
    )


def _bought(
    judged: StudyState, other: StudyState | None, measured: Costs, budget: float
) -> tuple[dict[str, int], list[str], list[str]]:
    """Return (blocks by cell, ratios, claims) for `budget` more seconds: first the answer's share, then claims, then
    the answer again."""
    now, ratios = blocks_of(judged.plan), judged.of_answer(other)
    limit = measured.seconds(now) + budget
    blocks, first = in_order(now, ratios, measured, FOR_ANSWER * budget, LEAST)
    blocks, chosen = allocate(blocks, judged.asked(other).needs, measured, limit - measured.seconds(blocks))
    blocks, more = in_order(blocks, ratios, measured, limit - measured.seconds(blocks), LEAST)
    return blocks, list(dict.fromkeys([*first, *more])), chosen


def blocks_of(plan: Plan) -> dict[str, int]:
    """Return the blocks that a plan has of each cell that can be measured."""
    return {
        path: math.ceil(cell["repetitions"] / cell.get("per_block", 1))
        for path, cell in plan["cells"].items()
        if cell["reason"] is None
    }


def _seconds(folder: Path, plan: Plan) -> float:
    """Return the seconds that a study's results took. Without tables, they are those that its records were expected to take."""
    if not study_state.is_measured(folder):
        return costs.of_plan(plan).seconds(study_state.recorded(folder, plan))
    plan = plan_file.read(folder / "plan.json")
    return costs.of_plan(plan, study_state.runs_of(folder, plan)).seconds(blocks_of(plan))


def _given_until(moment: float, judged: StudyState, before: float) -> float:
    """Return the hours of a time budget whose second stage ends at a moment (seconds since 1970)."""
    used = costs.of_plan(judged.plan, judged.runs).seconds(blocks_of(judged.plan)) - before
    left = moment - time.time() - timetable.STAGE
    return round((used + max(0.0, left)) / 3600 / FOR_MEASURING, 4)


def _spent(judged: StudyState, noted: dict) -> float:
    """Return the hours of all time budgets that are spent after the first stage of the last one."""
    used = costs.of_plan(judged.plan, judged.runs).seconds(blocks_of(judged.plan)) - noted["before"]
    return round(sum(noted["given"][:-1]) + used / 3600 / FOR_MEASURING, 2)


def _foretell(folder: Path, judged: StudyState, other: StudyState | None, spent: float, given: float) -> None:
    """Save a forecast: the claims that are decided after the hours `spent`, and those that would be after `given` and
    more hours.

    It also says which claims would never be decided, and how far the answer is. The stage of the forecast is bought as
    the second stage is. A claim that gets the blocks that it needs is decided with a power of 80 %, so that share of
    these claims is counted.
    """
    measured, now = costs.of_plan(judged.plan, judged.runs), blocks_of(judged.plan)
    decided, testable = needs.decided_counts(judged.results)
    made, reached = [], set()
    # Nothing is known about cells that were left out because time was short.
    known = sorted({given, *(hours for hours in forecasts.HOURS if hours > given)}) if all(now.values()) else ()
    for hours in (hours for hours in known if hours > spent):
        blocks, _, _ = _bought(judged, other, measured, FOR_MEASURING * (hours - spent) * 3600)
        # More time is for more claims, and spends less on some of those that less time is for.
        reached |= _within(judged, now, blocks)
        made.append({"hours": hours, "settled": decided + round(POWER * len(reached))})
    still = [result for result in result_counts.without_repeats(judged.results) if result["verdict"] == verdicts.INCONCLUSIVE]
    left = [result for result in still if result["id"] not in reached] if known else []
    never, unknown = ([result["id"] for result in left if _estimated(result) == is_known] for is_known in (True, False))
    told = {"forecasts": made, "never": never, "unknown": unknown, "answer": _of_answer(judged, measured, given)}
    forecasts.add(folder, hours=spent, settled=decided, testable=testable, **told)


def _of_answer(judged: StudyState, measured: Costs, given: float) -> forecasts.AnswerForecast:
    """Return how many ratios of the answer are known, and the total hours after which the answer's share will have paid
    for all."""
    now, least = blocks_of(judged.plan), {}
    for need in answer_needs.first(judged.ratios.values(), LEAST):
        least |= need.blocks
    left = measured.beyond(now, measured.launches(now), least)
    steps = math.ceil((given + left / 3600 / FOR_MEASURING / FOR_ANSWER) / ROUNDED - 1e-9)
    return {"known": judged.answered, "ratios": len(judged.ratios), "hours": round(ROUNDED * steps, 2)}


def _within(judged: StudyState, now: dict[str, int], blocks: dict[str, int]) -> set[str]:
    """Return the open claims that have fewer blocks than they need, and would have enough with `blocks`.

    Differences and spreads are taken as estimated. A claim that has enough blocks already is open because there is no
    difference.
    """
    reached = set()
    for result in result_counts.without_repeats(judged.results):
        if result["verdict"] != verdicts.INCONCLUSIVE or not _estimated(result):
            continue
        cells = decision_cost.cells_of(judged.rows[judged.rows["claim"] == result["id"]])
        least, most = (min((of.get(cell, 0) for cell in cells), default=0) for of in (now, blocks))
        if least < result["needed"] <= most:
            reached.add(result["id"])
    return reached


def _estimated(result: dict) -> bool:
    """Whether it is known how many blocks a claim needs."""
    number = result.get("needed")
    return bool(number) and not math.isnan(number)


def _said(judged: StudyState) -> str:
    decided, testable = needs.decided_counts(judged.results)
    ratios = f"{judged.answered} of {len(judged.ratios)} ratios of the answer are measured"
    return f"{ratios}, and {decided} of {testable} testable claims are decided"


def _ask(folder: Path, profile: str, plan: Plan, blocks: dict[str, int], noted: dict) -> None:
    wanted = {path: number * plan["cells"][path].get("per_block", 1) for path, number in blocks.items()}
    repetitions.ask(folder, profile, repetitions.RequestedRepetitions(wanted, exact=True, hours=noted))


def _snakemake(folder: Path, settings: list[str]) -> None:
    """Measure what is planned. Observations are enough to choose blocks: what pages show is judged after all stages."""
    rounds.make([f"{folder}/runs.csv"], settings)

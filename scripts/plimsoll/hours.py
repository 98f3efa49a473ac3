"""A study in a given time: a first stage, and a second that spends the rest on the study's answer and on its claims.

The first stage has three to five blocks of everything. Where the time is too short for three, the ratios of the study's answer
come first, in their order. Then come the claims that the study's reference measurements would decide soonest, with fewer blocks
of everything if these leave time for it. What the second stage measures is fixed when the first has ended
(plimsoll.claims.needs says from what).
"""

import math
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from plimsoll import paths, rounds
from plimsoll.analysis import collect
from plimsoll.analysis.blocks import POWER, SMALLEST
from plimsoll.claims import answer, book, costs, evaluate, findings, needs, verdicts
from plimsoll.claims.measured import Measured
from plimsoll.config import configuration
from plimsoll.config.studies import Study
from plimsoll.errors import PlimsollError
from plimsoll.interchange import Plan
from plimsoll.measuring import planned
from plimsoll.planning import amounts, forecasts, repetitions
from plimsoll.planning.allocation import LEAST, Costs, Need, allocate, in_order
from plimsoll.workflow import prepare

# What `make reproduce` says where nobody gives a time: each design has its own.
USUAL = "usual"
# Stages that a killed workflow is in.
UNFINISHED = ("first", "second")
# Blocks of everything in a first stage, and the share of the time that they may take: more is better spent by the second. With
# fewer than three nothing is tested, so that three may take more, and so may fewer beside the answer.
FIRST_SHARE, SHORT_SHARE = 0.55, 0.75
FIRST_BLOCKS = {5: FIRST_SHARE, 4: FIRST_SHARE, 3: SHORT_SHARE}
# Where the time is too short for these, fewer blocks of everything are for figures, and for what other measurements are wrong
# about. They may cost a tenth of the findings.
FEWER_BLOCKS, MOST_OF = (2, 1, 0), 0.9
# Cells that no testable finding is about are for figures and tables alone.
FOR_FIGURES = 3
# Figures and pages are made after the measuring, and some runs are repeated.
FOR_MEASURING = 0.92
# Share of the time that the answer precedes the claims in. What one of them has no use for is the other's.
FOR_ANSWER = 0.5
# A start that ends earlier than by this share of its time says so.
EARLY = 0.1
# Times that are recommended are multiples of this many hours.
ROUNDED = 0.05


class Judged(NamedTuple):
    """A study as far as it is measured: `results` and comparisons (`rows`), the `parts` of each testable claim, the `ratios` of
    its answer, the `noise` of both, and which claims are `clear`."""

    plan: Plan
    results: list[dict]
    rows: pd.DataFrame
    runs: pd.DataFrame
    parts: dict[str, list[needs.Part]]
    noise: needs.Noise
    clear: list[str]
    alpha: float
    ratios: dict[str, needs.Part]

    def asked(self, other: "Judged | None") -> needs.Asked:
        """What findings need by the noise that was measured, and by the differences that `other` measurements found; of
        metrics that were hardly measured, by their noise too. No difference of these measurements has a say."""
        noise = self.noise.or_else(other.noise) if other else self.noise
        return needs.of(self.parts, self.clear, noise, self.alpha, other and other.elsewhere)

    def of_answer(self, other: "Judged | None") -> list[Need]:
        """Return what the ratios of the answer need, in their order; noise and differences are those of `asked`."""
        noise = self.noise.or_else(other.noise) if other else self.noise
        return answer.wanted(self.ratios, noise, self.alpha, LEAST, other and other.elsewhere)

    @property
    def answered(self) -> int:
        """How many ratios of the answer are known."""
        return sum(min(row["n"] for row in part.rows) >= SMALLEST for part in self.ratios.values())

    @property
    def elsewhere(self) -> needs.Elsewhere:
        """Its differences, as other measurements see them."""
        return needs.Elsewhere([*(part for each in self.parts.values() for part in each), *self.ratios.values()])

    def soonest(self, other: "Judged | None") -> list[Need]:
        """What findings need if noise and differences are as `other` measurements found them: nothing is known without."""
        if other is None:
            return []
        wanted = needs.of(self.parts, self.clear, other.noise, self.alpha, other.elsewhere).needs
        return [need.at_least(LEAST) for need in wanted]


def spend(study: str, hours: float, settings: list[str]) -> None:
    """Measure a study until it was measured for so many hours in all, and leave a forecast of what more would settle. Nothing
    is done if it was. PlimsollError if the workflow fails, or if the time is too short for anything."""
    config = configuration.read(settings)
    prepared = prepare({**config, "studies": [study]})
    loaded, plan = prepared.studies[study], prepared.plans[study]
    folder, profile = Path("results") / study, config["profile"]
    noted = repetitions.asked(folder, profile).hours or {}
    if noted.get("stage") not in UNFINISHED:
        spent = sum(noted.get("given", []))
        if hours <= spent:
            return
        noted = {"stage": "first", "given": [*noted.get("given", []), hours - spent], "before": _seconds(folder, loaded)}
        _ask(folder, profile, plan, _begun(loaded, plan, (hours - spent) * 3600, folder), noted)
    judged, other = None, reference(loaded, plan, folder)
    if noted["stage"] == "first":
        _snakemake(folder, settings)
        judged = judge(folder, loaded)
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
    judged = judged or judge(folder, loaded)
    _foretell(folder, judged, other, sum(noted["given"]), sum(noted["given"]))
    noted["stage"] = "done"
    _ask(folder, profile, judged.plan, blocks_of(judged.plan), noted)
    print(f"plimsoll: {study}: {_said(judged)} after {sum(noted['given']):g} h.", flush=True)


def hours_of(text: str) -> float | None:
    """The time that is given; None for USUAL. PlimsollError for a text that is no time."""
    return None if text == USUAL else amounts.positive(text, f"HOURS={text}", "HOURS", "give hours, such as 1 or 0.15")


def judge(folder: Path, study: Study) -> Judged:
    """Judge a study by what is in its results."""
    plan = planned.read(folder / "plan.json")
    return of_tables(study, plan, *_tables(folder, plan))


def reference(study: Study, plan: Plan, own: Path | None = None) -> Judged | None:
    """Judge the reference measurements of a study, as far as they are of cells that this machine's plan has; None if there are
    none. Those that were made of the study's `own` results are no other data, and are none."""
    folder = paths.REFERENCES / study["id"]
    if not _measured(folder):
        return None
    observations, runs = _tables(folder, plan)
    if own and _measured(own) and _started(runs) & _started(_runs(own, plan)):
        print(f"plimsoll: {study['id']}: the reference measurements are of these very runs, and have no say.", flush=True)
        return None
    return of_tables(study, plan, observations, runs)


def _started(runs: pd.DataFrame) -> set[float]:
    """When runs were started, which tells them from all others."""
    return set(runs["started"].dropna()) if "started" in runs else set()


def of_nothing(study: Study, plan: Plan) -> Judged:
    """Judge a study of which nothing is measured: its parts are all that can be tested here."""
    nothing = pd.DataFrame(columns=["metric", *plan["factors"], "value", "repetition", "censored"])
    return of_tables(study, plan, nothing, pd.DataFrame())


def of_tables(study: Study, plan: Plan, observations: pd.DataFrame, runs: pd.DataFrame) -> Judged:
    """Judge a study by its tables of observations and of runs."""
    measured, claims = Measured(study, plan, observations, runs, brief=True), book.load(study["id"])
    results, rows = evaluate.evaluate(claims, measured, study["alpha"])
    strictly, _ = evaluate.evaluate(claims, measured, needs.CLEAR)
    parts = needs.parts_of(results, rows)
    ratios = answer.parts(measured, study["alpha"])
    pooled = [*(part for each in parts.values() for part in each), *ratios.values()]
    noise = needs.Noise(pooled, plan, study.design.factors.OF_NOISE)
    return Judged(plan, results, rows, runs, parts, noise, needs.clear(strictly), study["alpha"], ratios)


def _tables(folder: Path, plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    return collect.table(folder / "observations.csv", plan["factors"]), _runs(folder, plan)


def _runs(folder: Path, plan: Plan) -> pd.DataFrame:
    return collect.table(folder / "runs.csv", plan["factors"])


def _begun(study: Study, plan: Plan, seconds: float, folder: Path) -> dict[str, int]:
    """Blocks by cell with which a time begins: what is measured, and of cells of which nothing is a first stage. PlimsollError
    if the time is too short for anything."""
    there = blocks_of(plan) if _measured(folder) else {}
    if there and all(there.values()):
        return there
    begun = first_stage(study, plan, seconds, folder, there)
    if not any(begun.values()):
        usual, fewest = costs.of(plan), min(FIRST_BLOCKS)
        raise PlimsollError(
            f"HOURS={seconds / 3600:g} is too short for any ratio or claim of {study['id']} on this machine: {fewest} blocks "
            f"of everything take some {usual.seconds(dict.fromkeys(usual.run, fewest)) / 3600:.1f} hours."
        )
    return begun


def first_stage(
    study: Study, plan: Plan, seconds: float, own: Path | None = None, there: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return blocks by cell of the first stage of a time, beside what is `there` (in `own`, the study's results).

    Of everything there are as many of FIRST_BLOCKS as fit, and of the answer's cells LEAST. Where none does, the ratios of the
    answer come first, and then what other measurements decided soonest. The result is empty if the time is too short for that.
    """
    usual, nothing, there = costs.of(plan), of_nothing(study, plan), there or {}
    asked, ratios = set(needs.cells_of(nothing.rows)), nothing.of_answer(None)
    of_answer = {cell: LEAST for need in ratios for cell in need.blocks}
    for blocks, share in FIRST_BLOCKS.items():
        everything = more_of(_everything(usual, asked, blocks), of_answer)
        if usual.seconds(everything) <= share * seconds:
            return more_of(there, everything)
    answered, bought = _answer(there, ratios, usual, seconds)
    possible = [more_of(answered, _everything(usual, asked, blocks)) for blocks in FEWER_BLOCKS]
    blocks, chosen = _soonest(there, nothing.soonest(reference(study, plan, own)), possible, usual, seconds)
    if bought or chosen:
        print(f"plimsoll: {study['id']}: the first stage is for {_of_both(bought, chosen)}.", flush=True)
    return blocks


def _answer(there: Mapping[str, int], ratios: Sequence[Need], usual: Costs, seconds: float) -> tuple[dict[str, int], list[str]]:
    """(blocks by cell, ratios) of the answer in a first stage: of its share of the time, or of all where that buys no ratio."""
    for share in (FOR_ANSWER * FOR_MEASURING, FOR_MEASURING):
        answered, bought = in_order(there, ratios, usual, share * seconds, LEAST)
        if bought:
            break
    return answered, bought


def more_of(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the larger number of blocks of each cell."""
    return {path: max(one.get(path, 0), other.get(path, 0)) for path in {**one, **other}}


def _everything(usual: Costs, asked: Set[str], blocks: int) -> dict[str, int]:
    """So many blocks of each cell, and fewer of those that nothing which can be tested is about."""
    wanted = {path: blocks if path in asked else min(blocks, FOR_FIGURES) for path in usual.run}
    return {path: number for path, number in wanted.items() if number}


def _soonest(
    there: Mapping[str, int], soonest: Sequence[Need], possible: Sequence[dict[str, int]], usual: Costs, seconds: float
) -> tuple[dict[str, int], list[str]]:
    """(blocks by cell, claims) of a first stage for the claims that take least, beside what is `there`: with the first of the
    `possible` blocks of everything that leaves time for MOST_OF the claims which the whole time could be for."""
    before = usual.seconds(there)

    def bought(everything: dict[str, int], share: float) -> tuple[dict[str, int], list[str]]:
        return allocate(everything, soonest, usual, share * seconds - (usual.seconds(everything) - before))

    fitting = [one for one in possible if usual.seconds(one) - before <= SHORT_SHARE * seconds] or [possible[-1]]
    numbers = [len(bought(everything, FOR_MEASURING)[1]) for everything in fitting]
    everything = next(one for one, number in zip(fitting, numbers, strict=True) if number >= MOST_OF * max(numbers))
    return bought(everything, FIRST_SHARE)


def _of_both(ratios: Sequence[str], claims: Sequence[str]) -> str:
    """What a stage is for, in words."""
    each = ((ratios, "ratios of the answer"), (claims, "claims that should be decided soonest"))
    return " and ".join(f"{len(names)} {what}" for names, what in each if names)


def second_stage(
    judged: Judged, other: Judged | None, hours: float, before: float
) -> tuple[dict[str, int], list[str], list[str]]:
    """(blocks by cell, ratios, claims) of the second stage: what is left of the hours is for the answer and for claims that are
    not clear."""
    measured = costs.of(judged.plan, judged.runs)
    spent = measured.seconds(blocks_of(judged.plan)) - before
    return _bought(judged, other, measured, FOR_MEASURING * hours * 3600 - spent)


def _early(judged: Judged, blocks: Mapping[str, int], hours: float, before: float) -> str:
    """That a second stage of so many blocks ends early, and why, in a sentence; empty where it does not."""
    measuring = FOR_MEASURING * hours * 3600
    left = measuring - (costs.of(judged.plan, judged.runs).seconds(blocks) - before)
    if left < EARLY * measuring:
        return ""
    return (
        f"it ends some {left / 60:.0f} minutes early: every open claim has the blocks that it needs, or needs more than this "
        "time pays for."
    )


def _bought(
    judged: Judged, other: Judged | None, measured: Costs, budget: float
) -> tuple[dict[str, int], list[str], list[str]]:
    """(blocks by cell, ratios, claims) that so many more seconds are for: the answer's share, then claims, then what these
    leave."""
    now, ratios = blocks_of(judged.plan), judged.of_answer(other)
    limit = measured.seconds(now) + budget
    blocks, first = in_order(now, ratios, measured, FOR_ANSWER * budget, LEAST)
    blocks, chosen = allocate(blocks, judged.asked(other).needs, measured, limit - measured.seconds(blocks))
    blocks, more = in_order(blocks, ratios, measured, limit - measured.seconds(blocks), LEAST)
    return blocks, list(dict.fromkeys([*first, *more])), chosen


def blocks_of(plan: Plan) -> dict[str, int]:
    """Blocks that a plan has of each cell that can be measured."""
    return {
        path: math.ceil(cell["repetitions"] / cell.get("per_block", 1))
        for path, cell in plan["cells"].items()
        if cell["reason"] is None
    }


def _seconds(folder: Path, study: Study) -> float:
    """What is measured of a study took so long."""
    if not _measured(folder):
        return 0.0
    plan = planned.read(folder / "plan.json")
    return costs.of(plan, _runs(folder, plan)).seconds(blocks_of(plan))


def _measured(folder: Path) -> bool:
    return (folder / "runs.csv").exists()


def _spent(judged: Judged, noted: dict) -> float:
    """Hours that are spent of the times that were given, after the first stage of the last one."""
    used = costs.of(judged.plan, judged.runs).seconds(blocks_of(judged.plan)) - noted["before"]
    return round(sum(noted["given"][:-1]) + used / 3600 / FOR_MEASURING, 2)


def _foretell(folder: Path, judged: Judged, other: Judged | None, spent: float, given: float) -> None:
    """Add to the forecasts how many findings are settled after the hours `spent`, how many would be after those `given` and
    after more, which never, and how far the answer is.

    The stage that is foretold is bought as the second stage is. What it has the blocks for comes out with a power of 80 %, so
    that so many of these are counted.
    """
    measured, now = costs.of(judged.plan, judged.runs), blocks_of(judged.plan)
    settled, testable = needs.decided(judged.results)
    made, reached = [], set()
    # Nothing is known of what was left out for want of time.
    known = sorted({given, *(hours for hours in forecasts.HOURS if hours > given)}) if all(now.values()) else ()
    for hours in (hours for hours in known if hours > spent):
        blocks, _, _ = _bought(judged, other, measured, FOR_MEASURING * (hours - spent) * 3600)
        # More time is for more findings, and spends less on some of those that less time is for.
        reached |= _within(judged, now, blocks)
        made.append({"hours": hours, "settled": settled + round(POWER * len(reached))})
    still = [result for result in findings.counted(judged.results) if result["verdict"] == verdicts.INCONCLUSIVE]
    left = [result for result in still if result["id"] not in reached] if known else []
    never, unknown = ([result["id"] for result in left if _estimated(result) == is_known] for is_known in (True, False))
    told = {"forecasts": made, "never": never, "unknown": unknown, "answer": _of_answer(judged, measured, given)}
    forecasts.add(folder, hours=spent, settled=settled, testable=testable, **told)


def _of_answer(judged: Judged, measured: Costs, given: float) -> forecasts.Answered:
    """How many ratios of the answer are known, and after how many hours in all the answer's share will have paid for all."""
    now, least = blocks_of(judged.plan), {}
    for need in answer.first(judged.ratios.values(), LEAST):
        least |= need.blocks
    left = measured.beyond(now, measured.launches(now), least)
    steps = math.ceil((given + left / 3600 / FOR_MEASURING / FOR_ANSWER) / ROUNDED - 1e-9)
    return {"known": judged.answered, "ratios": len(judged.ratios), "hours": round(ROUNDED * steps, 2)}


def _within(judged: Judged, now: dict[str, int], blocks: dict[str, int]) -> set[str]:
    """The findings that are open, have fewer blocks than they would take, and would have as many, if differences and spreads
    are as estimated. What has as many now, and is open, is so for want of a difference."""
    reached = set()
    for result in findings.counted(judged.results):
        if result["verdict"] != verdicts.INCONCLUSIVE or not _estimated(result):
            continue
        cells = needs.cells_of(judged.rows[judged.rows["claim"] == result["id"]])
        least, most = (min((of.get(cell, 0) for cell in cells), default=0) for of in (now, blocks))
        if least < result["needed"] <= most:
            reached.add(result["id"])
    return reached


def _estimated(result: dict) -> bool:
    """Whether it is known how many blocks a finding would take."""
    number = result.get("needed")
    return bool(number) and not math.isnan(number)


def _said(judged: Judged) -> str:
    settled, testable = needs.decided(judged.results)
    ratios = f"{judged.answered} of {len(judged.ratios)} ratios of the answer are known"
    return f"{ratios}, and {settled} of {testable} testable claims are decided"


def _ask(folder: Path, profile: str, plan: Plan, blocks: dict[str, int], noted: dict) -> None:
    wanted = {path: number * plan["cells"][path].get("per_block", 1) for path, number in blocks.items()}
    repetitions.ask(folder, profile, repetitions.Asked(wanted, exact=True, hours=noted))


def _snakemake(folder: Path, settings: list[str]) -> None:
    rounds.make([f"{folder}/claims.json"], settings)

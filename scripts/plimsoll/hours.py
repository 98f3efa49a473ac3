"""A study in a given time: a first stage of blocks of all cells, and a second that spends the rest where it decides findings.

What the second stage measures is fixed when the first has ended (plimsoll.claims.needs says from what). Where the time is too
short for a first stage, the cells are those of the findings that the study's reference measurements decided most easily.
"""

import math
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from plimsoll import paths, rounds
from plimsoll.analysis import collect
from plimsoll.claims import book, costs, evaluate, findings, needs, verdicts
from plimsoll.claims.measured import Measured
from plimsoll.config import configuration
from plimsoll.config.studies import Study
from plimsoll.errors import PlimsollError
from plimsoll.interchange import Plan
from plimsoll.measuring import planned
from plimsoll.planning import amounts, forecasts, repetitions
from plimsoll.planning.allocation import Costs, Need, allocate
from plimsoll.workflow import prepare

# Stages that a killed workflow is in.
UNFINISHED = ("first", "second")
# Share of the time that the first stage may take, and its blocks: fewer give no intervals worth the name, and more are better
# spent by the second.
FIRST_SHARE, FEWEST, FIRST_BLOCKS = 0.55, 3, 5
# Cells that no testable finding is about are for figures and tables alone.
FOR_FIGURES = 3
# Figures and pages are made after the measuring, and some runs are repeated.
FOR_MEASURING = 0.92
# A finding that the reference measurements settled needs at least these.
LEAST = 4


class Judged(NamedTuple):
    """A study as far as it is measured: `results` and comparisons (`rows`), and what findings need (`asked`)."""

    plan: Plan
    results: list[dict]
    rows: pd.DataFrame
    runs: pd.DataFrame
    asked: needs.Asked


def spend(study: str, hours: float, settings: list[str]) -> None:
    """Measure a study until it was measured for so many hours in all, and leave a forecast of what more would settle. Nothing
    is done if it was. PlimsollError if the workflow fails, or if the time is too short for anything."""
    config = configuration.read(settings)
    prepared = prepare({**config, "studies": [study]})
    loaded, plan = prepared.studies[study], prepared.plans[study]
    folder = Path("results") / study
    noted = _noted(folder, config["profile"])
    if noted.get("stage") not in UNFINISHED:
        spent = sum(noted.get("given", []))
        if hours <= spent:
            return
        noted = {"stage": "first", "given": [*noted.get("given", []), hours - spent], "before": _seconds(folder, loaded)}
        _ask(folder, config["profile"], plan, _begun(loaded, plan, hours * 3600, folder), noted)
    if noted["stage"] == "first":
        _snakemake(folder, settings)
        judged = judge(folder, loaded)
        blocks, chosen = _second(judged, noted["given"][-1], noted["before"])
        if chosen:
            _foretell(folder, judged, sum(noted["given"]))
            print(f"plimsoll: {study}: {_said(judged)}; the rest of the time is for {len(chosen)} of the others.", flush=True)
        noted |= {"stage": "second", "chosen": chosen}
        _ask(folder, config["profile"], judged.plan, blocks, noted)
    if noted["chosen"]:
        _snakemake(folder, settings)
    judged = judge(folder, loaded)
    _foretell(folder, judged, sum(noted["given"]))
    noted["stage"] = "done"
    _ask(folder, config["profile"], judged.plan, _blocks(judged.plan), noted)
    print(f"plimsoll: {study}: {_said(judged)} after {sum(noted['given']):g} h.", flush=True)


def hours_of(text: str) -> float:
    """The time that is given. PlimsollError for a text that is no time."""
    return amounts.positive(text, f"HOURS={text}", "HOURS", "give hours, such as 1 or 0.15")


def judge(folder: Path, study: Study) -> Judged:
    """Judge a study by what is in its results."""
    plan = planned.read(folder / "plan.json")
    observations, runs = (collect.table(folder / name, plan["factors"]) for name in ("observations.csv", "runs.csv"))
    return _judge(study, plan, observations, runs)


def _judge(study: Study, plan: Plan, observations: pd.DataFrame, runs: pd.DataFrame) -> Judged:
    measured, claims = Measured(study, plan, observations, runs), book.load(study["id"])
    results, rows = evaluate.evaluate(claims, measured, study["alpha"])
    strictly, _ = evaluate.evaluate(claims, measured, needs.CLEAR)
    return Judged(plan, results, rows, runs, needs.of(results, needs.clear(strictly), rows, plan, study["alpha"]))


def _begun(study: Study, plan: Plan, seconds: float, folder: Path) -> dict[str, int]:
    """Blocks by cell with which a time begins: what is measured, and of cells of which nothing is a first stage."""
    there = _blocks(plan) if _measured(folder) else {}
    if there and all(there.values()):
        return there
    first = _first(study, plan, seconds)
    return {path: max(first.get(path, 0), there.get(path, 0)) for path in {**there, **first}}


def _first(study: Study, plan: Plan, seconds: float) -> dict[str, int]:
    """Blocks by cell of the first stage."""
    usual = costs.of(plan)
    asked = _asked(study, plan)
    for blocks in range(FIRST_BLOCKS, FEWEST - 1, -1):
        wanted = {path: blocks if path in asked else min(blocks, FOR_FIGURES) for path in usual.run}
        if usual.seconds(wanted) <= FIRST_SHARE * seconds:
            return wanted
    return _by_reference(study, plan, usual, seconds)


def _asked(study: Study, plan: Plan) -> set[str]:
    """Cells that a finding which can be tested here is about."""
    nothing = pd.DataFrame(columns=["metric", *plan["factors"], "value", "repetition", "censored"])
    measured = Measured(study, plan, nothing, pd.DataFrame())
    _, rows = evaluate.evaluate(book.load(study["id"]), measured, study["alpha"])
    return set(needs.cells_of(rows))


def _by_reference(study: Study, plan: Plan, usual: Costs, seconds: float) -> dict[str, int]:
    """Blocks by cell of what the reference measurements settled for least. PlimsollError if the time is too short for any."""
    reference = paths.PROJECT / "results/reference" / study["id"]
    observations, runs = (collect.table(reference / name, plan["factors"]) for name in ("observations.csv", "runs.csv"))
    judged = _judge(study, plan, observations, runs)
    wanted = [Need(result["id"], _of_reference(result, judged.rows)) for result in judged.results if _clear(result)]
    blocks, chosen = allocate({}, [need for need in wanted if need.blocks], usual, FOR_MEASURING * seconds)
    if not chosen:
        raise PlimsollError(
            f"HOURS={seconds / 3600:g} is too short for any finding of {study['id']} on this machine: {FEWEST} blocks of "
            f"everything take some {usual.seconds(dict.fromkeys(usual.run, FEWEST)) / 3600:.1f} hours."
        )
    print(f"plimsoll: {study['id']}: the time is for {len(chosen)} findings, those that other measurements settled first.")
    return blocks


def _clear(result: dict) -> bool:
    return result["verdict"] in verdicts.SETTLED


def _of_reference(result: dict, rows: pd.DataFrame) -> dict[str, int]:
    """Blocks by cell that a finding takes if all is as in the reference measurements."""
    own = rows[rows["claim"] == result["id"]]
    number = own["needed"].max()
    blocks = LEAST if math.isnan(number) else max(LEAST, int(number) + 1)
    return dict.fromkeys(needs.cells_of(own), blocks)


def _second(judged: Judged, hours: float, before: float) -> tuple[dict[str, int], list[str]]:
    """(blocks by cell, findings) of the second stage: what is left of the hours is for findings that are not clear."""
    measured = costs.of(judged.plan, judged.runs)
    now = _blocks(judged.plan)
    spent = measured.seconds(now) - before
    return allocate(now, judged.asked.needs, measured, FOR_MEASURING * hours * 3600 - spent)


def _blocks(plan: Plan) -> dict[str, int]:
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
    return costs.of(plan, collect.table(folder / "runs.csv", plan["factors"])).seconds(_blocks(plan))


def _measured(folder: Path) -> bool:
    return (folder / "runs.csv").exists()


def _foretell(folder: Path, judged: Judged, spent: float) -> None:
    """Add to the forecasts how many findings are settled, how many would be after so many hours in all, and which never."""
    measured, now = costs.of(judged.plan, judged.runs), _blocks(judged.plan)
    settled, testable = needs.decided(judged.results)
    made, reached = [], set()
    # Nothing is known of what was left out for want of time.
    known = forecasts.HOURS if all(now.values()) else ()
    for hours in (hours for hours in known if hours > spent):
        blocks, _ = allocate(now, judged.asked.needs, measured, (hours - spent) * 3600)
        reached = _within(judged, blocks)
        made.append({"hours": hours, "settled": settled + len(reached)})
    still = [result["id"] for result in findings.counted(judged.results) if result["verdict"] == verdicts.INCONCLUSIVE]
    never = [name for name in still if name not in reached] if known else []
    forecasts.add(folder, hours=spent, settled=settled, testable=testable, forecasts=made, never=never)


def _within(judged: Judged, blocks: dict[str, int]) -> set[str]:
    """The findings that are open and would be settled by so many blocks, if differences and spreads are as estimated."""
    reached = set()
    for result in findings.counted(judged.results):
        number = result.get("needed")
        if result["verdict"] != verdicts.INCONCLUSIVE or not number or math.isnan(number):
            continue
        cells = needs.cells_of(judged.rows[judged.rows["claim"] == result["id"]])
        if cells and min(blocks.get(cell, 0) for cell in cells) >= number:
            reached.add(result["id"])
    return reached


def _said(judged: Judged) -> str:
    settled, testable = needs.decided(judged.results)
    return f"{settled} of {testable} testable findings are settled"


def _noted(folder: Path, profile: str) -> dict:
    noted = repetitions.noted(folder, profile)
    return dict(noted.get("hours", {})) if noted else {}


def _ask(folder: Path, profile: str, plan: Plan, blocks: dict[str, int], noted: dict) -> None:
    wanted = {path: number * plan["cells"][path].get("per_block", 1) for path, number in blocks.items()}
    repetitions.ask(folder, profile, repetitions.Asked(wanted, exact=True), hours=noted)


def _snakemake(folder: Path, settings: list[str]) -> None:
    rounds.make([f"{folder}/claims.json"], settings)

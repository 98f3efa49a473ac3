"""Make a study's report as one self-contained page.

It shows the host, the runs, what is unavailable and why, verdicts, figures, and what the study's design adds.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from plimsoll import documents, runtimes
from plimsoll.analysis import capacity, collect, drift, neighbours, noise_floor
from plimsoll.claims import answer as claims_answer
from plimsoll.claims import book, findings, result_counts, verdicts
from plimsoll.claims import sessions as claims_sessions
from plimsoll.config.studies import Study
from plimsoll.host import inventory
from plimsoll.interchange import ABSENT, Host, Plan
from plimsoll.measuring import plan_file
from plimsoll.pages import (
    answer,
    claim_filter,
    figure_list,
    forest,
    formats,
    glossary,
    run_list,
    sessions,
    verdict_page,
    wording,
)
from plimsoll.planning import availability, forecasts, planner, repetitions
from plimsoll.planning.forecasts import GivenTime

# The sizes of the memory nodes do not fit the host's memory if their sum differs from it by more than this share.
FITS = 0.1


@dataclass(frozen=True)
class Sources:
    """Paths of what a report is made from: files of the study's results, and folders of its figures, tables and records."""

    plan: Path
    host: Path
    image: Path
    observations: Path
    runs: Path
    tests: Path
    variance: Path
    verdicts: Path
    comparisons: Path
    answer: Path
    sessions: Path
    figures: Path
    tables: Path
    records: Path


def render(loaded: Study, sources: Sources) -> str:
    """Return the report of a study as one page of HTML. Its links are relative to the study's results folder."""
    design = loaded.design
    plan = plan_file.read(sources.plan, design.factors)
    csvs = (sources.runs, sources.observations, sources.tests)
    runs, observations, tests = (collect.table(path, plan["factors"]) for path in csvs)
    results, comparisons = verdict_page.read(sources.verdicts, sources.comparisons)
    given = forecasts.given_time(loaded["id"], sources.plan.parent)
    content = {
        "study": loaded,
        "of_paper": "doi" in loaded["citation"],
        "plan": plan,
        "version": version("plimsoll"),
        "terms": [*glossary.SHARED, *design.report.GLOSSARY],
        "image": plan_file.image(sources.image),
        **_host(documents.read(sources.host, Host, "delete it, and start the workflow again, which makes it again")),
        "answer": forest.with_plots(answer.for_template(claims_answer.read(sources.answer), loaded, given)),
        "given": given,
        "too_short": availability.TOO_SHORT,
        **_runs(runs, plan, sources),
        **_findings(loaded, results, comparisons, given),
        **figure_list.sorted_out(sources.figures, loaded, plan, results),
        "claims_of_table": {name: _of_table(results, loaded, name) for name in loaded.get("tables", {})},
        "forecasts": forecasts.rows(forecasts.read(sources.plan.parent)),
        "hours": forecasts.HOURS,
        "times": len((repetitions.read_request(sources.plan.parent, plan["profile"]).hours or {}).get("given", [])),
        "sessions": sessions.for_template(claims_sessions.read(sources.sessions)),
        "noise": _noise(design.readings.measuring(observations), plan, loaded["alpha"]),
        "floor_blocks": noise_floor.BLOCKS,
        "capacity": _capacity(loaded, plan, observations, runs),
        "tolerance": capacity.TOLERANCE,
        "levels": _levels(collect.table(sources.variance, plan["factors"]), design.factors.OF_LEVELS),
        "fewest_alone": capacity.FEWEST,
        "stolen": float(runs["stolen"].sum()) if "stolen" in runs else 0.0,
        "behaviour": drift.describe(design.readings.measuring(observations), plan["factors"]),
        **design.report.content(sources, loaded, plan, observations, runs, tests),
    }
    return formats.environment().get_template(design.report.TEMPLATE).render(content)


def _capacity(study: Study, plan: Plan, observations: pd.DataFrame, runs: pd.DataFrame) -> list[dict]:
    """Return the capacity check, one row per metric.

    `exceeding` counts runs that exceeded a limit; they have no observation.
    """
    rows = capacity.check(study, plan, observations).table.to_dict("records")
    return [{**row, "exceeding": capacity.exceeding(runs, row["label"])} for row in rows]


def _host(host: Host) -> dict:
    nodes = [node["memory_bytes"] for node in host["nodes"]]
    known = host["memory_bytes"] and all(nodes)
    return {
        "host": host,
        "host_table": inventory.table(host),
        "memory_differs": bool(known) and abs(sum(nodes) / host["memory_bytes"] - 1) > FITS,
    }


def _noise(observations: pd.DataFrame, plan: Plan, alpha: float) -> list[dict]:
    """Return the differences that the machine can show, one row per metric, with how long noise lasts in words."""
    rows = noise_floor.describe(observations, plan["factors"], alpha)
    return [{**row, "lasts": noise_floor.lasts(row["correlations"])} for row in rows]


def _levels(table: pd.DataFrame, kinds: Sequence[str]) -> list[dict]:
    """Return one row per metric and kind of cells: `of` says which cells, and `levels` has the levels by name.

    A metric that does not vary has no row.
    """
    rows, table = [], table.dropna(subset="share")
    for (label, *levels), group in table.groupby(["label", *kinds], sort=False) if len(table) else ():
        of = ", ".join(level for level in levels if level != ABSENT)
        rows.append({"label": label, "of": of, "levels": {row["level"]: row for row in group.to_dict("records")}})
    return rows


def _runs(runs: pd.DataFrame, plan: Plan, sources: Sources) -> dict:
    return {
        "statuses": run_list.by_status(runs),
        "told": run_list.rows_of(runs, plan, sources.records),
        "quiet": run_list.quiet(runs, plan),
        "unwatched": sorted({runtimes.find(name).label for name in neighbours.unobserved_runs(runs)["runtime"]}),
        "repeated": int((runs["attempts"] > 1).sum()),
        "attempts": int(runs["attempts"].sum()),
        "minutes": (runs["started"].max() - runs["started"].min()) / 60,
        "planned": _planned(plan),
        "unavailable_cells": planner.unavailable_cells(plan),
        "kernels": sorted(set(runs["kernels"].dropna())) if "kernels" in runs else [],
    }


def _planned(plan: Plan) -> dict:
    """Return how many `cells` have runs, how many runs `each` has, and how many cells are `left` for lack of time."""
    here = [cell["repetitions"] for cell in plan["cells"].values() if cell["reason"] is None]
    numbers = sorted({number for number in here if number})
    each = " to ".join(map(str, dict.fromkeys((numbers[0], numbers[-1])))) if numbers else "0"
    return {"cells": sum(number > 0 for number in here), "each": each, "left": here.count(0)}


def _findings(study: Study, results: list[dict], comparisons: pd.DataFrame, given: GivenTime | None) -> dict:
    """Return the claims by verdict, each with its effects and with what would decide it, in words, and their filters."""
    rows = wording.by_claim(comparisons)
    told = [
        _claim(result, rows.get(result["id"], []), study, given)
        for result in result_counts.without_repeats(results)
        if result["comparisons"]
    ]
    by_verdict = {name: [one for one in told if one["verdict"] == name] for name in (*verdicts.DECIDED, verdicts.INCONCLUSIVE)}
    return {
        "questions": book.questions(study["id"]),
        "summary_of_claims": result_counts.summarise(results),
        "verdicts": verdicts.ON_CLAIM,
        "marks": verdict_page.MARKS,
        "findings": by_verdict,
        "choices": [choice for choice in claim_filter.choices(told) if len(choice["values"]) > 1],
        "said_of_many": {name: said_of_many(of_verdict) for name, of_verdict in by_verdict.items()},
    }


def _claim(result: dict, rows: list[dict], study: Study, given: GivenTime | None) -> dict:
    """Return a claim for the page. `rows` are its comparisons, and `given` is the time that it had."""
    return {
        **result,
        **claim_filter.of_claim(result, rows, study),
        "question_key": f"{result['study']} {result['question']}",
        "effects": wording.effects(result, rows),
        "size": wording.size(result),
        "arranged": wording.by_arrangement(result),
        "unwatched_said": wording.unobserved_neighbours(result),
        "n_said": wording.rests_on(result, rows),
        "undecided": wording.decision_hints(result, rows, given),
        "command": wording.command(result),
    }


def said_of_many(told: list[dict]) -> dict[str, int]:
    """Return the sentences on what would decide claims that several claims share, with their number.

    They are printed once.
    """
    counts = Counter(sentence for one in told for sentence in one["undecided"])
    return {sentence: number for sentence, number in counts.items() if number > 1}


def _of_table(results: list[dict], loaded: dict, name: str) -> list[dict]:
    return [result for result in results if name in findings.tables_of(result, loaded)]

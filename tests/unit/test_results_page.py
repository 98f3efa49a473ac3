"""The page docs/reports/results.md agrees with the reference measurements."""

import re

import pandas as pd
import pytest
from plimsoll.claims import findings, result_counts

from tests.bench import open_findings
from tests.conftest import PROJECT, REFERENCE

COLUMNS = ("findings", "reproduced", "in_part", "contradicted", "conditional", "inconclusive", "not testable here")
ROW = re.compile(r"^\| ([a-z0-9-]+) \| (RQ\d) \| ([\d |]+) \|$", re.MULTILINE)


ARITHMETIC = re.compile(r"^\| ([a-z0-9-]+) \| ([\d |]+) \|$", re.MULTILINE)


def on_the_page() -> dict[tuple[str, str], list[int]]:
    text = (PROJECT / "docs/reports/results.md").read_text()
    return {(study, question): [int(cell) for cell in cells.split("|")] for study, question, cells in ROW.findall(text)}


@pytest.mark.parametrize("study", sorted(folder.name for folder in REFERENCE.iterdir()))
def test_the_table_of_verdicts_is_that_of_the_reference_measurements(study):
    table = pd.read_csv(REFERENCE / study / "claims.csv").astype(object)
    summary = result_counts.summarise(table.where(table.notna(), None).to_dict("records"))
    measured = {(study, row["question"]): [row[column] for column in COLUMNS] for row in summary}
    assert measured == {key: cells for key, cells in on_the_page().items() if key[0] == study}


def result(verdict: str, seconds: float | None = None, needed: float | None = None) -> dict:
    decide = {"undecidable": "", **({"seconds": seconds} if seconds is not None else {})}
    own = {"id": f"x-{verdict}-{seconds}-{needed}", "verdict": verdict, "needed": needed, "decide": decide}
    return {**own, "same_as": None, "counted_in": None}


def test_claims_are_counted_by_the_time_that_would_decide_them():
    decided = [{**result(verdict), "decide": None} for verdict in ("reproduced", "contradicted", "conditional")]
    others = [result("not testable here"), {**result("reproduced", 1.0), "same_as": "x-reproduced-None-None"}]
    times = [result("inconclusive", seconds) for seconds in (3600.0, 3601.0, 14400.0, 86400.0, 86401.0)]
    unknown = [result("inconclusive"), result("inconclusive", needed=10_001)]
    assert open_findings.arithmetic([*decided, *others, *times, *unknown]) == {
        "decided": 3,
        "within an hour": 1,
        "within four hours": 2,
        "within a day": 1,
        "not within a day": 2,
        "not known": 1,
    }


def test_the_table_of_times_is_that_of_the_reference_measurements():
    text = (PROJECT / "docs/reports/results.md").read_text()
    table = text[text.index("## What more time would decide") :].partition("\n## ")[0]
    found = {study: [int(cell) for cell in cells.split("|")] for study, cells in ARITHMETIC.findall(table)}
    made = {
        folder.name: list(open_findings.arithmetic(findings.of_table(folder / "claims.csv")).values())
        for folder in REFERENCE.iterdir()
    }
    assert found == {study: [sum(counts), *counts] for study, counts in made.items()}


def test_the_tries_of_programs_without_a_cost_are_those_of_the_table():
    own = pd.read_csv(PROJECT / "docs/reports/calibration/tries.csv", dtype=str, keep_default_na=False)
    own = own[(own["kind"] == "alike") & (own["failed"] == "")]
    text, widest = (PROJECT / "docs/reports/try.md").read_text(), own["widest"].astype(float)
    assert f"| without a cost, one minute each | {len(own)} | {(own['found'] != '').sum()} |" in text
    assert f"reaches from {100 * widest.min():.0f} to {100 * widest.max():.0f} % to one side" in text

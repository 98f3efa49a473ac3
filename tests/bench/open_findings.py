"""Claims that the reference measurements leave inconclusive: the noise of each, and the time that deciding it takes.

docs/reports/calibration/open.csv has one row per claim. It has the number of cells, and the largest number of blocks of one of
them, for a power of 80 % by the rules of the second stage. The hours follow from what runs took in the reference. A
likeness is taken to be exact, and a difference to be as large as the claim's margin, or half of what the paper prints.
Without a number, more blocks are needed than are ever bought, or the noise is not known. Measures nothing.

`arithmetic` counts claims by the time that the page of verdicts says. There the difference is the one that was measured.
"""

import math
from collections.abc import Iterable, Mapping

import pandas as pd
from plimsoll import designs
from plimsoll.analysis import sample_sizes
from plimsoll.claims import findings, result_counts, verdicts
from plimsoll.config import studies
from plimsoll.features.time_budget import costs, study_state

from tests.bench.calibration import write
from tests.bench.spending import plan_of
from tests.conftest import REFERENCE

STUDIES = ("liu2020", "jha2021")
# Hours within which claims are decidable, and what is beyond the last.
WITHIN = {"within an hour": 1.0, "within four hours": 4.0, "within a day": 24.0, "not within a day": math.inf}
DECIDED, UNKNOWN = "decided", "not known"


def arithmetic(results: Iterable[Mapping]) -> dict[str, int]:
    """Return how many of a study's counted claims that can be tested are decided, or would be within so much more time.

    Each claim is taken alone. The time is that of the runs that would decide it, if difference and spread are as
    estimated (plimsoll.claims.decision_cost). It is not known for tests without such an estimate. Claims that need more
    repetitions than are ever counted are not decided within a day.
    """
    counts = dict.fromkeys((DECIDED, *WITHIN, UNKNOWN), 0)
    for result in result_counts.without_repeats(list(results)):
        if result["verdict"] in (*verdicts.DECIDED, verdicts.INCONCLUSIVE):
            counts[_when(result)] += 1
    return counts


def _when(result: Mapping) -> str:
    if result["verdict"] in verdicts.DECIDED:
        return DECIDED
    seconds = (result["decide"] or {}).get("seconds")
    if seconds is None:
        needed = result.get("needed")
        return "not within a day" if needed is not None and needed > sample_sizes.MOST else UNKNOWN
    return next(words for words, hours_of in WITHIN.items() if seconds <= 3600 * hours_of)


def main() -> None:
    """Write and print the tables."""
    for folder in sorted(REFERENCE.iterdir()):
        print(folder.name, arithmetic(findings.of_table(folder / "claims.csv")))
    table = pd.concat([of_study(name) for name in STUDIES], ignore_index=True)
    write(table, "open")
    print(table.drop(columns="statement").to_string(index=False))
    print(
        table.groupby("study")["hours"].apply(lambda each: f"{(each <= 30).sum()} of {len(each)} within 30 h each").to_string()
    )


def of_study(name: str) -> pd.DataFrame:
    """Return one row per inconclusive claim of a study."""
    study = studies.load(name, designs.known())
    other = study_state.reference(study, plan_of(study))
    measured = costs.of_plan(other.plan, other.runs)
    asked = {need.finding: need for need in other.asked(None).needs}
    rows = []
    for result in result_counts.without_repeats(other.results):
        if result["verdict"] != verdicts.INCONCLUSIVE:
            continue
        compared = other.rows[other.rows["claim"] == result["id"]]
        row = {
            "study": name,
            "finding": result["id"],
            "comparisons": len(compared),
            "noise": round(compared["deviation"].median(), 3),
        }
        row["margin"] = compared["margin"].min()
        if need := asked.get(result["id"]):
            row |= {"cells": len(need.blocks), "blocks": max(need.blocks.values())}
            row["hours"] = round(measured.seconds(need.blocks) / 3600, 2)
        rows.append({**row, "statement": result["statement"]})
    return pd.DataFrame(rows)


if __name__ == "__main__":
    main()

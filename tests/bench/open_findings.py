"""Claims that the reference measurements leave inconclusive: the noise of each, and the time that deciding it takes.

docs/reports/calibration/open.csv has one row per claim. It has the number of cells, and the largest number of blocks of one of
them, for a power of 80 % by the rules of the second stage. The hours follow from what runs took in the reference. A
likeness is taken to be exact, and a difference to be as large as the claim's margin, or half of what the paper prints.
Without a number, more blocks are needed than are ever bought, or the noise is not known. Measures nothing.
"""

import pandas as pd
from plimsoll import designs
from plimsoll.claims import findings, verdicts
from plimsoll.config import studies
from plimsoll.features.time_budget import costs, two_stages

from tests.bench.calibration import write
from tests.bench.spending import plan_of

STUDIES = ("liu2020", "jha2021")


def main() -> None:
    """Write and print the table."""
    table = pd.concat([of_study(name) for name in STUDIES], ignore_index=True)
    write(table, "open")
    print(table.drop(columns="statement").to_string(index=False))
    print(
        table.groupby("study")["hours"].apply(lambda each: f"{(each <= 30).sum()} of {len(each)} within 30 h each").to_string()
    )


def of_study(name: str) -> pd.DataFrame:
    """Return one row per inconclusive claim of a study."""
    study = studies.load(name, designs.known())
    other = two_stages.reference(study, plan_of(study))
    measured = costs.of(other.plan, other.runs)
    asked = {need.finding: need for need in other.asked(None).needs}
    rows = []
    for result in findings.counted(other.results):
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

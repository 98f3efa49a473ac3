"""The page of verdicts, for all studies: self-contained, with links to the figures, notebooks, data and runs beside it."""

import json
from pathlib import Path

import pandas as pd

from plimsoll import designs, page
from plimsoll.claims import findings, verdicts

# Classes of the verdicts in the page's style sheet.
MARKS = {
    verdicts.REPRODUCED: "reproduced",
    verdicts.CONTRADICTED: "contradicted",
    verdicts.INCONCLUSIVE: "inconclusive",
    verdicts.NOT_TESTABLE: "untested",
    verdicts.UNAVAILABLE: "untested",
}


def render(results: list[dict], comparisons: dict[str, pd.DataFrame], studies: dict[str, dict]) -> str:
    """The page; `comparisons` by study, `studies` the built ones by name."""
    for name, table in comparisons.items():
        _name_cells(table, studies[name])
    by_claim = {claim: group.to_dict("records") for table in comparisons.values() for claim, group in table.groupby("claim")}
    shown = [
        {
            **result,
            "mark": MARKS[result["verdict"]],
            "rows": by_claim.get(result["id"], []),
            "tables": findings.tables_of(result, studies[result["study"]]) if result["study"] in studies else [],
            "figures": findings.figures_of(result, studies[result["study"]]) if result["study"] in studies else [],
        }
        for result in results
    ]
    return (
        page.environment()
        .get_template("claims.html.j2")
        .render(
            claims=shown,
            studies=sorted({result["study"] for result in results}, key=lambda name: (name not in studies, name)),
            titles={name: study["title"] for name, study in studies.items()},
            deviations={result["study"]: studies.get(result["study"], {}).get("deviations", []) for result in results},
            summary=sorted(
                findings.summarise(results), key=lambda row: (row["study"] not in studies, row["study"], row["question"])
            ),
            repeated=len(results) - len(findings.counted(results)),
            verdicts=verdicts.VERDICTS,
            marks=MARKS,
            margin=findings.MARGIN,
        )
    )


def _name_cells(table: pd.DataFrame, study: dict) -> None:
    """Add columns with the cells' names for people."""
    design = designs.find(study["design"])
    for side, metric in (("a", "metric"), ("b", "metric_b")):
        table[f"name_{side}"] = [
            design.short(cell, study["metrics"][name]) if name in study["metrics"] and "/" in str(cell) else cell
            for cell, name in zip(table[f"cell_{side}"], table[metric].fillna(""), strict=True)
        ]


def read(folder: Path) -> tuple[list[dict], pd.DataFrame]:
    """(verdicts, comparisons) of a study, as `write` left them."""
    return json.loads((folder / "claims.json").read_text()), pd.read_csv(folder / "comparisons.csv")


def write(folder: Path, results: list[dict], comparisons: pd.DataFrame) -> None:
    """Put a study's verdicts into its results folder."""
    (folder / "claims.json").write_text(json.dumps(results, indent=1, allow_nan=True) + "\n")
    comparisons.to_csv(folder / "comparisons.csv", index=False)

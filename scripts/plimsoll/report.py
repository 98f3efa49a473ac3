"""One self-contained page: host, what ran, what could not and why, verdicts, figures, and what the study's design adds."""

import base64
import json
from pathlib import Path

import pandas as pd

from plimsoll import behaviour, collect, designs, host, page, record, study
from plimsoll import figures as drawing
from plimsoll import plan as planning
from plimsoll.claims import findings, verdicts
from plimsoll.claims import page as claims_page

# Of a figure as wide as a column of a paper.
COLUMN_REM, COLUMN_INCHES = 30, 3.5


def render(study_name: str, folder: Path) -> str:
    """The report of a study from what lies in its results folder."""
    loaded = study.load(study.STUDIES / f"{study_name}.yaml")
    design = designs.find(loaded["design"])
    plan = collect.load_plan(folder)
    runs, observations, tests = (
        collect.table(folder / name, plan["factors"]) for name in ("runs.csv", "observations.csv", "tables/tests.csv")
    )
    image = json.loads(Path(f"results/images/{loaded['image']}.json").read_text())
    found = json.loads(Path("results/host.json").read_text())
    results, _ = claims_page.read(folder)
    return (
        page.environment()
        .get_template(design.template)
        .render(
            study=loaded,
            plan=plan,
            host_table=host.table(found),
            host=found,
            image=image,
            summary=summarise(runs),
            not_counted=not_counted(runs, plan),
            repeated=int((runs["attempts"] > 1).sum()),
            attempts=int(runs["attempts"].sum()),
            impossible=impossible(plan),
            figures=figures(folder, loaded, plan, results),
            claims_of_table={name: _of_table(results, loaded, name) for name in loaded.get("measured_tables", {})},
            minutes=(runs["started"].max() - runs["started"].min()) / 60,
            version=_version(),
            summary_of_claims=findings.summarise(results),
            verdicts=verdicts.VERDICTS[:4],
            marks=claims_page.MARKS,
            findings={
                verdict: [result for result in findings.counted(results) if result["verdict"] == verdict]
                for verdict in verdicts.VERDICTS[:3]
            },
            behaviour=behaviour.describe(design.measuring(observations), plan["factors"]),
            **design.report(folder, loaded, plan, observations, runs, tests),
        )
    )


def not_counted(runs: pd.DataFrame, plan: dict) -> list[dict]:
    """Runs that gave no observation: cell, repetition, status and reason."""
    rows = runs[~runs["status"].isin(record.COUNTED)].fillna("").to_dict("records")
    return [{**row, "cell": "/".join(str(row[factor]) for factor in plan["factors"])} for row in rows]


def _version() -> str:
    from importlib.metadata import version

    return version("plimsoll")


def summarise(runs: pd.DataFrame) -> list[dict]:
    """Runs by status."""
    counts = runs["status"].value_counts()
    return [{"status": status, "runs": int(number)} for status, number in counts.items()]


def impossible(plan: dict) -> list[dict]:
    """Reasons for cells that cannot be measured here, with how many cells each concerns."""
    reasons: dict[str, int] = {}
    for cell in plan["cells"].values():
        if cell["reason"]:
            reasons[cell["reason"]] = reasons.get(cell["reason"], 0) + 1
    return [{"reason": reason, "cells": number} for reason, number in reasons.items()]


def figures(folder: Path, loaded: dict, plan: dict, results: list[dict]) -> list[dict]:
    """Each figure as data for the page, with caption, what the paper says, and the claims that it shows; without an image where
    it cannot be made here."""
    found = []
    for name, figure in loaded["figures"].items():
        reason = planning.why_not(plan, loaded, name)
        picture = None if reason else (folder / f"figures/{name}.png").read_bytes()
        found.append(
            {
                "name": name,
                "number": name.removeprefix("fig").lstrip("0"),
                "heading": _heading(name, figure.get("section") or loaded["experiments"][figure["experiment"]]["section"]),
                "title": drawing.title(loaded, name),
                "image": picture and base64.b64encode(picture).decode(),
                "width": picture and _width(picture),
                "caption": (folder / f"figures/{name}.txt").read_text().strip(),
                "paper": loaded.get("paper_findings", {}).get(name, ""),
                "claims": [result for result in results if name in findings.figures_of(result, loaded)],
            }
        )
    return found


def _width(png: bytes) -> float:
    """Width of a picture on the page in rem: that of one column is COLUMN_REM, and of two twice as much."""
    return round(COLUMN_REM * int.from_bytes(png[16:20], "big") / (300 * COLUMN_INCHES), 1)


def _heading(name: str, section: str) -> str:
    """Figure 5 (section 4.4), or the name of a figure that is not the paper's."""
    if not name.startswith("fig"):
        return f"{name.capitalize()} ({section})"
    return f"Figure {name.removeprefix('fig').lstrip('0')} (section {section})"


def _of_table(results: list[dict], loaded: dict, name: str) -> list[dict]:
    return [result for result in results if name in findings.tables_of(result, loaded)]

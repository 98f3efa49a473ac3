"""This design's part of a study's page: the programs, the benchmarks and their windows, the tables and the overheads."""

from pathlib import Path

import pandas as pd

from plimsoll import design, workloads
from plimsoll.designs.overhead import words
from plimsoll.interchange import ABSENT, Plan
from plimsoll.measuring import plan_file, status
from plimsoll.pages import study_tables
from plimsoll.pages.report import Sources


class Report(design.Report):
    """Page of a study of overhead."""

    TEMPLATE = "overhead/report.html.j2"
    GLOSSARY = words.GLOSSARY
    cell_label = staticmethod(words.cell)
    level = staticmethod(words.level)
    row = staticmethod(words.row)

    def content(
        self, sources: Sources, study: dict, plan: Plan, observations: pd.DataFrame, runs: pd.DataFrame, tests: pd.DataFrame
    ) -> dict:
        """Return this design's variables of the page's template."""
        measurable = [cell for cell in plan["cells"].values() if cell["reason"] is None]
        return {
            "programs": plan_file.image(sources.image)["files"],
            "benchmarks": benchmarks(measurable, runs),
            "windows": sorted({cell["window_seconds"] for cell in measurable}),
            "warm_up": max((cell["warm_up_seconds"] for cell in measurable), default=0),
            "memory": next((cell["memory_bytes"] for cell in measurable if cell["storage"] != ABSENT), None),
            "second_host": plan.get("second_host"),
            "tables": tables(sources.tables, study),
            "statistics": readable(tests).to_dict("records"),
        }


def benchmarks(measurable: list[dict], runs: pd.DataFrame) -> list[dict]:
    """Return one row per benchmark and runtime: its parameters, and how many iterations were made and how many count."""
    valid = runs[runs["status"] == status.VALID]
    rows = []
    for cell in measurable:
        own = valid[(valid["benchmark"] == cell["benchmark"]) & (valid["runtime"] == cell["runtime"])]
        own = own[own["storage"].astype(str) == cell["storage"]]
        size = {name: value for name, value in cell["parameters"].items() if name != "second_host"}
        rows.append(
            {
                "label": workloads.find(cell["benchmark"]).label,
                "environment": words.environment(cell["runtime"], cell["storage"]),
                "parameters": ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in size.items()),
                "runs": len(own),
                "made": int(own["iterations"].sum()) if len(own) else 0,
                "counted": int(own["counted"].sum()) if len(own) else 0,
            }
        )
    return sorted(rows, key=lambda one: (one["label"], one["environment"]))


def tables(folder: Path, study: dict) -> list[dict]:
    """Return the study's tables as rows for the page."""
    return [{**told, "rows": readable(made).to_dict("records")} for told, made in study_tables.of_study(folder, study)]


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with empty cells where there is no value, and a column with runtimes in words."""
    told = table.assign(environment=_environments(table)) if "runtime" in table else table
    return study_tables.without_gaps(told)


def _environments(table: pd.DataFrame) -> list[str]:
    storage = table["storage"] if "storage" in table else [ABSENT] * len(table)
    return [words.environment(runtime, where) for runtime, where in zip(table["runtime"], storage, strict=True)]

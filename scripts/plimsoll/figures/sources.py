"""Read from a chart's source which notebook shows it, and what it needs of a figure.

The workflow needs this at every start, and importing the code that draws takes seconds. So nothing is imported here.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from plimsoll import paths
from plimsoll.errors import PlimsollError

NOTEBOOKS = paths.PROJECT / "notebooks"


@dataclass(frozen=True)
class Source:
    """A chart as its source describes it; see `figures.chart.Chart`."""

    name: str
    notebook: str
    metrics: str
    option: str
    file: Path


@cache
def charts(folder: Path) -> dict[str, Source]:
    """Return every chart of a design's `charts` folder, by name."""
    known = {}
    for file in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            values = _strings(node) if isinstance(node, ast.ClassDef) else {}
            if {"name", "notebook"} <= set(values):
                given = values.get("metrics", "several"), values.get("option", "")
                known[values["name"]] = Source(values["name"], values["notebook"], *given, file)
    return known


def check(study: dict, source: str, folder: Path, refer: Callable[[str, list, list], None]) -> None:
    """Raise PlimsollError for a figure whose chart is unknown, has no notebook, or needs other metrics or options.

    `refer(key, values, known)` raises it for a value that is not known. `source` names the study's file.
    """
    known = charts(folder)
    for name, figure in study["figures"].items():
        refer(f"figures.{name}.chart", [figure["chart"]], sorted(known))
        chart, number = known[figure["chart"]], len(figure.get("metrics", []))
        if not notebook(chart).is_file():
            raise PlimsollError(f"{source}: figures.{name}.chart: its notebook notebooks/{chart.notebook}.ipynb is not there.")
        if (chart.metrics == "one" and number != 1) or (chart.metrics == "several" and not number):
            wanted = {"one": "one metric", "several": "one metric or more"}[chart.metrics]
            raise PlimsollError(f"{source}: figures.{name}.metrics names {number}, and the chart {chart.name} shows {wanted}.")
        if chart.option and chart.option not in figure:
            raise PlimsollError(f"{source}: figures.{name}.{chart.option} is missing: the chart {chart.name} needs it.")


def notebook(chart: Source) -> Path:
    """Return the path of the notebook that shows figures of a chart."""
    return NOTEBOOKS / f"{chart.notebook}.ipynb"


def _strings(node: ast.ClassDef) -> dict[str, str]:
    return {
        target.id: statement.value.value
        for statement in node.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name) and isinstance(statement.value.value, str)
    }

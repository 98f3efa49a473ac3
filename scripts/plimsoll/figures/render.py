"""Make a figure from a study's records: gather its data, and run its notebook on them."""

import importlib
import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from plimsoll.analysis import collect, observation
from plimsoll.config.studies import Study
from plimsoll.errors import PlimsollError
from plimsoll.figures.data import FigureData
from plimsoll.host import private
from plimsoll.interchange import Plan
from plimsoll.measuring import progress, status
from plimsoll.planning import availability

# Keys of a figure that its chart receives.
OPTIONS = ("bars", "steps")
# Modules that a notebook needs.
NEEDED = ("papermill", "seaborn", "plimsoll.figures.in_process", "plimsoll.figures.notebook")
# The beginning of Python's message about an error of the operating system.
REFUSED = re.compile(r"\[Errno (?P<number>[0-9]+)\] ")


def gather(study: Study, plan: Plan, name: str, results: Path, judged: Path | None) -> FigureData:
    """Return a figure's data from the records below `results`, the study's folder.

    `judged` is the list of all runs of the study, if there is one.
    """
    wanted = availability.figure_runs(plan, study, name)
    observations, runs = collect.collect_some(results / "runs", plan, study, wanted, judged)
    tables = study.design.figures.figure_tables(study, plan, name, results, wanted)
    told = figure_data(study, plan, name, observations, tables)
    return replace(told, reason=told.reason or nothing_counts(told, runs))


def nothing_counts(data: FigureData, runs: pd.DataFrame) -> str | None:
    """Return why a figure has nothing to show although its `runs` were planned.

    Return None if it has something to show, or needs no run.
    """
    if runs.empty or data.observations["metric"].isin(data.metrics).any():
        return None
    if len(data.observations):
        return "its runs have no value of its metrics"
    none = f"none of its {len(runs)} run{'s' if len(runs) > 1 else ''} counts"
    tried = runs[~runs["status"].isin((status.DAMAGED, status.STALE))]
    if tried.empty:
        return f"{none}, as there is no record of them that can be used"
    (ended, reason), number = Counter(zip(tried["status"], tried["reason"], strict=True)).most_common(1)[0]
    return f"{none} ({number} {ended}: {reason})"


def figure_data(study: Study, plan: Plan, name: str, observations, tables: dict) -> FigureData:
    """Return a figure's data from its observations and tables, and from what the plan says of its cells."""
    figure = study["figures"][name]
    metrics = figure.get("metrics", [])
    own = study.design.figures.figure_options(plan, study, name)
    unavailable = availability.figure(plan, study, name)
    of_cell = [*plan["factors"], *own.pop("of_cell")]
    cells = availability.shown_cells(plan, study, name)
    return FigureData(
        study=study["id"],
        name=name,
        title=title(study, name),
        design=plan["design"],
        chart=figure["chart"],
        factors=plan["factors"],
        metrics={metric: {key: study["metrics"][metric][key] for key in observation.DESCRIBED} for metric in metrics},
        repetitions=_planned(plan, cells),
        profile=plan["profile"],
        cells=[{key: cell[key] for key in (*of_cell, "repetitions")} for cell in cells if cell["reason"] is None],
        missing=sorted({f"{cell[plan['factors'][0]]}: {cell['reason']}" for cell in cells if cell["reason"]}),
        unavailable={metric: one.reason for metric, one in availability.metrics(plan, study, metrics).items()},
        reason=unavailable and unavailable.reason,
        options={**own, **{key: figure[key] for key in OPTIONS if key in figure}},
        observations=observations,
        tables=tables,
    )


def _planned(plan: Plan, cells: list[dict]) -> int:
    """Return how many runs of each of these cells were planned: the plan's number, or fewer if the design asks for fewer."""
    return min(plan["repetitions"], max((cell["repetitions"] for cell in cells), default=0) or plan["repetitions"])


def title(study: dict, name: str) -> str:
    """Return a figure's title: its own, or the labels of its metrics."""
    figure = study["figures"][name]
    return figure.get("title") or ", ".join(study["metrics"][metric]["label"] for metric in figure["metrics"])


class Drawing(NamedTuple):
    """A study whose figures are drawn from the records below `results`; `judged` is the list of all its runs, or None."""

    study: Study
    plan: Plan
    results: Path
    judged: Path | None

    def gathered(self, name: str) -> FigureData:
        """Return a figure's data."""
        return gather(self.study, self.plan, name, self.results, self.judged)

    def into(self, name: str, notebook: Path, folder: Path) -> None:
        """Draw a figure into a folder that looks like the folder of the study's results."""
        output, executed = folder / "figures" / name, folder / "notebooks" / f"{name}.ipynb"
        run(self.gathered(name), notebook, folder, output, executed)

    def is_measured(self, name: str) -> bool:
        """Return whether this start of the workflow has no run of a figure left to measure."""
        waiting = progress.waiting(self.results / "progress")
        wanted = availability.figure_runs(self.plan, self.study, name) if waiting else []
        return waiting.isdisjoint(f"{cell}/{repetition}" for cell, repetition in wanted)


def prepare() -> None:
    """Import what drawing needs, which takes longer than to draw most figures."""
    # Without this, Matplotlib asks for a display.
    os.environ.setdefault("MPLBACKEND", "Agg")
    for name in NEEDED:
        importlib.import_module(name)


def run(data: FigureData, notebook: Path, results: Path, output: Path, executed: Path) -> None:
    """Write a figure's data, and run its notebook on them.

    Write <output>.pdf, .png, .values.json, .csv, .txt, .alt.txt, .json and .observations.csv, and the notebook with its
    results to `executed`.

    Raise PlimsollError with the notebook's own message if one of its cells fails. Raise OSError if it fails because the
    host lacks a resource. The notebook is kept as far as it has run.
    """
    # Imported here, because the code that draws in a notebook imports this file and does not need it.
    from plimsoll.measuring import resources

    prepare()
    import papermill

    from plimsoll.figures import in_process

    data.write(output.parent)
    parameters = {"results": str(results.resolve()), "figure": data.name, "output": str(output.resolve())}
    try:
        # Without this, IPython writes files to the user's home.
        with private.temporary(private.FIGURE) as folder:
            os.environ["IPYTHONDIR"] = str(folder)
            papermill.execute_notebook(
                str(notebook), str(executed), parameters, in_process.NAME, kernel_name="python3", progress_bar=False
            )
    except papermill.PapermillExecutionError as problem:
        refused = REFUSED.match(problem.evalue)
        if refused and int(refused["number"]) in resources.OF_THE_HOST:
            # The host lacks a resource, such as room on a disk. Anyone who runs the notebook here would get this error.
            raise OSError(int(refused["number"]), problem.evalue, data.name) from problem
        raise PlimsollError(
            f"{data.name}: its notebook failed with {problem.ename}: {problem.evalue} (see {executed})."
        ) from problem

"""Runs a figure's notebook with its parameters."""

import os
import tempfile
from pathlib import Path

from plimsoll import collect, designs, paths, study
from plimsoll import plan as planning
from plimsoll.errors import PlimsollError


def render(study_name: str, figure_name: str, results: Path) -> None:
    """Run the notebook of a figure on the records below `results`, the study's folder.

    Leaves the figure as PDF, PNG and CSV, its observations and its caption in figures/, and the notebook in notebooks/.
    Raises PlimsollError with the notebook's own words if a cell of it fails; the notebook as far as it ran is kept.
    """
    # Matplotlib otherwise asks for a display, and Jupyter for a home that can be written.
    os.environ.setdefault("MPLBACKEND", "Agg")
    import papermill
    from traitlets.config import Config

    loaded = study.load(study.STUDIES / f"{study_name}.yaml")
    figure = loaded["figures"][figure_name]
    plan = collect.load_plan(results)
    stem = (results / "figures" / figure_name).resolve()
    output = results / "notebooks" / f"{figure_name}.ipynb"
    runs = planning.figure_runs(plan, loaded, figure_name)
    observations, _ = collect.collect(results, plan, loaded, runs)
    observations.to_csv(f"{stem}.observations.csv", index=False)
    designs.find(plan["design"]).gather(loaded, plan, figure_name, results, runs)
    parameters = {
        "observations": f"{stem}.observations.csv",
        "output": str(stem),
        "title": title(loaded, figure_name),
        "metrics": figure.get("metrics", []),
        **({"bars": figure["bars"]} if "bars" in figure else {}),
        "plan": shown(plan, loaded, figure_name),
    }
    notebook = paths.PROJECT / f"notebooks/{figure['notebook']}.ipynb"
    try:
        # The kernel is reached through files that only this user can open, not through the loopback network; in a folder of its
        # own, as two figures may be drawn at once.
        with tempfile.TemporaryDirectory(prefix="figure-") as folder:
            papermill.execute_notebook(
                str(notebook),
                str(output),
                parameters,
                kernel_name="python3",
                progress_bar=False,
                config=Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}}),
            )
    except papermill.PapermillExecutionError as problem:
        raise PlimsollError(
            f"{figure_name}: its notebook failed with {problem.ename}: {problem.evalue} (see {output})."
        ) from problem


def title(loaded: dict, figure_name: str) -> str:
    """A figure's title: its own, or its metrics' labels."""
    figure = loaded["figures"][figure_name]
    return figure.get("title") or ", ".join(loaded["metrics"][metric]["label"] for metric in figure["metrics"])


def shown(plan: dict, loaded: dict, figure_name: str) -> dict:
    """What a figure's notebook is told of the plan: repetitions, the cells that can be measured here, and what cannot and why.

    `why_not` is the reason if nothing of the figure can be, `unseen` the reasons for single metrics; the design adds its own.
    """
    cells = planning.shown(plan, loaded, figure_name)
    own = designs.find(plan["design"]).notebook(plan, loaded, figure_name)
    of_cell = [*plan["factors"], *own.pop("of_cell")]
    return {
        **own,
        "repetitions": plan["repetitions"],
        "profile": plan["profile"],
        "cells": [{key: cell[key] for key in of_cell} for cell in cells if cell["reason"] is None],
        "impossible": sorted({f"{cell[plan['factors'][0]]}: {cell['reason']}" for cell in cells if cell["reason"]}),
        "why_not": planning.why_not(plan, loaded, figure_name),
        "unseen": planning.unseen(plan, loaded, loaded["figures"][figure_name].get("metrics", [])),
    }

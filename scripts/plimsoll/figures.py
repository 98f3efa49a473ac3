"""Runs a figure's notebook with its parameters."""

import json
import os
from pathlib import Path

from plimsoll import paths, study
from plimsoll.errors import PlimsollError


def render(study_name: str, figure_name: str, observations: Path, output: Path) -> None:
    """Run the notebook of a figure; it leaves the figure as PDF, PNG and CSV beside the observations, itself at `output`.

    Raises PlimsollError with the notebook's own words if a cell of it fails; the notebook as far as it ran is kept.
    """
    # Matplotlib otherwise asks for a display, and Jupyter for a home that can be written.
    os.environ.setdefault("MPLBACKEND", "Agg")
    import papermill
    from traitlets.config import Config

    loaded = study.load(study.STUDIES / f"{study_name}.yaml")
    figure = loaded["figures"][figure_name]
    parameters = {
        "observations": str(observations.resolve()),
        "output": str((observations.parent / figure_name).resolve()),
        "title": f"{figure_name}: {loaded['metrics'][figure['metric']]['label']}",
        "metric": figure["metric"],
        "plan": _cells(observations.parent.parent / "plan.json", figure, loaded),
    }
    notebook = paths.PROJECT / f"notebooks/{figure['notebook']}.ipynb"
    try:
        # The kernel is reached through files that only this user can open, not through the loopback network.
        papermill.execute_notebook(
            str(notebook),
            str(output),
            parameters,
            kernel_name="python3",
            progress_bar=False,
            config=Config({"KernelManager": {"transport": "ipc"}}),
        )
    except papermill.PapermillExecutionError as problem:
        raise PlimsollError(
            f"{figure_name}: its notebook failed with {problem.ename}: {problem.evalue} (see {output})."
        ) from problem


def _cells(plan_path: Path, figure: dict, loaded: dict) -> dict:
    """What the plan wanted in the figure: repetitions, and the cells that cannot be measured here with the reason."""
    plan = json.loads(plan_path.read_text())
    section = loaded["metrics"][figure["metric"]]["section"]
    shown = [c for c in plan["cells"].values() if figure["experiment"] in c["experiments"] and c["section"] == section]
    keys = ("hardware", "mode", "scheme", "runtime", "affinity", "containers", "ranks_per_container")
    return {
        "repetitions": plan["repetitions"],
        "profile": plan["profile"],
        "cells": [{key: cell[key] for key in keys} for cell in shown if cell["reason"] is None],
        "impossible": sorted({f"{cell['hardware']}: {cell['reason']}" for cell in shown if cell["reason"]}),
    }

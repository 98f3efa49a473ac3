"""Tries runtimes by what runs do: of each kind of runs of a runtime one is made, with the smallest problem.

It is made as runs are (plimsoll.measure), in the folder of the study's results, and its output is judged as theirs is. It needs
no idle machine, leaves no record, and its raw output stays only if it fails.
"""

import contextlib
import math
import shutil
from collections.abc import Mapping
from pathlib import Path

from plimsoll import designs, measure
from plimsoll.errors import Lasting, Outage, Unavailable
from plimsoll.interchange import Cell, Image, Plan
from plimsoll.measuring import status

# No run of a plan has this number.
REPETITION = 0
# What fails once may have been a fault of the moment.
ATTEMPTS = 2
# A trial may have company.
LIMITS = {
    "idle": {"busy_share": math.inf, "window_seconds": 0.01, "wait_seconds": 0},
    "neighbours": {"share": math.inf, "seconds": math.inf},
}
WORKS = (*status.COUNTED, status.DISTURBED)


def trials(plans: Mapping[Path, Plan], image: Image, runtime: str) -> dict[str, str | None]:
    """By kind of runs, why those of a runtime do not work; None if they do. `plans` are those of studies that run the image, by
    the folder of the study's results. Unavailable if none works."""
    made = {kind: _problem(run) for kind, run in _runs(plans, image, runtime).items()}
    if made and all(made.values()):
        raise Unavailable("; ".join(dict.fromkeys(filter(None, made.values()))))
    return made


def _runs(plans: Mapping[Path, Plan], image: Image, runtime: str) -> dict[str, measure.Run]:
    """A run of each kind: of the first study that has one."""
    runs: dict[str, measure.Run] = {}
    for folder, plan in plans.items():
        design = designs.find(plan["design"])
        by_kind: dict[str, list[Cell]] = {}
        for cell in plan["cells"].values():
            if cell["runtime"] == runtime and not cell["reason"]:
                by_kind.setdefault(design.cells.kind(cell), []).append(cell)
        quiet = {**plan, "limits": {**plan["limits"], **LIMITS}}
        for kind in by_kind.keys() - runs.keys():
            if cell := design.cells.trial(plan, by_kind[kind]):
                runs[kind] = measure.Run(quiet, cell, REPETITION, folder, image)
    return dict(sorted(runs.items()))


def _problem(run: measure.Run) -> str | None:
    """Why a run does not work; None if it does. Lasting if no run of any runtime would count."""
    reason = None
    for _ in range(ATTEMPTS):
        found, outage = measure.make_attempt([run])
        if isinstance(outage, Lasting):
            raise outage
        outcome = found[run.cell["path"]]
        if outcome["status"] in WORKS:
            _remove_raw(run.study_folder, outcome["raw"])
            return None
        reason = outcome["reason"]
        if outage:
            try:
                measure.repair(run, outage)
            except Outage as problem:
                return f"{problem.cause} ({problem.remedy})"
    return reason


def _remove_raw(study_folder: Path, raw: str) -> None:
    """Remove the raw output of a trial, with the folders that it leaves empty."""
    folder = study_folder / raw
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        for above in folder.parents:
            if above == study_folder:
                break
            above.rmdir()

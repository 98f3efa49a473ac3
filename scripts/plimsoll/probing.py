"""Try runtimes by real runs: for each kind of runs of a runtime, one run with the smallest problem.

A trial is made as a run is (plimsoll.measure), in the folder of the study's results, and its output is judged in the
same way. It needs no idle machine and leaves no record. Its raw output is kept only if it fails.
"""

import contextlib
import math
import shutil
from collections.abc import Mapping
from pathlib import Path

from plimsoll import designs, measure, run_repair
from plimsoll.errors import Lasting, Outage, Unavailable
from plimsoll.interchange import Cell, Image, Plan
from plimsoll.measuring import status
from plimsoll.measuring.attempt import Run

# Repetition number of a trial. No run of a plan has it.
REPETITION = 0
# A single failure may have a cause that passes.
ATTEMPTS = 2
# Other programs may run during a trial, so these limits are infinite.
LIMITS = {
    "idle": {"busy_share": math.inf, "window_seconds": 0.01, "wait_seconds": 0},
    "neighbours": {"share": math.inf, "seconds": math.inf},
}
WORKS = (*status.COUNTED, status.DISTURBED)


def trials(plans: Mapping[Path, Plan], image: Image, runtime: str) -> dict[str, str | None]:
    """Try each kind of runs of a runtime. Return, by kind, why its runs do not work; None if they do.

    `plans` has the plans of the studies that run the image, by the folder of the study's results. Raise Unavailable if
    no kind works.
    """
    made = {kind: _problem(run) for kind, run in _runs(plans, image, runtime).items()}
    if made and all(made.values()):
        raise Unavailable("; ".join(dict.fromkeys(filter(None, made.values()))))
    return made


def _runs(plans: Mapping[Path, Plan], image: Image, runtime: str) -> dict[str, Run]:
    """Return one run per kind, from the first study that has this kind."""
    runs: dict[str, Run] = {}
    for folder, plan in plans.items():
        design = designs.find(plan["design"])
        by_kind: dict[str, list[Cell]] = {}
        for cell in plan["cells"].values():
            if cell["runtime"] == runtime and not cell["reason"]:
                by_kind.setdefault(design.cells.kind(cell), []).append(cell)
        quiet = {**plan, "limits": {**plan["limits"], **LIMITS}}
        for kind in by_kind.keys() - runs.keys():
            if cell := design.cells.trial(plan, by_kind[kind]):
                runs[kind] = Run(quiet, cell, REPETITION, folder, image)
    return dict(sorted(runs.items()))


def _problem(run: Run) -> str | None:
    """Return why a run does not work; None if it does. Raise Lasting if no run of any runtime would count."""
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
                run_repair.repair(run, outage)
            except Outage as problem:
                return f"{problem.cause} ({problem.remedy})"
    return reason


def _remove_raw(study_folder: Path, raw: str) -> None:
    """Remove the raw output of a trial, and the folders above that are empty then."""
    folder = study_folder / raw
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        for above in folder.parents:
            if above == study_folder:
                break
            above.rmdir()

"""Check that the targets of a command have runs that count, and are not only files."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from plimsoll.analysis import complete
from plimsoll.config.studies import Study
from plimsoll.errors import DamagedFile, PlimsollError, first_of
from plimsoll.interchange import Plan
from plimsoll.measuring import failing_groups, record, status
from plimsoll.planning import availability
from plimsoll.terminal import measured_runs, request

MEASUREMENTS = "measurements"
# Made from all runs, and requested only by people. Stages also request verdicts and tests, and go on without such runs.
REPORT = "report.html"
NOT_MEASURED = "not measured"
Run = tuple[str, int]


def refuse_missing(
    targets: Iterable[str], selected: Iterable[str], studies: Mapping[str, Study], plans: Mapping[str, Plan]
) -> None:
    """Raise PlimsollError if a target has a cell without a run that counts, or shows cells that this start has given up.

    A target is a record, a figure, a table, or the measurements of the `selected` studies.
    """
    problems = []
    for target in targets:
        for name in selected if target == MEASUREMENTS else request.studies_of([target]):
            if runs := _runs(target, studies[name], plans[name]):
                problems += [f"{target}: {problem}" for problem in _problems(plans[name], runs)]
            if _is_given_up(target, studies[name], plans[name]):
                complete.refuse_given_up(plans[name])
    if problems:
        raise PlimsollError("; ".join(problems) + ". docs/reference/statuses.md says which are tried again at the next start.")


def _runs(target: str, study: Study, plan: Plan) -> list[Run]:
    """Return the runs that a target names, or that it is made from; none for the verdicts and tests of a whole study."""
    if target == MEASUREMENTS or Path(target).name == REPORT:
        return plan["order"]
    return request.runs_of(target, study, plan) or []


def _is_given_up(target: str, study: Study, plan: Plan) -> bool:
    """Return whether a target shows cells that this start of the workflow has given up."""
    if target == MEASUREMENTS:
        return True
    name = Path(target).name.partition(".")[0]
    shown = availability.shown_cells(plan, study, name) if name in {**study["figures"], **study.get("tables", {})} else []
    return bool({cell["reason"] for cell in shown} & set(plan.get("given_up", {}).values()))


def _problems(plan: Plan, runs: list[Run]) -> list[str]:
    """Return in words how many of the runs count, and why others do not; empty if each cell has a run that counts."""
    folder = Path("results", plan["study"])
    there = measured_runs.of_runs(folder, plan, runs)
    counted = [run for run in runs if there.get(run) in status.COUNTED]
    if {cell for cell, _ in runs} <= {cell for cell, _ in counted}:
        return []
    others = [_reason(folder, run, there.get(run)) for run in runs if run not in set(counted)]
    numbers = Counter(alike for alike, _ in others)
    words = dict(reversed(others))
    why = first_of([f"{words[alike]} ({number})" for alike, number in numbers.most_common()], between="; ")
    return [f"{len(counted)} of {len(runs)} runs asked for count; the others do not: {why}"]


def _reason(folder: Path, run: Run, stands: str | None) -> tuple[object, str]:
    """Return (key, words) on why a run does not count. Runs that fail alike have the same key."""
    if stands in (None, measured_runs.STALE, measured_runs.DAMAGED):
        return stands, stands or NOT_MEASURED
    try:
        found = record.read(record.path_of(folder / "runs", *run))
    except DamagedFile:
        return measured_runs.DAMAGED, measured_runs.DAMAGED
    return failing_groups.likeness_key(found), f"{found['status']}: {found['reason']}"

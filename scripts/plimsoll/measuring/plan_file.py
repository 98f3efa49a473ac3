"""Read a study's plan, for the runs and stages that come after its making."""

from collections.abc import Iterable
from pathlib import Path

from plimsoll import documents
from plimsoll.design import Factors
from plimsoll.errors import DamagedFile, PlimsollError, quote
from plimsoll.interchange import Cell, Image, Plan, PlanHead

# Keys of a cell that can be measured.
OF_MEASURABLE = ("parameters", "expected_seconds", "fingerprint")
AGAIN = "delete it, and type the command again, which writes a new one"


def read(path: Path, factors: Factors | None = None) -> Plan:
    """Return a study's plan, with the runs in its order as (cell, repetition) tuples.

    The `factors` of its design, if they are given, say which keys its cells have. Raise DamagedFile if the file does not
    hold a plan.
    """
    plan = documents.read(path, Plan, AGAIN)
    try:
        if factors:
            documents.fit(plan, factors.PLAN)
            documents.fit(plan["cells"], dict[str, factors.CELL])
            if plan["factors"] != list(factors.FACTORS):
                raise documents.Misfit("its factors are not those of its design")
        _refuse_unknown(plan)
    except documents.Misfit as misfit:
        raise _damaged(path, misfit) from misfit
    plan["order"] = [tuple(run) for run in plan["order"]]
    return plan


def _refuse_unknown(plan: Plan) -> None:
    """Raise Misfit if a cell lacks a factor, or a key that a measurable cell has, or has another path than its key.

    Raise Misfit also if the order names a cell that is not there or cannot be measured.
    """
    cells = plan["cells"]
    for path, cell in cells.items():
        needed = [*plan["factors"], *(() if cell["reason"] else OF_MEASURABLE)]
        if lacking := [key for key in needed if key not in cell]:
            raise documents.Misfit(f"the cell {quote(path)} lacks {quote(lacking[0])}")
        if cell["path"] != path:
            raise documents.Misfit(f"the cell {quote(path)} has another path")
    for path in dict.fromkeys(path for path, _ in plan["order"]):
        if path not in cells or cells[path]["reason"]:
            raise documents.Misfit(f"its order has {quote(path)}, which is no cell that can be measured")


def _damaged(path: Path, misfit: documents.Misfit) -> DamagedFile:
    return DamagedFile(f"{path} is damaged ({misfit}): {AGAIN}.")


def of_run(path: Path, cell: str, repetition: int) -> Plan:
    """Return a study's plan as a single run needs it. Only the run's cell is checked, because a plan has thousands.

    Raise PlimsollError if the plan cannot be read or has no such run, and DamagedFile if it does not hold what a plan does.
    """
    try:
        plan = documents.read(path, PlanHead, AGAIN)
    except OSError as error:
        raise PlimsollError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        _refuse_other_parts(plan)
        if cell not in plan["cells"]:
            raise PlimsollError(f"{path} has no cell {cell}. Nothing was measured. That file lists the study's cells.")
        documents.fit(plan["cells"][cell], Cell)
    except documents.Misfit as misfit:
        raise _damaged(path, misfit) from misfit
    if plan["cells"][cell]["reason"]:
        raise PlimsollError(f"The cell {cell} cannot be measured here: {plan['cells'][cell]['reason']}. Nothing was measured.")
    if [cell, repetition] not in plan["order"]:
        raise PlimsollError(
            f"{path} has no repetition {repetition} of {cell}. Nothing was measured. That file says how many each cell has."
        )
    return plan


def _refuse_other_parts(plan: dict) -> None:
    made, order = plan.get("cells"), plan.get("order")
    if type(made) is not dict or not all(type(cell) is dict for cell in made.values()):
        raise documents.Misfit("its cells are no dictionaries")
    if type(order) is not list or not all(type(run) is list and len(run) == 2 for run in order):
        raise documents.Misfit("its order does not consist of cells with repetitions")


def refuse_misfits(path: Path, plan: Plan, cells: Iterable[str], kind: type) -> None:
    """Raise DamagedFile if one of these cells of a plan is not of the type `kind`, the type of its design's cells."""
    try:
        documents.fit({cell: plan["cells"][cell] for cell in cells}, dict[str, kind])
    except documents.Misfit as misfit:
        raise _damaged(path, misfit) from misfit


def image(path: Path) -> Image:
    """Return the description of an image from its file. Raise DamagedFile if the file does not hold one."""
    return documents.read(path, Image, "delete it, and type the command again, which makes a new one")

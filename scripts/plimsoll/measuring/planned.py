"""The plan, as the runs and the stages read it that come after its making."""

from collections.abc import Iterable
from pathlib import Path

from plimsoll import documents
from plimsoll.design import Factors
from plimsoll.errors import Damaged, PlimsollError, shown
from plimsoll.interchange import Cell, Image, Plan, PlanHead

# What a cell that can be measured has.
OF_MEASURABLE = ("parameters", "expected_seconds", "fingerprint")
ANEW = "delete it, and start the workflow again, which writes it anew"


def read(path: Path, factors: Factors | None = None) -> Plan:
    """A study's plan, with its runs as pairs; with the `factors` of its design, which say what its cells have. Damaged if it
    does not hold what a plan does."""
    plan = documents.read(path, Plan, ANEW)
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
    """Misfit if a cell lacks a factor, or what one that can be measured has; if the order names no such cell."""
    cells = plan["cells"]
    for path, cell in cells.items():
        needed = [*plan["factors"], *(() if cell["reason"] else OF_MEASURABLE)]
        if lacking := [key for key in needed if key not in cell]:
            raise documents.Misfit(f"the cell {shown(path)} lacks {shown(lacking[0])}")
        if cell["path"] != path:
            raise documents.Misfit(f"the cell {shown(path)} has another path")
    for path in dict.fromkeys(path for path, _ in plan["order"]):
        if path not in cells or cells[path]["reason"]:
            raise documents.Misfit(f"its order has {shown(path)}, which is no cell that can be measured")


def _damaged(path: Path, misfit: documents.Misfit) -> Damaged:
    return Damaged(f"{path} is damaged ({misfit}): {ANEW}.")


def of_run(path: Path, cell: str, repetition: int) -> Plan:
    """A study's plan as a single run needs it: of its cells only the run's is looked at, as there are thousands. PlimsollError
    if the plan has no such run, Damaged if it does not hold what a plan does."""
    try:
        plan = documents.read(path, PlanHead, ANEW)
    except OSError as error:
        raise PlimsollError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        _refuse_other_parts(plan)
        if cell not in plan["cells"]:
            raise PlimsollError(f"{path} has no cell {cell}.")
        documents.fit(plan["cells"][cell], Cell)
    except documents.Misfit as misfit:
        raise _damaged(path, misfit) from misfit
    if plan["cells"][cell]["reason"]:
        raise PlimsollError(f"The cell {cell} cannot be measured here: {plan['cells'][cell]['reason']}.")
    if [cell, repetition] not in plan["order"]:
        raise PlimsollError(f"{path} has no repetition {repetition} of {cell}.")
    return plan


def _refuse_other_parts(plan: dict) -> None:
    made, order = plan.get("cells"), plan.get("order")
    if type(made) is not dict or not all(type(cell) is dict for cell in made.values()):
        raise documents.Misfit("its cells are no dictionaries")
    if type(order) is not list or not all(type(run) is list and len(run) == 2 for run in order):
        raise documents.Misfit("its order does not consist of cells with repetitions")


def refuse_misfits(path: Path, plan: Plan, cells: Iterable[str], kind: type) -> None:
    """Damaged if one of these cells of a plan does not hold what those of its design do."""
    try:
        documents.fit({cell: plan["cells"][cell] for cell in cells}, dict[str, kind])
    except documents.Misfit as misfit:
        raise _damaged(path, misfit) from misfit


def image(path: Path) -> Image:
    """The description of an image. Damaged if it does not hold what one does."""
    return documents.read(path, Image, "delete it, and start the workflow again, which makes it anew")

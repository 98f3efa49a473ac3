"""Kinds of tables of a study of a program."""

from plimsoll import design
from plimsoll.analysis.tables import Kind, TableRequest


def ladder(request: TableRequest):
    """Return what each runtime and each step costs, with intervals."""
    from plimsoll.designs.program import effects

    return effects.table(request.observations())


class Tables(design.Tables):
    """Kinds of tables of a study of a program."""

    KINDS = {"ladder": Kind("tables.ladder", {"runs"})}

"""Names of a table's levels for people, and the template of its page."""

from plimsoll import design
from plimsoll.designs.table.factors import as_written


class Report(design.Report):
    """Page of a table (plimsoll.designs.table.page makes it)."""

    TEMPLATE = "table/report.html.j2"

    def cell_label(self, path: str, metric: dict) -> str:
        """Return the levels of a cell."""
        return ", ".join(map(as_written, path.split("/")))

    def level(self, factor: str, name: str) -> str:
        """Return a level; one that is a number has the name of its factor."""
        shown = as_written(name)
        return f"{factor.replace('_', ' ')} {shown}" if _is_number(shown) else shown


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

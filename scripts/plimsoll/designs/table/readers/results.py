"""Results of Plimsoll: the observations that a study's folder has, also in an archive."""

from dataclasses import replace
from pathlib import Path

from plimsoll.analysis.independence import SESSION
from plimsoll.designs.table.readers.base import Reader, document, understood
from plimsoll.designs.table.readers.tables import lines
from plimsoll.designs.table.rows import Columns, Row, of_table

OBSERVATIONS, PLAN = "observations.csv", "plan.json"


class Results(Reader):
    """A folder of results, whose plan names the factors. Only the metrics that claims or the study name are read."""

    name = "plimsoll"
    says = "a folder of results of Plimsoll"

    def fits(self, path: Path, begun: str) -> bool:
        return path.is_dir() and all((path / name).is_file() for name in (OBSERVATIONS, PLAN))

    def read(self, path: Path, columns: Columns) -> list[Row]:
        with understood(path / PLAN, self.says):
            factors = tuple(document(path / PLAN)["factors"])
        # The file has columns of its own for every role.
        own = Columns(factors=columns.factors or factors)
        rows = of_table(lines(path / OBSERVATIONS), own, path / OBSERVATIONS)
        # All rows are read if none is wanted, so that a mistyped metric is refused with the nearest one.
        return [_in_session(row) for row in rows if row.metric in columns.metrics] or rows


def _in_session(row: Row) -> Row:
    """Return a row with the session that its block is numbered by (plimsoll.analysis.blocks), if there are several."""
    session = int(row.block or 0) // SESSION
    return replace(row, session=str(session)) if session else row


READERS = (Results(),)

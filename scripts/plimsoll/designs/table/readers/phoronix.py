"""Phoronix Test Suite: the composite.xml of a result."""

import xml.etree.ElementTree as ET
from pathlib import Path

from plimsoll.designs.table.readers.base import Reader, understood
from plimsoll.designs.table.rows import Columns, Row
from plimsoll.errors import PlimsollError

BETTER = {"HIB": "higher", "LIB": "lower"}


class Phoronix(Reader):
    """Phoronix' results: one row per trial (RawString). Results without trials are left out.

    The factors are `system`, the identifier of a run, and `test` with its arguments. A metric is named by its test's title.
    """

    name = "phoronix"
    says = "a result of the Phoronix Test Suite"

    def fits(self, path: Path, begun: str) -> bool:
        return "<PhoronixTestSuite" in begun

    def read(self, path: Path, columns: Columns) -> list[Row]:
        text = path.read_text(errors="replace")
        if "<!ENTITY" in text:
            raise PlimsollError(
                f"{path}: it defines XML entities, which are not read because a result needs none. Export the result again."
            )
        try:
            root = ET.fromstring(text)
        except ET.ParseError as error:
            raise PlimsollError(f"{path}, line {error.position[0]}: not valid XML: {error.msg}.") from error
        with understood(path, self.says):
            return [row for number, one in enumerate(root.iter("Result"), 1) for row in _rows(path, number, one)]


def _rows(path: Path, number: int, result: ET.Element) -> list[Row]:
    said = {name: (result.findtext(name) or "").strip() for name in ("Title", "Description", "Scale", "Proportion")}
    metric = said["Title"].lower().replace(" ", "_")
    rows = []
    for entry in result.iter("Entry"):
        levels = {"system": entry.findtext("Identifier").strip(), "test": said["Description"]}
        trials = (entry.findtext("RawString") or "").split(":")
        rows += [
            Row(levels, metric, f"{path}, result {number}", float(trial), unit=said["Scale"], better=BETTER[said["Proportion"]])
            for trial in trials
            if trial
        ]
    return rows


READERS = (Phoronix(),)

"""Phoronix Test Suite: the composite.xml of a result."""

import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

from plimsoll.designs.table.readers.base import Reader, understood
from plimsoll.designs.table.rows import Columns, Row
from plimsoll.errors import PlimsollError

BETTER = {"HIB": "higher", "LIB": "lower"}


class Phoronix(Reader):
    """Phoronix' results: one row per trial (RawString). Results without trials are left out.

    The factors are `system`, the identifier of a run, and `test` with its arguments. A metric is named by its test's title,
    and by its unit if the title has several.
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
            results = list(root.iter("Result"))
            units = defaultdict(set)
            for one in results:
                units[_metric(one)].add(_said(one, "Scale"))
            return [
                row for number, one in enumerate(results, 1) for row in _rows(path, number, one, len(units[_metric(one)]) > 1)
            ]


def _said(result: ET.Element, name: str) -> str:
    return (result.findtext(name) or "").strip()


def _metric(result: ET.Element) -> str:
    return _said(result, "Title").lower().replace(" ", "_")


def _rows(path: Path, number: int, result: ET.Element, by_unit: bool) -> list[Row]:
    said = {name: _said(result, name) for name in ("Description", "Scale", "Proportion")}
    metric = f"{_metric(result)}_{said['Scale'].lower().replace(' ', '_')}" if by_unit else _metric(result)
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

"""ReFrame: its performance log, and its report."""

from pathlib import Path

from plimsoll.designs.table.readers.base import Reader, document, understood, varying
from plimsoll.designs.table.readers.tables import lines
from plimsoll.designs.table.rows import Columns, Row, better_by, number

# Columns of the performance log that are factors if they vary.
FACTORS = ("display_name", "system", "partition", "environ")
# Ends of columns of the performance log: `copy_bw_value` and `copy_bw_unit` are of the variable `copy_bw`.
VALUE, UNIT = "_value", "_unit"


class PerformanceLog(Reader):
    """ReFrame's performance log (CSV with |): one row per performance variable of each line."""

    name = "reframe-perflog"
    says = "a performance log of ReFrame"

    def fits(self, path: Path, begun: str) -> bool:
        head = begun.partition("\n")[0]
        return "|" in head and "display_name" in head and VALUE in head

    def read(self, path: Path, columns: Columns) -> list[Row]:
        rows = []
        for where, line in lines(path):
            levels = {name: line[name] for name in FACTORS if name in line}
            for column, text in line.items():
                name = column.removesuffix(VALUE)
                if column.endswith(VALUE) and text.strip() not in ("", "null"):
                    unit = line.get(name + UNIT, "")
                    about = {"unit": unit, "better": better_by(unit)}
                    rows.append(Row(levels, name, where, number(text, name, where), **about))
        return varying(rows)


class Report(Reader):
    """ReFrame's report in JSON: one row per performance variable of each test case that passed."""

    name = "reframe-report"
    says = "a report of ReFrame"

    def fits(self, path: Path, begun: str) -> bool:
        return '"session_info"' in begun and ('"reframe"' in begun or '"num_cases"' in begun)

    def read(self, path: Path, columns: Columns) -> list[Row]:
        report = document(path)
        with understood(path, self.says):
            cases = [case for run in report["runs"] for case in run["testcases"] if case.get("result") == "pass"]
            return varying([row for number, case in enumerate(cases, 1) for row in _of_case(path, number, case)])


def _of_case(path: Path, place: int, case: dict) -> list[Row]:
    levels = {name: str(case.get(name) or "") for name in FACTORS}
    where, rows = f"{path}, test case {place}", []
    # The key is system:partition:variable, and the value begins with value, reference, bounds and unit.
    for name, (value, *_, unit, _result) in (case.get("perfvalues") or {}).items():
        rows.append(Row(levels, name.rpartition(":")[2], where, float(value), unit=unit, better=better_by(unit)))
    return rows


READERS = (PerformanceLog(), Report())

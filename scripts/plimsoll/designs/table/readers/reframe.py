"""ReFrame: its performance log, and its report."""

from collections.abc import Mapping
from pathlib import Path

from plimsoll.designs.table.readers.base import Reader, document, understood
from plimsoll.designs.table.readers.tables import lines
from plimsoll.designs.table.rows import Columns, Row, number

# Where a test ran: factors besides the test's name and its parameters.
PLACES = ("system", "partition", "environ")
# Ends of columns of the performance log: `copy_bw_value` and `copy_bw_unit` are of the variable `copy_bw`.
VALUE, UNIT = "_value", "_unit"


class PerformanceLog(Reader):
    """ReFrame's performance log (CSV with |): one row per performance variable of each line."""

    name = "reframe-perflog"
    says = "a performance log of ReFrame"

    def fits(self, path: Path, begun: str) -> bool:
        head = begun.partition("\n")[0]
        return "|" in head and "job_completion_time" in head and VALUE in head

    def read(self, path: Path, columns: Columns) -> list[Row]:
        with understood(path, self.says):
            return [row for where, line in lines(path) for row in _of_line(where, line)]


def _of_line(where: str, line: dict[str, str]) -> list[Row]:
    """Return one row per performance variable of a line. A test that failed has none."""
    rows, levels = [], _levels(line)
    for column, text in line.items():
        name = column.removesuffix(VALUE)
        if column.endswith(VALUE) and text.strip() not in ("", "null") and line.get("result", "pass") == "pass":
            unit = line.get(name + UNIT, "")
            rows.append(Row(levels, name, where, number(text, name, where), unit=unit))
    return rows


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
            return [row for number, case in enumerate(cases, 1) for row in _of_case(path, number, case)]


def _levels(case: Mapping) -> dict[str, str]:
    """Return a test's name, its parameters as its name has them (`test %parameter=value`), and where it ran."""
    name, *parameters = (case.get("display_name") or case["name"]).split(" %")
    named = dict(parameter.split("=", 1) for parameter in parameters if "=" in parameter)
    return {"test": name, **named, **{place: str(case.get(place) or "") for place in PLACES}}


def _of_case(path: Path, place: int, case: dict) -> list[Row]:
    levels = _levels(case)
    where, rows = f"{path}, test case {place}", []
    # The key is system:partition:variable, and the value begins with value, reference, bounds and unit.
    for name, (value, *_, unit, _result) in (case.get("perfvalues") or {}).items():
        rows.append(Row(levels, name.rpartition(":")[2], where, float(value), unit=unit))
    return rows


READERS = (PerformanceLog(), Report())

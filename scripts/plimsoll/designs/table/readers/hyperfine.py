"""hyperfine: what `hyperfine --export-json` writes."""

from pathlib import Path

from plimsoll.designs.table.readers.base import Reader, document, understood
from plimsoll.designs.table.rows import Columns, Row
from plimsoll.errors import PlimsollError, quote


class Hyperfine(Reader):
    """hyperfine's JSON: one row per timed run, in their order. Runs that failed are refused: their times say nothing.

    The factors are the parameters of a scan, or `command` without one. Commands run one after the other.
    """

    name = "hyperfine"
    says = "a result of hyperfine"

    def fits(self, path: Path, begun: str) -> bool:
        return begun.lstrip().startswith("{") and '"results"' in begun and '"times"' in begun

    def read(self, path: Path, columns: Columns) -> list[Row]:
        results = document(path)
        with understood(path, self.says):
            return [row for number, one in enumerate(results["results"], 1) for row in _rows(path, number, one)]


def _rows(path: Path, number: int, result: dict) -> list[Row]:
    parameters = {name: str(value) for name, value in result.get("parameters", {}).items()}
    levels = parameters or {"command": result["command"]}
    where = f"{path}, result {number}"
    codes = result.get("exit_codes") or []
    if failed := [code for code in codes if code != 0]:
        raise PlimsollError(
            f"{where}: {len(failed)} of {len(codes)} runs of {quote(result['command'])} failed (exit status {failed[0]}), so "
            "their times say nothing. Leave this result out of the file, or remove its `exit_codes` if they are as expected."
        )
    return [Row(levels, "time", where, float(value), unit="s", better="lower") for value in result["times"]]


READERS = (Hyperfine(),)

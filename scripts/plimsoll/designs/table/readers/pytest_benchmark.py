"""pytest-benchmark: what `--benchmark-json` writes."""

from pathlib import Path

from plimsoll.designs.table.readers.base import Reader, document, understood
from plimsoll.designs.table.rows import Columns, Row


class PytestBenchmark(Reader):
    """pytest-benchmark's JSON: one row per round, in their order, if the data are in it (`--benchmark-save-data`).

    Otherwise there is one row of mean, standard deviation and number per test. The factors are `file`, `test` (the
    name with its class), and its parameters.
    """

    name = "pytest-benchmark"
    says = "a result of pytest-benchmark"

    def fits(self, path: Path, begun: str) -> bool:
        return ('"machine_info"' in begun and '"benchmarks"' in begun) or '"commit_info"' in begun

    def read(self, path: Path, columns: Columns) -> list[Row]:
        found = document(path)
        with understood(path, self.says):
            return [row for number, one in enumerate(found["benchmarks"], 1) for row in _rows(path, number, one)]


def _rows(path: Path, number: int, test: dict) -> list[Row]:
    parameters = {name: str(value) for name, value in (test.get("params") or {}).items()}
    file, name = _name(test)
    levels = {"file": file, "test": name, **parameters}
    where, stats = f"{path}, benchmark {number}", test["stats"]
    about = {"levels": levels, "metric": "time", "where": where, "unit": "s", "better": "lower"}
    if stats.get("data"):
        return [Row(**about, value=float(value)) for value in stats["data"]]
    return [Row(**about, mean=float(stats["mean"]), sd=float(stats["stddev"]), n=float(stats["rounds"]))]


def _name(test: dict) -> tuple[str, str]:
    """Return (file, name) of a test, without its parameters. Two files may have tests of one name."""
    file, inside, name = test.get("fullname", test["name"]).partition("[")[0].partition("::")
    return (file, name) if inside else ("", file)


READERS = (PytestBenchmark(),)

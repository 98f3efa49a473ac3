"""Google Benchmark: what `--benchmark_format=json` prints, with repetitions."""

from pathlib import Path

from plimsoll.designs.table.readers.base import Reader, document, understood
from plimsoll.designs.table.rows import Columns, Row

# Counters of the library itself, with their units.
RATES = {"bytes_per_second": "bytes/s", "items_per_second": "1/s"}


class GoogleBenchmark(Reader):
    """Google Benchmark's JSON: one row per repetition. Means and other aggregates are left out.

    The factors are `benchmark`, the name up to its first argument, and `argument` with what follows.
    """

    name = "google-benchmark"
    says = "a result of Google Benchmark"

    def fits(self, path: Path, begun: str) -> bool:
        return ('"benchmarks"' in begun and '"time_unit"' in begun) or '"library_build_type"' in begun

    def read(self, path: Path, columns: Columns) -> list[Row]:
        found = document(path)
        with understood(path, self.says):
            runs = [one for one in found["benchmarks"] if one.get("run_type", "iteration") == "iteration"]
            return [row for number, one in enumerate(runs, 1) for row in _rows(path, number, one)]


def _rows(path: Path, number: int, run: dict) -> list[Row]:
    name, _, argument = run.get("run_name", run["name"]).partition("/")
    levels, where = {"benchmark": name, "argument": argument}, f"{path}, run {number}"
    unit = run["time_unit"]
    rows = [Row(levels, key, where, float(run[key]), unit=unit, better="lower") for key in ("real_time", "cpu_time")]
    return rows + [
        Row(levels, key, where, float(run[key]), unit=of, better="higher") for key, of in RATES.items() if key in run
    ]


READERS = (GoogleBenchmark(),)

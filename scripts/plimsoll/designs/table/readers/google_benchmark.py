"""Google Benchmark: what `--benchmark_format=json` prints, with repetitions."""

from collections.abc import Set
from pathlib import Path

from plimsoll.designs.table.readers.base import Reader, document, understood
from plimsoll.designs.table.rows import Columns, Row

# Counters of the library itself, with their units.
RATES = {"bytes_per_second": "bytes/s", "items_per_second": "1/s"}
TIMES = ("real_time", "cpu_time")
# Units of time, in seconds.
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


class GoogleBenchmark(Reader):
    """Google Benchmark's JSON: one row per repetition of times, rates, and the user's counters that are named as metrics.

    Aggregates and runs that failed or were skipped are left out. Times in several units become seconds.

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
            runs = [one for one in runs if not (one.get("error_occurred") or one.get("skipped"))]
            in_seconds = len({one["time_unit"] for one in runs}) > 1
            wanted = {*RATES, *columns.metrics} - {*TIMES}
            return [row for number, one in enumerate(runs, 1) for row in _rows(path, number, one, wanted, in_seconds)]


def _rows(path: Path, number: int, run: dict, wanted: Set[str], in_seconds: bool) -> list[Row]:
    name, _, argument = run.get("run_name", run["name"]).partition("/")
    levels, where = {"benchmark": name, "argument": argument}, f"{path}, run {number}"
    unit, factor = ("s", SECONDS[run["time_unit"]]) if in_seconds else (run["time_unit"], 1.0)
    rows = [Row(levels, key, where, factor * run[key], unit=unit, better="lower") for key in TIMES]
    return rows + [
        Row(levels, key, where, float(run[key]), unit=RATES.get(key, ""), better="higher" if key in RATES else "")
        for key in run
        if key in wanted
    ]


READERS = (GoogleBenchmark(),)

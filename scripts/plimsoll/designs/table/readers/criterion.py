"""Criterion.rs: a folder target/criterion, or one of its files raw.csv, sample.json or estimates.json."""

from pathlib import Path

from plimsoll.designs.table.readers.base import Reader, document, understood
from plimsoll.designs.table.readers.tables import lines
from plimsoll.designs.table.rows import Columns, Row, number

# Files with samples, the first that is there, and the one with estimates alone.
SAMPLES = ("sample.json", "raw.csv")
ESTIMATES = "estimates.json"
# What the beginning of each of these files has.
SIGN_OF_RAW = "sample_measured_value"
SIGNS = (SIGN_OF_RAW, '"sampling_mode"', '"point_estimate"')
# The folder of the newest measurement of a benchmark.
NEWEST = "new"
NANOSECONDS = 1e-9


class Criterion(Reader):
    """Criterion's samples: one row per sample, as the mean time of its iterations. Metric `time`, in seconds.

    The factors are `group`, `function` and `parameter`. Estimates without samples are a row of mean and standard deviation,
    whose number of samples is not known.
    """

    name = "criterion"
    says = "a result of Criterion"

    def fits(self, path: Path, begun: str) -> bool:
        if path.is_dir():
            return any(path.rglob(f"{NEWEST}/{ESTIMATES}"))
        return any(sign in begun for sign in SIGNS)

    def read(self, path: Path, columns: Columns) -> list[Row]:
        if not path.is_dir():
            return _rows(path, path.resolve().parent.parent)
        folders = sorted({one.parent for one in path.rglob(f"{NEWEST}/*.json")})
        return [row for folder in folders for row in _rows(_newest(folder), path)]


def _newest(folder: Path) -> Path:
    """Return the file of a folder that is read: samples if there are some."""
    return next((folder / name for name in (*SAMPLES, ESTIMATES) if (folder / name).is_file()), folder / ESTIMATES)


def _rows(file: Path, above: Path) -> list[Row]:
    """Return the rows of a file, by its content: it may have been renamed."""
    with understood(file, Criterion.says):
        levels = _levels(file.parent, above)
        if SIGN_OF_RAW in file.read_text().partition("\n")[0]:
            times = _of_raw(file)
        elif "times" in document(file):
            times = _of_sample(file)
        else:
            return [_of_estimates(file, levels)]
        return [Row(levels, "time", where, value, unit="s", better="lower") for where, value in times]


def _levels(folder: Path, above: Path) -> dict[str, str]:
    """Return the names of a benchmark: those that Criterion noted, or those of its folders."""
    noted = folder / "benchmark.json"
    if noted.is_file():
        named = document(noted)
        return {
            "group": named["group_id"],
            "function": named["function_id"] or "",
            "parameter": named["value_str"] or "",
        }
    return {"group": "/".join(folder.resolve().relative_to(above.resolve()).parts[:-1])}


def _of_estimates(file: Path, levels: dict[str, str]) -> Row:
    estimates = document(file)
    mean, sd = (estimates[name]["point_estimate"] * NANOSECONDS for name in ("mean", "std_dev"))
    return Row(levels, "time", str(file), mean=mean, sd=sd, unit="s", better="lower")


def _of_sample(file: Path) -> list[tuple[str, float]]:
    sample = document(file)
    pairs = zip(sample["times"], sample["iters"], strict=True)
    return [(f"{file}, sample {index}", time / count * NANOSECONDS) for index, (time, count) in enumerate(pairs, 1)]


def _of_raw(file: Path) -> list[tuple[str, float]]:
    found = []
    for where, line in lines(file):
        time, count = (number(line[name], name, where) for name in ("sample_measured_value", "iteration_count"))
        found.append((where, time / count * NANOSECONDS))
    return found


READERS = (Criterion(),)

"""A folder of outputs of HPC Challenge, STREAM, the OSU micro-benchmarks, sysbench and fio: one file per run.

The factors are the folders that a file is in, called `folder`, and what the output itself varies (`size`, `job`).
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from plimsoll.designs.table.readers.base import Reader, document, understood
from plimsoll.designs.table.rows import Columns, Row, better_by, number
from plimsoll.errors import PlimsollError
from plimsoll.workloads import hpcc
from plimsoll.workloads.base import InvalidOutput

# Of HPC Challenge's summary: the results, with their units.
HPCC = {
    "HPL_Tflops": "TFLOP/s",
    **dict.fromkeys(("StarDGEMM_Gflops", "SingleDGEMM_Gflops", "MPIFFT_Gflops", "StarFFT_Gflops"), "GFLOP/s"),
    **{f"{kind}STREAM_{name}": "GB/s" for kind in ("Star", "Single") for name in ("Copy", "Scale", "Add", "Triad")},
    **{"PTRANS_GBs": "GB/s", "MPIRandomAccess_GUPs": "GUP/s", "StarRandomAccess_GUPs": "GUP/s"},
    **{f"{name}Bandwidth_GBytes": "GB/s" for name in ("RandomlyOrderedRing", "NaturallyOrderedRing", "AvgPingPong")},
    **{f"{name}Latency_usec": "us" for name in ("RandomlyOrderedRing", "NaturallyOrderedRing", "AvgPingPong")},
}
STREAM = re.compile(r"^(Copy|Scale|Add|Triad):\s+([0-9.]+)\s", re.MULTILINE)
OSU = re.compile(r"^# OSU MPI(?P<test>.*?)(?: Test)? v[0-9.]+", re.MULTILINE)
# The first column beside the sizes: `Latency (us)`, `Avg Latency(us)`, or a unit alone.
OSU_HEAD = re.compile(r"^# Size\s+(?:[^(\n]*\((?P<unit>[^)]*)\)|(?P<alone>\S+))", re.MULTILINE)
OSU_LINE = re.compile(r"^(?P<size>\d+)\s+(?P<value>[0-9.]+)", re.MULTILINE)
# Of sysbench's tests: the number in a line, with its metric, unit and better direction.
SYSBENCH = [
    (re.compile(rf"^\s*{line}", re.MULTILINE), *about)
    for line, *about in (
        (r"(?:events per second|events/s \(eps\)):\s+([0-9.]+)", "events_per_second", "1/s", "higher"),
        (r"total time:\s+([0-9.]+)s", "total_time", "s", "lower"),
        (r"Total operations:.*\(\s*([0-9.]+) per second\)", "operations_per_second", "1/s", "higher"),
        (r".*transferred \(([0-9.]+) MiB/sec\)", "memory_rate", "MiB/s", "higher"),
        (r"reads/s:\s+([0-9.]+)", "reads_per_second", "1/s", "higher"),
        (r"writes/s:\s+([0-9.]+)", "writes_per_second", "1/s", "higher"),
        (r"fsyncs/s:\s+([0-9.]+)", "fsyncs_per_second", "1/s", "higher"),
        (r"read, MiB/s:\s+([0-9.]+)", "read_bandwidth", "MiB/s", "higher"),
        (r"written, MiB/s:\s+([0-9.]+)", "write_bandwidth", "MiB/s", "higher"),
        (r"transactions:.*\(([0-9.]+) per sec\.\)", "transactions_per_second", "1/s", "higher"),
        (r"queries:.*\(([0-9.]+) per sec\.\)", "queries_per_second", "1/s", "higher"),
    )
]
FAILED_STREAM = "Failed Validation"


def of_hpcc(path: Path, text: str, levels: dict[str, str]) -> Iterator[Row]:
    """Yield the results of one hpccoutf.txt that is complete. Sections that did not run have none."""
    for name, value in hpcc.parse(text).items():
        if name in HPCC and value > 0:
            better = "lower" if HPCC[name] == "us" else "higher"
            yield Row(levels, name, str(path), value, unit=HPCC[name], better=better)


def of_stream(path: Path, text: str, levels: dict[str, str]) -> Iterator[Row]:
    """Yield the best rates that STREAM 5.10 prints. PlimsollError if its arrays were not as they should be."""
    if FAILED_STREAM in text:
        raise PlimsollError(f"{path}: STREAM says {FAILED_STREAM}, so its rates say nothing. Leave this file out.")
    for name, value in STREAM.findall(text):
        yield Row(levels, f"stream_{name.lower()}", str(path), number(value, name, str(path)), unit="MB/s", better="higher")


def of_osu(path: Path, text: str, levels: dict[str, str]) -> Iterator[Row]:
    """Yield one row per size of messages."""
    name, head = OSU.search(text)["test"], OSU_HEAD.search(text)
    if not head:
        raise PlimsollError(
            f"{path}: this OSU benchmark prints no column `# Size`. Such output cannot be read: put its values into a table."
        )
    unit = head["unit"] or head["alone"]
    better = better_by(unit) or "lower"
    for line in OSU_LINE.finditer(text):
        metric = re.sub(r"\W+", "_", name.lower()).strip("_")
        about = {"unit": unit, "better": better}
        yield Row({**levels, "size": line["size"]}, metric, str(path), number(line["value"], metric, str(path)), **about)


def of_sysbench(path: Path, text: str, levels: dict[str, str]) -> Iterator[Row]:
    """Yield the rates of a test, and its total time. What a test did not do has no rate."""
    for pattern, metric, unit, better in SYSBENCH:
        for found in pattern.findall(text):
            if (value := number(found, metric, str(path))) > 0:
                yield Row(levels, metric, str(path), value, unit=unit, better=better)


def of_fio(path: Path, text: str, levels: dict[str, str]) -> Iterator[Row]:
    """Yield bandwidth and operations in a second of each job that reads or writes, from fio's JSON."""
    for job in document(path)["jobs"]:
        of_job = {**levels, "job": job["jobname"]}
        for way in ("read", "write"):
            done = job[way]
            if done["total_ios"]:
                yield Row(of_job, f"{way}_bandwidth", str(path), float(done["bw_bytes"]), unit="bytes/s", better="higher")
                yield Row(of_job, f"{way}_iops", str(path), float(done["iops"]), unit="1/s", better="higher")


# What a text has that an output of the program has, and its reader.
PROGRAMS: dict[str, Callable[[Path, str, dict], Iterator[Row]]] = {
    "Begin of Summary section.": of_hpcc,
    "STREAM version": of_stream,
    "# OSU MPI": of_osu,
    "sysbench ": of_sysbench,
    '"fio version"': of_fio,
}
# Longest file that is read (bytes).
MOST = 2**22


class Outputs(Reader):
    """A folder of outputs, or one output. Files that no program wrote are left out."""

    name = "outputs"
    says = "an output of HPC Challenge, STREAM, OSU, sysbench or fio"
    # A folder of Criterion's is known better by its own reader.
    last = True

    def fits(self, path: Path, begun: str) -> bool:
        return path.is_dir() or any(sign in _text(path) for sign in PROGRAMS)

    def read(self, path: Path, columns: Columns) -> list[Row]:
        files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
        return [row for file in files for row in _of_file(file, path if path.is_dir() else path.parent)]


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(MOST).decode(errors="replace")


def _of_file(file: Path, above: Path) -> list[Row]:
    text = _text(file)
    reader = next((reader for sign, reader in PROGRAMS.items() if sign in text), None)
    if reader is None:
        return []
    with understood(file, Outputs.says):
        try:
            return list(reader(file, text, {"folder": str(file.parent.relative_to(above))}))
        except InvalidOutput as problem:
            raise PlimsollError(f"{file}: {problem}.") from problem


READERS = (Outputs(),)

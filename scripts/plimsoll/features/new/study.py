"""The first version of a study: of a table of measurements, or of a benchmark in several runtimes."""

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from plimsoll.designs.table import metrics, study_file
from plimsoll.designs.table.contrasts import in_order
from plimsoll.designs.table.study_file import Source
from plimsoll.errors import PlimsollError, quote
from plimsoll.features.new.files import checked, identifier, write
from plimsoll.spelling import hint

BETTER = ("lower", "higher")
# Words in names of metrics, by the direction that is better of them.
WORDS = {
    "lower": {
        "time",
        "times",
        "latency",
        "duration",
        "seconds",
        "delay",
        "memory",
        "energy",
        "loss",
        "overhead",
        "wall",
        "runtime",
        "elapsed",
        "walltime",
    },
    "higher": {"throughput", "bandwidth", "speed", "speedup", "iops", "ops", "gflops", "flops", "score", "efficiency"},
}
# Rows of the table that is written if there are no data yet: three runs of each of two levels.
EXAMPLE = (("fast", (1.02, 0.98, 1.01, 1.0)), ("careful", (1.52, 1.49, 1.5, 1.51)))


def of_table(name: str, folder: Path, data: Path | None, factor: str, metric: str, better: str, question: str) -> list[Path]:
    """Write a study of a table, with a claim as an example and a test, into a folder of its name. Return the files.

    Without `data` it has a small table as an example. `factor` is what is compared, empty for the first factor of the
    table. `metric` is a column in wide form; `better` is higher or lower, or empty for what the data, or else the name say.
    PlimsollError if the data do not have them, for another direction, or if nothing says which direction is better.
    """
    if better and better not in BETTER:
        raise PlimsollError(
            f"{quote(better)} is not a direction{hint(better, BETTER)}. Nothing was written. Take {' or '.join(BETTER)}."
        )
    own = folder / checked(name)
    study = {"name": name, "module": identifier(name), "question": question, "metric": metric}
    if data is None:
        study["better"] = better or _by_name(metric)
        factor = factor or "variant"
        rows = [(level, run, value) for level, values in EXAMPLE for run, value in enumerate(values, 1)]
        table = {"factor": factor, "levels": [level for level, _ in EXAMPLE], "data": "results.csv", "rows": rows}
        files = {own / "results.csv": "results.csv.j2"}
        return write({own / "study.yaml": "study.yaml.j2", own / _test(name): "test_study.py.j2", **files}, **study, **table)
    source = _source(data, metric)
    factor = factor or source.study["factors"][0]
    if factor not in source.study["factors"]:
        known = source.study["factors"]
        raise PlimsollError(
            f"{data} has no factor {quote(factor)}{hint(factor, known)}. Nothing was written. Its factors are "
            f"{', '.join(known)}."
        )
    levels = _frequent(source, factor)
    table = {"factor": factor, "levels": levels, "data": os.path.relpath(data.resolve(), own.resolve()), "rows": []}
    wide = any(row.metric == metric for row in source.rows)
    named = {**study, "metric": metric if wide else next(iter(source.study["metrics"]))}
    said = source.study["metrics"][named["metric"]]
    named["better"] = better or (said["better"] if said["known"] else _by_name(named["metric"]))
    return write({own / "study.yaml": "study.yaml.j2", own / _test(name): "test_study.py.j2"}, **named, **table)


def _by_name(metric: str) -> str:
    """Return which direction is better by the words of a metric's name. PlimsollError if they do not say it."""
    words = set(re.split(r"[^a-z]+", metric.lower()))
    found = [way for way, known in WORDS.items() if words & known]
    if len(found) != 1:
        raise PlimsollError(
            f"Nothing says whether a higher or a lower {quote(metric)} is better. Nothing was written. Add --better higher or "
            "--better lower."
        )
    return found[0]


def _test(name: str) -> str:
    return f"test_{identifier(name)}.py"


def _source(data: Path, metric: str) -> Source:
    document = {"id": "own", "data": [{"path": str(data)}]}
    return study_file.of_document(document, Path(), [{"metrics": [metric]}], metrics.at_all(str(data)))


def _frequent(source: Source, factor: str) -> list[str]:
    """Return the levels of a factor, in their order. PlimsollError if it has one level: nothing could be compared."""
    levels = in_order(set(source.study["levels"][factor]))
    if len(levels) < 2:
        raise PlimsollError(
            f"The factor {factor} has only the level {quote(levels[0])}, so nothing can be compared. Nothing "
            "was written. Name a factor with several levels."
        )
    return levels


def of_benchmark(name: str, root: Path, benchmark: str, chosen: Sequence[str], question: str) -> list[Path]:
    """Write a study of one of our benchmarks in several runtimes, with a claim and a test, into a clone of the project.

    PlimsollError if the benchmark or a runtime is not known, or if the name has no year at its end, as names of studies do.
    """
    from plimsoll import registry, runtimes, workloads
    from plimsoll.workloads.base import Microservice

    registry.find(workloads.of_kind(Microservice), "benchmark", benchmark)
    if not (name[-4:].isdigit() and name[:-4].isalpha() and name.islower()):
        raise PlimsollError(
            f"{quote(name)} cannot be the name of a study. Nothing was written. Take lower-case letters and a "
            "year, such as stream2026."
        )
    for runtime in chosen:
        runtimes.find(runtime)
    own = _metrics(benchmark)
    files = {
        root / f"config/studies/{name}.yaml": "measured.yaml.j2",
        root / f"config/claims/{name}.yaml": "claims.yaml.j2",
        root / f"tests/unit/{_test(name)}": "test_measured.py.j2",
    }
    others = [runtime for runtime in chosen if runtime != "bare"]
    return write(
        files, name=name, benchmark=benchmark, runtimes=["bare", *others], question=question, metrics=own, year=name[-4:]
    )


def _metrics(benchmark: str) -> Mapping[str, Mapping]:
    """Return the metrics that the studies of design `overhead` have of a benchmark. PlimsollError if they have none."""
    from plimsoll.config import studies, yaml_files

    for study in studies.names(studies.STUDIES):
        document = yaml_files.keys_of(studies.STUDIES / f"{study}.yaml")
        found = {
            name: metric
            for name, metric in document["metrics"].items()
            if document["design"] == "overhead" and metric["benchmark"] == benchmark and math.isfinite(metric.get("factor", 1))
        }
        if found:
            return found
    raise PlimsollError(
        f"No study has metrics of {benchmark}, from which a new one could begin. Nothing was written. Take "
        "iperf or stream, or read docs/how-to/add-study.md."
    )


def test_of_program(folder: Path, name: str) -> list[Path]:
    """Write the test of a study of a program into the study's folder, and return its path in a list."""
    return write({folder / f"test_{identifier(name)}.py": "test_program.py.j2"}, name=name)

"""The results of a workflow after a fault, compared with those of an undisturbed one."""

import contextlib
import filecmp
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from plimsoll.measuring import record, status

# Folders from which nothing is made, or whose names depend on the attempt.
PASSING = ("raw", "logs", "progress", "archive", "reference", "notebooks")
# Tables and verdicts that are made from a study's records: by the stage `collect`, and by the stage `claims`.
OBSERVED, JUDGED = ("observations.csv", "runs.csv"), ("claims.json", "comparisons.csv", "answer.csv")

# First words of sentences about measurements that are lost or damaged.
LOST = ("record lost", "record changed", "record damaged", "raw output")


class Kept(NamedTuple):
    """Results that must not change: `records` of runs that count, byte for byte, and SHA-256 of the `raw` files that
    they name."""

    records: dict[str, bytes]
    raw: dict[str, str]


def kept(project: Path) -> Kept:
    """Return the records that count and their raw output, by path."""
    records, raw = {}, {}
    for path in project.glob("results/*/runs/**/*.json"):
        text = path.read_bytes()
        try:
            found = record.read(path)
        except record.DamagedFile:
            continue
        if found["status"] in status.COUNTED:
            records[str(path.relative_to(project))] = text
            raw |= _sums(project, _study(path) / found["raw"])
    return Kept(records, raw)


def _study(path: Path) -> Path:
    """Return the folder of a record's study."""
    return next(above.parent for above in path.parents if above.name == "runs")


def _sums(project: Path, folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(path.relative_to(project)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def expected(project: Path) -> tuple[set[str], set[str]]:
    """Return (records, other results) of a workflow, as paths."""
    results = {str(path.relative_to(project)) for path in project.glob("results/**/*") if path.is_file()}
    records = {path for path in results if "/runs/" in path and path.endswith(".json")}
    others = {path for path in results - records if not set(Path(path).parts) & set(PASSING) and not _hidden(path)}
    return records, others


def _hidden(path: str) -> bool:
    return Path(path).name.startswith(".")


def problems(project: Path, wanted: tuple[set[str], set[str]], before: list[Kept]) -> list[str]:
    """Return sentences about what was `kept` before and is lost, and about what an undisturbed workflow has differently."""
    records, others = expected(project)
    found = [f"record missing: {path}" for path in sorted(wanted[0] - records)]
    found += [f"record too many: {path}" for path in sorted(records - wanted[0])]
    found += [f"result missing: {path}" for path in sorted(wanted[1] - others)]
    for path in sorted(records & wanted[0]):
        found += _of_record(project / path)
    now = kept(project).raw
    for one in before:
        for path, text in one.records.items():
            if not (project / path).is_file():
                found.append(f"record lost: {path}")
            elif (project / path).read_bytes() != text:
                found.append(f"record changed: {path}")
        found += [
            f"raw output {'changed' if path in now else 'lost'}: {path}" for path in one.raw if now.get(path) != one.raw[path]
        ]
    return list(dict.fromkeys(found))


def hypervisor_disturbed(project: Path, wanted: set[str] | None = None) -> bool:
    """Return whether all records are there (those `wanted`, if they are known), and those that do not count are of runs
    from which a hypervisor took more than other programs."""
    paths = expected(project)[0]
    with contextlib.suppress(record.DamagedFile):
        found = [record.read(project / path) for path in paths]
        lost = [one for one in found if one["status"] not in status.COUNTED]
        return bool(lost) and wanted in (None, paths) and all(map(_by_hypervisor, lost))
    return False


def _by_hypervisor(found: dict) -> bool:
    if found["status"] != status.DISTURBED:
        return False
    during = found["noise"]["during"]
    return during["stolen_seconds"] > (during["neighbour_seconds"] or 0.0)


def _of_record(path: Path) -> list[str]:
    try:
        found = record.read(path)
    except record.DamagedFile as damage:
        return [f"record damaged: {damage}"]
    if found["status"] != status.VALID:
        return [f"record not valid: {path}: {found['status']} ({found['reason']})"]
    cell, repetition = found["cell"]["path"], found["repetition"]
    if record.path_of(Path("runs"), cell, repetition) != Path("runs", *path.parts[path.parts.index("runs") + 1 :]):
        return [f"record elsewhere: {path} is of {cell}, repetition {repetition}"]
    if not (_study(path) / found["raw"]).is_dir():
        return [f"raw output lost: {path} names {found['raw']}"]
    return []


def wrong_verdicts(project: Path, study: str) -> list[str]:
    """Return sentences about a study's tables and verdicts that are missing, or that its stages make differently from
    its records."""
    made = project / "results" / study
    if lacking := [name for name in (*OBSERVED, *JUDGED) if not (made / name).is_file()]:
        return [f"{name} of {study} is not there" for name in lacking]
    with tempfile.TemporaryDirectory() as place:
        new = Path(place)
        observed = {"--csv": new / OBSERVED[0], "--parquet": new / "observations.parquet", "--runs": new / OBSERVED[1]}
        judged = {"--verdicts": new / JUDGED[0], "--comparisons": new / JUDGED[1], "--answer": new / JUDGED[2]}
        plan = {"--study": study, "--plan": made / "plan.json"}
        for stage, options in (
            ("collect", {**plan, "--records": made / "runs", **observed}),
            ("claims", {**plan, "--observations": new / OBSERVED[0], "--runs": new / OBSERVED[1], **judged}),
        ):
            words = [str(word) for option in options.items() for word in option]
            done = subprocess.run(
                [sys.executable, "-m", "plimsoll", stage, *words],
                cwd=project,
                env={**os.environ, "PYTHONPATH": str(project / "scripts")},
                capture_output=True,
                text=True,
            )
            if done.returncode:
                return [f"the records cannot be judged: {done.stderr.strip().splitlines()[-1]}"]
        return [
            f"{name} of {study} is not what its records give"
            for name in (*OBSERVED, *JUDGED)
            if not filecmp.cmp(new / name, made / name, shallow=False)
        ]

"""What a fault has left of a workflow, against what an undisturbed one has."""

from pathlib import Path

from plimsoll.measuring import record, status

# What nothing is made from, or whose names are of the attempt.
PASSING = ("raw", "logs", "progress", "archive", "reference", "notebooks")


def counting(project: Path) -> dict[str, bytes]:
    """The records of runs that count, byte for byte, by their path."""
    found = {}
    for path in project.glob("results/*/runs/**/*.json"):
        text = path.read_bytes()
        try:
            if record.read(path)["status"] in status.COUNTED:
                found[str(path.relative_to(project))] = text
        except record.Damaged:
            continue
    return found


def expected(project: Path) -> tuple[set[str], set[str]]:
    """(the records, the other results) of an undisturbed workflow."""
    results = {str(path.relative_to(project)) for path in project.glob("results/**/*") if path.is_file()}
    records = {path for path in results if "/runs/" in path and path.endswith(".json")}
    others = {path for path in results - records if not set(Path(path).parts) & set(PASSING) and not _hidden(path)}
    return records, others


def _hidden(path: str) -> bool:
    return Path(path).name.startswith(".")


def problems(project: Path, wanted: tuple[set[str], set[str]], before: list[dict[str, bytes]]) -> list[str]:
    """In sentences: what is lost of the records of `before`, and what is not as after an undisturbed workflow."""
    records, others = expected(project)
    found = [f"record lost: {path}" for path in sorted(wanted[0] - records)]
    found += [f"record too many: {path}" for path in sorted(records - wanted[0])]
    found += [f"result missing: {path}" for path in sorted(wanted[1] - others)]
    for path in sorted(records & wanted[0]):
        found += _of_record(project / path)
    for one in before:
        for path, text in one.items():
            if not (project / path).is_file():
                found.append(f"record lost: {path}")
            elif (project / path).read_bytes() != text:
                found.append(f"record changed: {path}")
    return list(dict.fromkeys(found))


def _of_record(path: Path) -> list[str]:
    try:
        found = record.read(path)
    except record.Damaged as damage:
        return [f"record damaged: {damage}"]
    if found["status"] != status.VALID:
        return [f"record not valid: {path}: {found['status']} ({found['reason']})"]
    cell, repetition = found["cell"]["path"], found["repetition"]
    if record.path_of(Path("runs"), cell, repetition) != Path("runs", *path.parts[path.parts.index("runs") + 1 :]):
        return [f"record elsewhere: {path} is of {cell}, repetition {repetition}"]
    if not (path.parents[len(Path(cell).parts) + 1] / found["raw"]).is_dir():
        return [f"raw output lost: {path} names {found['raw']}"]
    return []

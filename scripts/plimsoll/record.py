"""Records: one JSON file a run. Written whole or not at all, and never over another one."""

import hashlib
import json
import os
from pathlib import Path

FORMAT = 1
# What gives an observation: a run that ended well, and one that hit its limit where the study keeps such runs.
COUNTED = ("valid", "censored")
# What must be there for a record to be one.
REQUIRED = ("format", "study", "cell", "repetition", "fingerprint", "status", "attempts")


class Damaged(Exception):
    """A file that is no complete record; the text is the reason."""


def fingerprint(content: object) -> str:
    """Identifies what JSON's types hold: the same for the same content, in whatever order its keys are."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def write(path: Path, record: dict) -> None:
    """Put a record in place in one step, so that a kill leaves either none or all of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(record, indent=1) + "\n")
    temporary.rename(path)


def read(path: Path) -> dict:
    """A record; Damaged if the file is truncated or lacks what every record has."""
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Damaged(f"{path} is no complete JSON file: {error}") from error
    if not isinstance(record, dict) or any(key not in record for key in REQUIRED):
        raise Damaged(f"{path} lacks keys that every record has")
    if record["format"] != FORMAT:
        raise Damaged(f"{path} has the format {record['format']}, and this version reads {FORMAT}")
    return record


def path_of(runs: Path, cell: str, repetition: int) -> Path:
    """Where the record of a cell's repetition lies below a study's runs/ folder."""
    return runs / cell / f"{repetition}.json"


def set_aside(path: Path, archive: Path) -> Path:
    """Move a file into an archive folder under a name that is free there, and return the new path."""
    archive.mkdir(parents=True, exist_ok=True)
    number = 1
    while (target := archive / f"{path.stem}-{number}{path.suffix}").exists():
        number += 1
    path.rename(target)
    return target

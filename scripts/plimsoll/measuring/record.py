"""Records: one JSON file per run. A record is written whole or not at all, and never over another one."""

import errno
import json
import os
import re
import zlib
from pathlib import Path

from plimsoll import documents
from plimsoll.errors import DamagedFile, quote
from plimsoll.interchange import Cell, Record
from plimsoll.measuring import status

FORMAT = 1
# A fingerprint becomes the name of a folder, and pages have links to the folder of the raw output. So both are restricted.
NAME = re.compile("[A-Za-z0-9_-]+")
# End of a record's file. The checksum is that of the text before it.
CHECKSUM = re.compile(rb',\n "checksum": "([0-9a-f]{8})"\n}\n\Z')
RAW = re.compile("raw(?:/[A-Za-z0-9+_][A-Za-z0-9+_.-]*)+")


def fingerprint(content: object) -> str:
    """Return an identifier of what JSON's types hold (16 hexadecimal digits), which does not depend on the order of keys."""
    # Most runs only compare fingerprints, and should not pay for this import.
    import hashlib

    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def identify(measured: dict) -> str:
    """Return the fingerprint of a cell. `measured` says what is measured in it (a design's `cells.measured`)."""
    return fingerprint(list(measured.values()))


def keep(path: Path, record: Record) -> None:
    """Write a record with a checksum of all of it, so that damage to the file does not change a number unnoticed."""
    body = json.dumps(record, indent=1).removesuffix("\n}")
    _put(path, f'{body},\n "checksum": "{_checksum(body.encode())}"\n}}\n')


def _checksum(body: bytes) -> str:
    return f"{zlib.crc32(body):08x}"


def write(path: Path, document: object) -> None:
    """Write a document as JSON in one step: a kill leaves all of it or nothing.

    So does a power failure, because the document is on the disk before it has its name.
    """
    _put(path, json.dumps(document, indent=1) + "\n")


def _put(path: Path, text: str) -> None:
    # The names of folders that are made now must be on the disk too.
    above = [folder.parent for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    # A killed process may have left this file. It is overwritten, because one process at a time writes a record.
    temporary = path.with_name(f".{path.name}.new")
    try:
        with open(temporary, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    for folder in (path.parent, *above):
        _sync(folder)


def _sync(folder: Path) -> None:
    """Write the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as problem:
        # Some network file systems do not support this for a folder.
        if problem.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def read(path: Path, kind: type = Record) -> Record:
    """Return the record in a file. `kind` is the type of all records, or of a design's records.

    Raise DamagedFile, with the reason, if the file is truncated, was changed, or does not hold what such a record has.
    """
    _refuse_changed(path)
    try:
        # A benchmark may print something that is not a finite number for a part that it did not run.
        record = documents.load(path, kind, finite=False)
    except documents.Misfit as misfit:
        raise DamagedFile(f"{path} is not a complete record: {misfit}") from misfit
    if record["format"] != FORMAT:
        raise DamagedFile(f"{path} has the format {quote(record['format'])}, and this version reads {FORMAT}")
    if record["status"] not in status.NAMES:
        raise DamagedFile(f"{path} is not a complete record: there is no status {quote(record['status'])}")
    if not NAME.fullmatch(record["fingerprint"]):
        raise DamagedFile(f"{path} is not a complete record: its fingerprint is not valid")
    if not all(RAW.fullmatch(one["raw"]) for one in (record, *record["invalid_attempts"])):
        raise DamagedFile(f"{path} is not a complete record: its raw output is in no folder of raw/")
    record.pop("checksum", None)
    return record


def _refuse_changed(path: Path) -> None:
    """Raise DamagedFile if a record's file is not what was written. Records of older versions have no checksum, and are
    accepted."""
    try:
        text = path.read_bytes()
    except OSError:
        return  # reported when it is read as JSON
    if (end := CHECKSUM.search(text)) and end[1].decode() != _checksum(text[: end.start()]):
        raise DamagedFile(f"{path} is not a complete record: it was changed since it was written")


def path_of(runs: Path, cell: str, repetition: int) -> Path:
    """Return the path of the record of a cell's repetition, below a study's runs/ folder."""
    return runs / cell / f"{repetition}.json"


def any_below(folder: Path) -> bool:
    """Return whether a study's folder of results holds records."""
    return any((folder / "runs").rglob("*.json"))


def block_of(cell: Cell, repetition: int) -> int:
    """Return the block that a repetition of a cell belongs to. A cell that runs more often per block has several
    repetitions in it."""
    return (repetition - 1) // cell.get("per_block", 1) + 1


def set_aside(path: Path, archive: Path) -> Path:
    """Move a file into an archive folder under a name that is free there, and return the new path."""
    archive.mkdir(parents=True, exist_ok=True)
    number = 1
    while (target := archive / f"{path.stem}-{number}{path.suffix}").exists():
        number += 1
    path.rename(target)
    return target


# Keys of the record itself, which are indented by one space (see `keep`). Keys inside their values are indented by more.
GLANCED = re.compile(rb'^ "(?:(fingerprint|status)": "([a-z0-9]+)"|(starts)": ([0-9]{1,9})),?$', re.MULTILINE)
# Only the record itself ends at the beginning of a line.
END = b"\n}\n"


def glance(path: Path | str) -> dict[str, str]:
    """Return a record's `fingerprint` and `status`, and `starts` if it has them, without reading what else it holds.

    That takes a fifth of the time (of 2,000 records). Raise FileNotFoundError if the file is missing, and DamagedFile if it
    is no record.
    """
    with open(path, "rb") as file:
        text = file.read()
    glanced = {(key or number).decode(): (value or count).decode() for key, value, number, count in GLANCED.findall(text)}
    if {"fingerprint", "status"} <= glanced.keys() and glanced["status"] in status.NAMES and text.endswith(END):
        return glanced
    whole = read(Path(path))
    return {key: str(whole[key]) for key in ("fingerprint", "status", "starts") if key in whole}

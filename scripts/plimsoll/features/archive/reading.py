"""Read an archive that may come from another user. The whole archive is checked before any of it is used.

Each member must match the manifest, and no member is read beyond its stated size. Members are unpacked only where the
workflow reads its inputs, never where it writes.
"""

import csv
import errno
import hashlib
import io
import json
import math
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from plimsoll import documents, spelling
from plimsoll.config import yaml_files
from plimsoll.errors import PlimsollError, quote
from plimsoll.features.archive import pictures, records
from plimsoll.features.archive.layout import (
    ABOUT,
    GIVEN,
    KEPT,
    MADE,
    MANIFEST,
    PLACED,
    RefusedArchive,
    check_format,
    inside,
    records_of,
)
from plimsoll.interchange import Plan

# Upper limits: the manifest's size (bytes), and the ratio of unpacked to packed size. The ratio does not matter for
# what is SMALL (bytes).
LONGEST_MANIFEST, TIMES_ITS_SIZE, SMALL = 64 * 2**20, 1000, 256 * 2**20
PART_BYTES = 1 << 20
# Largest relative difference between numbers of tables that count as equal; near 0, the largest absolute difference.
RELATIVE, ABSOLUTE = 1e-9, 1e-12
# The table of the claims of all studies.
CLAIMS = "results/claims.csv"


class Archive(NamedTuple):
    """An archive whose members match its `manifest`.

    `identity` is the manifest's SHA-256 and distinguishes it from any other archive.
    """

    file: zipfile.ZipFile
    manifest: dict
    identity: str

    def members(self, role: str) -> dict[str, dict]:
        """Return the manifest's entries of the members of a role, by name."""
        return {name: said for name, said in self.manifest["members"].items() if said["role"] == role}


@contextmanager
def open_archive(source: Path) -> Iterator[Archive]:
    """Yield a checked archive.

    Raise PlimsollError if the file is no archive, is damaged, or has a format that this version does not read. Errors
    that are found while the archive is used, such as a disk that is too small, raise it too.
    """
    try:
        with zipfile.ZipFile(source) as file:
            archive = _manifested(file, source)
            _check_members(archive)
            _check_size(archive, source)
            for name, said in archive.manifest["members"].items():
                for _ in _parts(file, name, said):
                    pass
            yield archive
    except RefusedArchive as problem:
        raise PlimsollError(f"{source} cannot be used: {problem}. Nothing was made from it.") from problem
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as problem:
        # In a damaged archive the place of a member may lie before the file's beginning, which gives EINVAL.
        if isinstance(problem, OSError) and problem.errno != errno.EINVAL:
            raise
        raise PlimsollError(
            f"{source} is damaged, or no archive. Nothing was made from it. Copy it again, or make it again with "
            f"`{spelling.command('archive')}`."
        ) from problem


def _manifested(file: zipfile.ZipFile, source: Path) -> Archive:
    """Return an archive with its manifest.

    Raise RefusedArchive if the manifest is missing, or has another form or format.
    """
    if MANIFEST not in file.namelist():
        raise RefusedArchive(f"it has no {MANIFEST}, so `{spelling.command('archive')}` has not made it")
    if file.getinfo(MANIFEST).file_size > LONGEST_MANIFEST:
        raise RefusedArchive(f"its {MANIFEST} is too long")
    text = file.read(MANIFEST)
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise RefusedArchive(f"its {MANIFEST} is no JSON") from problem
    if not isinstance(manifest, dict):
        raise RefusedArchive(f"its {MANIFEST} has no keys")
    check_format(manifest)
    yaml_files.check(manifest, "archive", f"{source}, {MANIFEST}")
    return Archive(file, manifest, hashlib.sha256(text).hexdigest())


def _check_members(archive: Archive) -> None:
    """Raise RefusedArchive unless an archive has exactly the members that it lists, and all that are needed."""
    listed = archive.manifest["members"]
    # Folders do not count as members: a user who packs an unpacked archive again gets them.
    names = [name for name in archive.file.namelist() if not name.endswith("/") and name != MANIFEST]
    if len(names) != len(set(names)):
        raise RefusedArchive("it has a member twice")
    for name in names:
        _check_member(name, archive.file.getinfo(name), listed.get(name))
    folders = {*archive.manifest["measured"], *(f"results/{study}" for study in archive.manifest["studies"])}
    needed = {member for folder in folders for member in (f"{folder}/plan.json", records_of(folder))}
    needed |= {f"config/studies/{study}.yaml" for study in archive.manifest["studies"]}
    if lacking := sorted((listed.keys() - set(names)) | (needed - archive.members(GIVEN).keys())):
        raise RefusedArchive(f"it lacks {lacking[0]}")


def _check_member(name: str, member: zipfile.ZipInfo, said: dict | None) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if not inside(name) or member.orig_filename != name:
        raise RefusedArchive(f"its member {quote(member.orig_filename)} would leave the folder that it is unpacked into")
    if said is None:
        raise RefusedArchive(f"it has {name}, of which its {MANIFEST} says nothing")
    if kind not in (0, stat.S_IFREG):
        raise RefusedArchive(f"its member {name} is no plain file")
    if said["role"] == GIVEN and not PLACED.fullmatch(name):
        raise RefusedArchive(f"it would put {name} where the workflow writes")
    if member.file_size != said["bytes"]:
        raise RefusedArchive(f"its member {name} is not what was written")


def _check_size(archive: Archive, source: Path) -> None:
    """Raise RefusedArchive if an archive claims to hold more than one of its size can."""
    unpacked = sum(said["bytes"] for part in ("members", "measured") for said in archive.manifest[part].values())
    if unpacked > max(SMALL, TIMES_ITS_SIZE * source.stat().st_size):
        raise RefusedArchive(f"it would take {unpacked / 2**20:.0f} MiB unpacked, which is too much for its size")


def _parts(file: zipfile.ZipFile, name: str, said: dict) -> Iterator[bytes]:
    """Yield the content of a member, part by part. Raise RefusedArchive if it differs from what was written."""
    digest, left = hashlib.sha256(), said["bytes"]
    with file.open(name) as content:
        while left >= 0 and (part := content.read(PART_BYTES)):
            left -= len(part)
            digest.update(part)
            yield part
    if left or digest.hexdigest() != said["sha256"]:
        raise RefusedArchive(f"its member {name} is not what was written")


def unpack(archive: Archive, folder: Path) -> None:
    """Unpack an archive into an empty folder: the workflow's inputs, and files about the results that are not made
    again.

    The records of each session are written below its runs/. Raise RefusedArchive if a plan is invalid, a record is missing, or
    the disk is too small.
    """
    _write(archive, _placed(archive), folder, sum(said["bytes"] for said in archive.manifest["measured"].values()))
    for session, said in archive.manifest["measured"].items():
        _unpack_records(archive, session, said, folder / session)


def unpack_whole(archive: Archive, folder: Path) -> None:
    """Unpack all results of an archive into an empty folder, with the description of their machine. The folder is only
    for reading.

    Raise RefusedArchive as `unpack` does.
    """
    unpack(archive, folder)
    _write(archive, _beside(archive), folder)


def _placed(archive: Archive) -> dict[str, dict]:
    """Return the members that exist before anything is made: the workflow's inputs, and files about the results that
    are not made again."""
    return archive.members(GIVEN) | _about(archive, kept=True)


def _beside(archive: Archive) -> dict[str, dict]:
    """Return the other members among the results: files that were made, and files about them."""
    return archive.members(MADE) | _about(archive, kept=False)


def _about(archive: Archive, *, kept: bool) -> dict[str, dict]:
    """Return the members about the results: with `kept` those that are not made again (KEPT), otherwise the others."""
    about = {name: said for name, said in archive.members(ABOUT).items() if name.startswith("results/")}
    return {name: said for name, said in about.items() if (PurePosixPath(name).name in KEPT) == kept}


def _write(archive: Archive, members: dict[str, dict], folder: Path, others: int = 0) -> None:
    """Write members of an archive. Raise RefusedArchive if the disk has no room for them and for `others` (bytes)."""
    needed = others + sum(said["bytes"] for said in members.values())
    if needed > (free := shutil.disk_usage(folder).free):
        raise RefusedArchive(f"it takes {needed / 2**20:.0f} MiB unpacked, and {folder} has {free / 2**20:.0f} MiB left")
    for name, said in members.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "xb") as written:
            for part in _parts(archive.file, name, said):
                written.write(part)


def _unpack_records(archive: Archive, session: str, said: dict, folder: Path) -> None:
    there = set()
    for name, content in _records(archive, session):
        path = folder / "runs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        there.add(name)
    if len(there) != said["records"]:
        raise RefusedArchive(f"it has {len(there)} records in {session}, and says that it has {said['records']}")
    excused = {tuple(run) for run in said["lacking"]}
    for run in _planned(folder / "plan.json", said["study"]):
        if f"{run[0]}/{run[1]}.json" not in there and run not in excused:
            raise RefusedArchive(f"it lacks the record {run[0]}/{run[1]} in {session}, which the plan has")


def _planned(path: Path, study: str) -> list[tuple[str, int]]:
    """Return the runs (cell, repetition) of a plan in an unpacked archive.

    Raise RefusedArchive if the file is no plan of the study.
    """
    try:
        plan = documents.load(path, Plan)
    except documents.Misfit as problem:
        raise RefusedArchive(f"its plan of {study} is not a plan: {problem}") from problem
    runs = [(cell, repetition) for cell, repetition in plan["order"]]
    if plan["study"] != study or {cell for cell, _ in runs} - plan["cells"].keys():
        raise RefusedArchive(f"its plan of {study} is of another study, or names cells that it has not")
    return runs


def _records(archive: Archive, session: str) -> Iterator[tuple[str, bytes]]:
    with archive.file.open(records_of(session)) as content:
        yield from records.unpacked(_lines(content), archive.manifest["measured"][session]["bytes"])


def _lines(content: io.BufferedIOBase) -> Iterator[bytes]:
    while line := content.readline(records.LONGEST):
        if len(line) == records.LONGEST:
            raise RefusedArchive("a line of its records is too long")
        yield line


def first_change(archive: Archive, folder: Path, but: set[str]) -> str | None:
    """Return the path of the first file in a folder that differs from what the archive gave; None if all are the same.

    Records that the archive does not have count as differences too. Members in `but` are left out.
    """
    for name, said in _placed(archive).items():
        if name not in but and _checksum(folder / name) != said["sha256"]:
            return name
    for session in archive.manifest["measured"]:
        runs = folder / session / "runs"
        there = {path.relative_to(runs).as_posix() for path in runs.rglob("*") if not path.is_dir()}
        for name, content in _records(archive, session):
            if name not in there or (runs / name).read_bytes() != content:
                return f"{session}/runs/{name}"
            there.remove(name)
        if there:
            return f"{session}/runs/{min(there)}"
    return None


def changed_whole(archive: Archive, folder: Path) -> str | None:
    """Return the path of the first file in a folder that differs from what `unpack_whole` put there; None if all are
    the same."""
    other = (name for name, said in _beside(archive).items() if _sha256(folder / name) != said["sha256"])
    return first_change(archive, folder, set()) or next(other, None)


def _sha256(path: Path, content: Callable[[Path], bytes] = Path.read_bytes) -> str | None:
    """SHA-256 of a file's content, as `content` reads it; None if there is no such file."""
    return hashlib.sha256(content(path)).hexdigest() if path.is_file() else None


def _checksum(path: Path) -> str | None:
    """SHA-256 of a file as an archive would hold it (a report without its pictures); None if there is no such file."""
    return _sha256(path, pictures.linked if path.name == pictures.REPORT else Path.read_bytes)


def compared(archive: Archive, folder: Path, but: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    """Compare what was made again in a folder with an archive. Return (paths that have the same content, all other
    paths).

    Paths with an ending in `but` are left out. The table of all claims is compared by the claims of the archive's studies.
    """
    same, other = [], []
    for name, said in archive.members(MADE).items():
        if not name.endswith(but):
            is_same = _checksum(folder / name) == said["sha256"] or (name == CLAIMS and _same_claims(archive, folder))
            (same if is_same else other).append(name)
    return same, other


def _same_claims(archive: Archive, folder: Path) -> bool:
    """Return whether the table of all claims in a folder has the archive's rows of its studies.

    Claims of other studies are in it as not measured, with encodings that change with the project.
    """
    if not (folder / CLAIMS).is_file():
        return False
    texts = archive.file.read(CLAIMS).decode(), (folder / CLAIMS).read_text()
    rows = [[row for row in csv.DictReader(io.StringIO(text)) if row["study"] in archive.manifest["studies"]] for text in texts]
    return rows[0] == rows[1]


def rounded(archive: Archive, folder: Path, tables: list[str]) -> list[str]:
    """Return the tables in a folder whose numbers differ from the archive's only in their last digits."""
    there = [name for name in tables if (folder / name).is_file()]
    return [name for name in there if same_values(archive.file.read(name), (folder / name).read_bytes())]


def same_values(one: bytes, other: bytes) -> bool:
    """Return whether two CSV files have the same cells: the same text, or the same number except for its last digits.

    Not all processors round alike.
    """
    tables = [list(csv.reader(io.StringIO(text.decode(errors="replace"), newline=""))) for text in (one, other)]
    rows = list(zip(*tables, strict=False))
    return len(tables[0]) == len(tables[1]) and all(
        len(first) == len(second) and all(map(_same, first, second)) for first, second in rows
    )


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    except ValueError:
        return False

"""An archive that somebody else may have made: it is checked as a whole before anything of it is used.

Each member has to be what the manifest says, and nothing is read further than that. What is unpacked has a place where the
workflow looks for what it is given, and none where it writes.
"""

import errno
import hashlib
import io
import json
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from plimsoll import documents
from plimsoll.archives import formats, pictures, records, rounding
from plimsoll.archives.layout import ABOUT, GIVEN, KEPT, MADE, MANIFEST, PLACED, Refused, inside, records_of
from plimsoll.config import yaml_files
from plimsoll.errors import PlimsollError, shown
from plimsoll.interchange import Plan

# What an archive says of itself is no longer, and what it holds is no larger than so many times its own size, unless it is
# small (bytes).
LONGEST_MANIFEST, TIMES_ITS_SIZE, SMALL = 64 * 2**20, 1000, 256 * 2**20
PART_BYTES = 1 << 20


class Archive(NamedTuple):
    """An archive whose members are what its `manifest` says; `identity` tells it from any other."""

    file: zipfile.ZipFile
    manifest: dict
    identity: str

    def members(self, role: str) -> dict[str, dict]:
        """What the manifest says of the members of a role, by name."""
        return {name: said for name, said in self.manifest["members"].items() if said["role"] == role}


@contextmanager
def opened(source: Path) -> Iterator[Archive]:
    """An archive, checked. PlimsollError for a file that is none, is damaged, or is of a format that this version does not
    read; also where that, or a disk that is too small, is found while it is used."""
    try:
        with zipfile.ZipFile(source) as file:
            archive = _manifested(file, source)
            _check_members(archive)
            _check_size(archive, source)
            for name, said in archive.manifest["members"].items():
                for _ in _parts(file, name, said):
                    pass
            yield archive
    except Refused as problem:
        raise PlimsollError(f"{source} cannot be used: {problem}.") from problem
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as problem:
        # Of a damaged archive the place of a member may lie before the file's beginning.
        if isinstance(problem, OSError) and problem.errno != errno.EINVAL:
            raise
        raise PlimsollError(f"{source} is damaged, or no archive: copy it again, or make it again (make archive).") from problem


def _manifested(file: zipfile.ZipFile, source: Path) -> Archive:
    """An archive with what it says of itself, in today's format."""
    if MANIFEST not in file.namelist():
        raise Refused(f"it has no {MANIFEST}, so that it is none of those that `make archive` makes")
    if file.getinfo(MANIFEST).file_size > LONGEST_MANIFEST:
        raise Refused(f"its {MANIFEST} is too long")
    text = file.read(MANIFEST)
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Refused(f"its {MANIFEST} is no JSON") from problem
    if not isinstance(manifest, dict):
        raise Refused(f"its {MANIFEST} has no keys")
    manifest = formats.current(manifest)
    yaml_files.check(manifest, "archive", f"{source}, {MANIFEST}")
    return Archive(file, manifest, hashlib.sha256(text).hexdigest())


def _check_members(archive: Archive) -> None:
    """Refused unless an archive has the members that it says, all that is needed among them, and no others."""
    listed = archive.manifest["members"]
    # Folders are no members; who packs an unpacked archive again gets them.
    names = [name for name in archive.file.namelist() if not name.endswith("/") and name != MANIFEST]
    if len(names) != len(set(names)):
        raise Refused("it has a member twice")
    for name in names:
        _check_member(name, archive.file.getinfo(name), listed.get(name))
    folders = {*archive.manifest["measured"], *(f"results/{study}" for study in archive.manifest["studies"])}
    needed = {member for folder in folders for member in (f"{folder}/plan.json", records_of(folder))}
    needed |= {f"config/studies/{study}.yaml" for study in archive.manifest["studies"]}
    if lacking := sorted((listed.keys() - set(names)) | (needed - archive.members(GIVEN).keys())):
        raise Refused(f"it lacks {lacking[0]}")


def _check_member(name: str, member: zipfile.ZipInfo, said: dict | None) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if not inside(name) or member.orig_filename != name:
        raise Refused(f"its member {shown(member.orig_filename)} would leave the folder that it is unpacked into")
    if said is None:
        raise Refused(f"it has {name}, of which its {MANIFEST} says nothing")
    if kind not in (0, stat.S_IFREG):
        raise Refused(f"its member {name} is no plain file")
    if said["role"] == GIVEN and not PLACED.fullmatch(name):
        raise Refused(f"it would put {name} where the workflow writes")
    if member.file_size != said["bytes"]:
        raise Refused(f"its member {name} is not what was written")


def _check_size(archive: Archive, source: Path) -> None:
    """Refused for an archive that says to hold more than one of its size can."""
    unpacked = sum(said["bytes"] for part in ("members", "measured") for said in archive.manifest[part].values())
    if unpacked > max(SMALL, TIMES_ITS_SIZE * source.stat().st_size):
        raise Refused(f"it would take {unpacked / 2**20:.0f} MiB unpacked, which is too much for its size")


def _parts(file: zipfile.ZipFile, name: str, said: dict) -> Iterator[bytes]:
    """The content of a member, part by part; Refused where it is not what was written."""
    digest, left = hashlib.sha256(), said["bytes"]
    with file.open(name) as content:
        while left >= 0 and (part := content.read(PART_BYTES)):
            left -= len(part)
            digest.update(part)
            yield part
    if left or digest.hexdigest() != said["sha256"]:
        raise Refused(f"its member {name} is not what was written")


def unpack(archive: Archive, folder: Path) -> None:
    """Write what an archive gives to the workflow into an empty folder, with what is about its results and not made again, and
    with the records of each session below its runs/. Refused if a plan is none, if a record is not there, or if the disk is too
    small."""
    placed = _placed(archive)
    needed = sum(said["bytes"] for said in (*placed.values(), *archive.manifest["measured"].values()))
    if needed > (free := shutil.disk_usage(folder).free):
        raise Refused(f"it takes {needed / 2**20:.0f} MiB unpacked, and {folder} has {free / 2**20:.0f} MiB left")
    for name, said in placed.items():
        _write(archive, name, said, folder)
    for session, said in archive.manifest["measured"].items():
        _unpack_records(archive, session, said, folder / session)


def unpack_whole(archive: Archive, folder: Path) -> None:
    """Write all of an archive's results into an empty folder, with what describes their machine: to be read, and not to be
    worked in. Refused as by `unpack`."""
    unpack(archive, folder)
    beside = _beside(archive)
    needed = sum(said["bytes"] for said in beside.values())
    if needed > (free := shutil.disk_usage(folder).free):
        raise Refused(f"it takes {needed / 2**20:.0f} MiB more unpacked, and {folder} has {free / 2**20:.0f} MiB left")
    for name, said in beside.items():
        _write(archive, name, said, folder)


def _placed(archive: Archive) -> dict[str, dict]:
    """The members that are there before anything is made: what is given to the workflow, and what is about the results and is
    not made again with them."""
    return archive.members(GIVEN) | _about(archive, kept=True)


def _beside(archive: Archive) -> dict[str, dict]:
    """The other members among the results: what was made, and what is about it."""
    return archive.members(MADE) | _about(archive, kept=False)


def _about(archive: Archive, *, kept: bool) -> dict[str, dict]:
    """The members that are about the results, and are kept as they are when these are made again (KEPT), or are not."""
    about = {name: said for name, said in archive.members(ABOUT).items() if name.startswith("results/")}
    return {name: said for name, said in about.items() if (PurePosixPath(name).name in KEPT) == kept}


def _write(archive: Archive, name: str, said: dict, folder: Path) -> None:
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
        raise Refused(f"it has {len(there)} records in {session}, and says that it has {said['records']}")
    excused = {tuple(run) for run in said["lacking"]}
    for run in _planned(folder / "plan.json", said["study"]):
        if f"{run[0]}/{run[1]}.json" not in there and run not in excused:
            raise Refused(f"it lacks the record {run[0]}/{run[1]} in {session}, which the plan has")


def _planned(path: Path, study: str) -> list[tuple[str, int]]:
    """The runs (cell, repetition) of a plan that an archive gave. Refused if it is no plan of the study."""
    try:
        plan = documents.of(path, Plan)
    except documents.Misfit as problem:
        raise Refused(f"its plan of {study} is none: {problem}") from problem
    runs = [(cell, repetition) for cell, repetition in plan["order"]]
    if plan["study"] != study or {cell for cell, _ in runs} - plan["cells"].keys():
        raise Refused(f"its plan of {study} is of another study, or names cells that it has not")
    return runs


def _records(archive: Archive, session: str) -> Iterator[tuple[str, bytes]]:
    with archive.file.open(records_of(session)) as content:
        yield from records.unpacked(_lines(content), archive.manifest["measured"][session]["bytes"])


def _lines(content: io.BufferedIOBase) -> Iterator[bytes]:
    while line := content.readline(records.LONGEST):
        if len(line) == records.LONGEST:
            raise Refused("a line of its records is too long")
        yield line


def changed(archive: Archive, folder: Path, but: set[str]) -> str | None:
    """The first file of a folder that is not what the archive gave, or that it did not give to a place of records, by its path
    there; None if there is none. `but` are members that are left out."""
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
    """The first file of a folder that is not what `unpack_whole` put there, by its path there; None if there is none."""
    other = (name for name, said in _beside(archive).items() if _sha256(folder / name) != said["sha256"])
    return changed(archive, folder, set()) or next(other, None)


def _sha256(path: Path, content: Callable[[Path], bytes] = Path.read_bytes) -> str | None:
    """That of a file's content; None if there is none."""
    return hashlib.sha256(content(path)).hexdigest() if path.is_file() else None


def _checksum(path: Path) -> str | None:
    """SHA-256 of a file, as an archive would have it; None if there is none."""
    return _sha256(path, pictures.linked if path.name == pictures.REPORT else Path.read_bytes)


def compared(archive: Archive, folder: Path, but: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    """What was made when the archive was, by the paths in a folder where all is made anew: (what is the same there, all else).
    `but` are ends of paths that are left out."""
    same, other = [], []
    for name, said in archive.members(MADE).items():
        if not name.endswith(but):
            (same if _checksum(folder / name) == said["sha256"] else other).append(name)
    return same, other


def rounded(archive: Archive, folder: Path, tables: list[str]) -> list[str]:
    """Those of these tables that were made anew in a folder whose numbers are the archive's but for their last digits."""
    there = [name for name in tables if (folder / name).is_file()]
    return [name for name in there if rounding.alike(archive.file.read(name), (folder / name).read_bytes())]

"""Data and studies in zip files: an archive of `plimsoll archive` or `plimsoll judge`, or any zip with tables in it."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import yaml

from plimsoll.designs.table import DESIGN, inputs
from plimsoll.designs.table.readers import results
from plimsoll.errors import PlimsollError, first_of

# Largest sum of the files that are unpacked (bytes).
LARGEST = 2**31
TABLES = (".csv", ".tsv", ".parquet")
OUTPUTS = (".json", ".xml", ".log")
STUDIES = (".yaml", ".yml")
# Only an archive of `plimsoll archive` has this file.
OF_ARCHIVE = "archive.json"


def split(path: Path) -> tuple[Path, str] | None:
    """Return (zip file, path or pattern in it) of a path that leads to or into a zip file; None for any other path."""
    file = next((at for at in (path, *path.parents) if at.is_file()), None)
    if file is None or not zipfile.is_zipfile(file):
        return None
    return file, path.relative_to(file).as_posix() if file != path else ""


@contextmanager
def unpack(archive: Path, pattern: str = "") -> Iterator[tuple[Path, list[str]]]:
    """Yield (folder, patterns of what to read in it) with the files that a pattern names, or with the only data of a zip.

    PlimsollError if the zip cannot be unpacked, or has several tables. Errors in the block name the zip in the folder's place.
    """
    with TemporaryDirectory() as place:
        try:
            with zipfile.ZipFile(archive) as opened:
                names = [name for name in opened.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
                patterns = [pattern] if pattern else _data(archive, names)
                wanted = [name for name in names if any(_is_of(name, one) for one in patterns)]
                _extract(opened, archive, wanted, place)
        except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
            raise PlimsollError(f"{archive} cannot be unpacked: {error}. Nothing was judged. Copy it again.") from error
        try:
            yield Path(place), patterns
        except PlimsollError as problem:
            raise PlimsollError(str(problem).replace(place, str(archive))) from problem


def _is_of(name: str, pattern: str) -> bool:
    """Return whether a member is what a pattern names, or lies in a folder that it names."""
    return any(fnmatchcase(str(at), pattern) for at in (PurePosixPath(name), *PurePosixPath(name).parents))


def _extract(opened: zipfile.ZipFile, archive: Path, names: list[str], place: str) -> None:
    size = sum(opened.getinfo(name).file_size for name in names)
    if size > LARGEST:
        raise PlimsollError(
            f"{archive}: unpacked, it has {size / 2**30:.1f} GiB of data, which is too much. Unpack it, and "
            "name the files in it."
        )
    for name in names:
        opened.extract(name, place)


def _data(archive: Path, names: list[str]) -> list[str]:
    """Return what is read of a zip if nothing in it is named: Plimsoll's results, or its only table or output.

    PlimsollError if it has no data, or several tables.
    """
    folders = {str(PurePosixPath(name).parent) for name in names if PurePosixPath(name).name == results.OBSERVATIONS}
    own = sorted(folder for folder in folders if f"{folder}/{results.PLAN}" in names)
    if own:
        return own
    for kind in (TABLES, OUTPUTS):
        found = sorted(name for name in names if name.lower().endswith(kind))
        if len(found) == 1:
            return found
        if found:
            raise PlimsollError(
                f"{archive} has several files with data ({first_of(found, 6)}). Name one, such as {archive}/{found[0]}, "
                f"or several by a pattern, such as {archive}/*{PurePosixPath(found[0]).suffix}."
            )
    raise PlimsollError(f"{archive} has no file with data. Files that can be read end in {', '.join((*TABLES, *OUTPUTS))}.")


@contextmanager
def study_file(path: Path) -> Iterator[tuple[Path, str | None]]:
    """Yield (file of a study, name of the zip that it is in). The name is None for a file that is no zip.

    PlimsollError if a zip has no study of this design, or several.
    """
    if not (path.is_file() and zipfile.is_zipfile(path)):
        yield path, None
        return
    with unpack(path, "*") as (folder, _):
        if (folder / OF_ARCHIVE).is_file():
            raise PlimsollError(
                f"{path} is an archive of measurements: `plimsoll remake {path}` makes its own verdicts, and `plimsoll judge "
                f"--claims FILE --data {path}` judges it by claims of yours. Nothing was judged."
            )
        own = folder / inputs.STUDY
        found = [own] if _is_study(own) else [file for file in sorted(folder.rglob("*")) if _is_study(file)]
        if len(found) != 1:
            names = first_of([str(file.relative_to(folder)) for file in found], 6)
            has = f"several studies of the design `table` ({names})" if found else "no study of the design `table`"
            raise PlimsollError(
                f"{path} has {has}. Nothing was judged. Unpack it and name the study, or give --claims and --data."
            )
        yield found[0], path.stem


def _is_study(file: Path) -> bool:
    try:
        document = yaml.safe_load(file.read_text()) if file.suffix in STUDIES else None
    except (OSError, ValueError, yaml.YAMLError):
        return False
    return isinstance(document, dict) and document.get("design") == DESIGN.name

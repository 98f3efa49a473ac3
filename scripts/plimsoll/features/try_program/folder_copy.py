"""The copy of the user's folder: what is copied, and what is not. Studies that `plimsoll try` has made are left out."""

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from itertools import count, takewhile
from pathlib import Path

from plimsoll.errors import PlimsollError

# Begins every file that `plimsoll try` writes.
MARK = "# A study of a program, made by `plimsoll try`."


def is_ours(file: Path) -> bool:
    """Return whether `plimsoll try` has written a study's file."""
    try:
        with open(file, "rb") as opened:
            return opened.read(len(MARK)) == MARK.encode()
    except OSError:
        return False


def copy(folder: Path, target: Path) -> None:
    """Copy a folder, without studies in it and without `target`. Raise PlimsollError if that cannot be done."""

    def ignored(at: str, names: list[str]) -> list[str]:
        return [*left_out(Path(at), names), *(name for name in names if target.is_relative_to(Path(at, name)))]

    try:
        shutil.copytree(folder, target, symlinks=True, ignore=ignored)
    except (OSError, shutil.Error) as problem:
        first = problem.args[0][0][-1] if isinstance(problem, shutil.Error) else problem
        raise PlimsollError(f"{folder} could not be copied ({first}): nothing was measured.") from problem


def left_out(folder: Path, names: Sequence[str]) -> list[str]:
    """Return the names in a folder that belong to studies of `plimsoll try`: their files, folders and archives."""
    studies = {name.removesuffix(".yaml") for name in names if name.endswith(".yaml") and is_ours(folder / name)}
    own = {name for one in studies for name in (one, f"{one}.yaml", *(path.name for path in archives(folder, one)))}
    return [name for name in names if name in own]


def archives(folder: Path, study: str) -> list[Path]:
    """Return the archives of a study in a folder, the oldest first."""
    return list(takewhile(Path.exists, _archive_names(folder, study)))


def next_archive(folder: Path, study: str) -> Path:
    """Return the path of the next archive of a study, which does not exist."""
    return next(path for path in _archive_names(folder, study) if not path.exists())


def _archive_names(folder: Path, study: str) -> Iterator[Path]:
    """Yield <study>.zip, <study>.2.zip and so on. No study has a dot in its name."""
    return (folder / (f"{study}.{number}.zip" if number > 1 else f"{study}.zip") for number in count(1))


def paths(folder: Path) -> Iterator[Path]:
    """Yield what is copied of a folder.

    Raise PlimsollError for a path that cannot be: a pipe, an unreadable file, or a relative link that leads out of the folder.
    """
    for at, folders, names in os.walk(folder):
        out = set(left_out(Path(at), [*folders, *names]))
        folders[:] = [name for name in folders if name not in out]
        for path in (Path(at, name) for name in [*folders, *names] if name not in out):
            kind = path.lstat().st_mode
            _refuse_leading_out(path, folder)
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind)):
                raise PlimsollError(
                    f"{path} is neither a file nor a folder, so it cannot be copied. Nothing was measured. Name "
                    "another folder with --folder."
                )
            if not stat.S_ISLNK(kind) and not os.access(path, os.R_OK):
                raise PlimsollError(
                    f"{path} cannot be read, so it cannot be copied. Nothing was measured. Name another folder with --folder."
                )
            yield path


def _refuse_leading_out(path: Path, folder: Path) -> None:
    """Raise PlimsollError for a relative link to a place outside of the folder: in a copy it leads elsewhere."""
    if not path.is_symlink() or not os.path.exists(path) or os.path.isabs(target := os.readlink(path)):
        return
    if leaves(Path(path.parent.relative_to(folder), target)):
        raise PlimsollError(
            f"{path} is a link to {target}, which is not in the folder, so it leads nowhere in a copy. Nothing was measured. "
            "Put the file itself in its place, make the link absolute (ln -s /...), or name another folder with --folder."
        )


def leaves(path: str | Path) -> bool:
    """Return whether a relative path leads out of the folder that it begins in."""
    return Path(os.path.normpath(path)).parts[:1] == ("..",)


def made(place: Path, study: str) -> list[Path]:
    """Return the files that a study has made, for people: its page, and its tables."""
    own = place / "results" / study
    return [own / "report.html", own / "tables/ladder.csv", own / "try.json", *archives(place, study)[-1:]]

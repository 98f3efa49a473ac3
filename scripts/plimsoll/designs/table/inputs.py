"""Inputs of a judged study, as its archive has them. The archive is judged again from them (plimsoll.designs.table.zips)."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from plimsoll.designs.table import DESIGN

FOLDER = "inputs"
# Study of claims and data that options named. The files themselves are in FILES, beside it.
STUDY, FILES = f"{FOLDER}/study.yaml", "files"


@dataclass(frozen=True)
class Inputs:
    """Inputs by their names in the archive. `places` are the names of files and folders of data by their paths."""

    contents: dict[str, bytes]
    places: dict[str, str]

    def place(self, where: str) -> str:
        """Return the place of a row, which begins with the path of its file, with the file's name in the archive."""
        begins = (path for path in self.places if where == path or where.startswith((f"{path},", f"{path}/")))
        path = next(begins, "")
        return self.places.get(path, "") + where.removeprefix(path)


def of_study(document: Mapping | None, claims: Path | None, data: Sequence[Path], written: Sequence[Path]) -> Inputs:
    """Return the inputs of a study: its claims' file, files of data, and the files that it is `written` in.

    Without such a file, `document` is what the options said, and the archive has a study that says it.
    """
    paths = dict.fromkeys(path.resolve() for path in (*written, *([claims] if claims else []), *data))
    shared = _shared(paths)
    below = FOLDER if document is None else f"{FOLDER}/{FILES}"
    study = {} if document is None else {STUDY: _study(document, claims, shared)}
    places = {str(path): str(Path(below, path.resolve().relative_to(shared))) for path in data}
    return Inputs(study | _contents(paths, shared, below), places)


def _shared(paths: Iterable[Path]) -> Path:
    """Return the innermost folder that all paths are in, or are."""
    folders = [path if path.is_dir() else path.parent for path in paths]
    return Path(os.path.commonpath(folders)) if folders else Path()


def _contents(paths: Iterable[Path], shared: Path, below: str) -> dict[str, bytes]:
    files = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path]) if file.is_file()]
    return {f"{below}/{file.relative_to(shared)}": file.read_bytes() for file in files}


def _study(document: Mapping, claims: Path, shared: Path) -> bytes:
    """Return the file of a study that options gave, with paths as the archive has them."""

    def named(path: str | Path) -> str:
        return str(Path(FILES, Path(path).resolve().relative_to(shared)))

    data = {key: [{"path": named(one["path"])} for one in document[key]] for key in ("data", "printed") if key in document}
    return yaml.safe_dump({"design": DESIGN.name, **document, **data, "claims": named(claims)}, sort_keys=False).encode()

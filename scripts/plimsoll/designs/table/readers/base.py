"""The interface of a reader."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path

from plimsoll.designs.table.rows import Columns, Row
from plimsoll.errors import PlimsollError


class Reader(ABC):
    """Reads what a tool writes. `name` is for studies; `says` is what it reads, in words that begin a clause."""

    name: str
    says: str
    last: bool = False  # whether it recognises files that other readers know better

    @abstractmethod
    def fits(self, path: Path, begun: str) -> bool:
        """Return whether a file, whose beginning is given, or a folder is one that this reader reads."""

    @abstractmethod
    def read(self, path: Path, columns: Columns) -> list[Row]:
        """Return the rows of a file or folder. PlimsollError, with file and place, for what it cannot be."""


def document(path: Path) -> object:
    """Return the content of a JSON file. PlimsollError, with the line, if it is none."""
    try:
        return json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise PlimsollError(f"{path}, line {error.lineno}: not valid JSON: {error.msg}.") from error
    except (OSError, ValueError) as error:
        raise PlimsollError(f"{path} cannot be read as text: {error}.") from error


@contextmanager
def understood(path: Path, says: str):
    """Raise PlimsollError in place of an error by content that a tool's file does not have."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as problem:
        raise PlimsollError(f"{path}: this is not what {says} has: {type(problem).__name__}: {problem}.") from problem


def varying(rows: list[Row]) -> list[Row]:
    """Return rows without the factors that have one level in all of them, unless none would be left."""
    from dataclasses import replace

    factors = _names(rows)
    kept = [name for name in factors if len({row.levels.get(name, "") for row in rows}) > 1] or factors[:1]
    return [replace(row, levels={name: row.levels.get(name, "") for name in kept}) for row in rows]


def _names(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.levels))

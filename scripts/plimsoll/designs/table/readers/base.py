"""The interface of a reader."""

import json
from abc import ABC, abstractmethod
from contextlib import contextmanager
from pathlib import Path

from plimsoll.designs.table.rows import Columns, Row
from plimsoll.errors import PlimsollError


class Reader(ABC):
    """Reads what a tool writes. `name` is for studies; `says` is what it reads, in words that begin a clause."""

    name: str
    says: str
    last: bool = False  # whether it recognises files that other readers know better
    prunes: bool = True  # whether a factor with one level in all rows says nothing

    @abstractmethod
    def fits(self, path: Path, begun: str) -> bool:
        """Return whether a file, whose beginning is given, or a folder is one that this reader reads."""

    @abstractmethod
    def read(self, path: Path, columns: Columns) -> list[Row]:
        """Return the rows of a file or folder. PlimsollError, with file and place, for what it cannot be."""


def document(path: Path) -> object:
    """Return the content of a JSON file. PlimsollError, with the line, if it is not JSON."""
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

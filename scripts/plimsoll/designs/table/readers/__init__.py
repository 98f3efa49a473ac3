"""Readers of what people's tools write: one file each, which lists its readers in READERS."""

from functools import cache
from pathlib import Path

from plimsoll import registry
from plimsoll.designs.table.readers.base import Reader
from plimsoll.designs.table.rows import Columns, Row
from plimsoll.errors import PlimsollError

# As much of a file is looked at to recognise it (bytes).
BEGINNING = 20_000


@cache
def known() -> dict[str, Reader]:
    """Return every reader by name."""
    import plimsoll.designs.table.readers as package

    return registry.members(package, "READERS")


def read(path: Path, name: str | None, columns: Columns) -> tuple[Reader, list[Row]]:
    """Return (reader, rows) of a file or a folder, by the reader of this name, or by the first that recognises it.

    PlimsollError if it is not there, if no reader recognises it, or if it has nothing that is read.
    """
    try:
        begun = "" if path.is_dir() else path.open("rb").read(BEGINNING).decode(errors="replace")
    except OSError as error:
        raise PlimsollError(f"{path} cannot be read: {error.strerror}.") from error
    reader = registry.find(known(), "reader", name) if name else _recognised(path, begun)
    rows = reader.read(path, columns)
    if not rows:
        raise PlimsollError(f"{path}: {reader.says} has no value in it.")
    return reader, rows


def _recognised(path: Path, begun: str) -> Reader:
    # A table of any columns is recognised last.
    readers = sorted(known().values(), key=lambda reader: reader.last)
    for reader in readers:
        if reader.fits(path, begun):
            return reader
    raise PlimsollError(f"{path}: no reader recognises it. Name one with `reader`: {', '.join(sorted(known()))}.")

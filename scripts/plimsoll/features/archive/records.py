"""A study's records as one member of an archive: a line of JSON per record, in the order of their paths.

A study has hundreds or thousands of records, and each lists the identity of every mapped file. As separate members they
would take several times the space. A zip file compresses each member on its own, and sees no more than 32 KiB of it at
once. So a line can say that a large value is the same as in an earlier record.

A line has the record's `path` below runs/, and the `record`. `same` names keys whose value (null in the line) is that
of an earlier record, given by its path. A file that is not as records are written, such as a damaged one, is kept as it
is: its `bytes`, in base64, take the record's place. So each file is restored byte for byte.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from plimsoll.errors import quote
from plimsoll.features.archive.layout import RefusedArchive, inside
from plimsoll.interchange import Record

# A value of at least this many characters is replaced by a reference.
LARGE = 4096
# Upper limit of a line's length (bytes).
LONGEST = 64 * 2**20


class PackedRecord(NamedTuple):
    """A record on its way into an archive: its `line`, its `path` below runs/, the `bytes` of its file, and the
    `record`.

    The `record` of a file without one has the value None.
    """

    line: bytes
    path: str
    bytes: int
    record: Record | None


def packed(runs: Path) -> Iterator[PackedRecord]:
    """Yield every record below a folder, in the order of their paths."""
    seen: dict[tuple[str, str], str] = {}
    files = {path.relative_to(runs).as_posix(): path for path in runs.rglob("*.json") if path.is_file()}
    for name in sorted(files):
        content = files[name].read_bytes()
        record = _record(content)
        told = {"path": name, "bytes": base64.b64encode(content).decode()} if record is None else _told(name, record, seen)
        yield PackedRecord(f"{_compact(told)}\n".encode(), name, len(content), record)


def _record(content: bytes) -> Record | None:
    """Return the content of a record's file. Return None if writing it again would not give the same file."""
    try:
        record = json.loads(content)
        return record if isinstance(record, dict) and _written(record) == content else None
    except (ValueError, RecursionError):
        return None


def _written(record: dict) -> bytes:
    """Return the content of a record's file, as plimsoll.measuring.record writes it."""
    return (json.dumps(record, indent=1) + "\n").encode()


def _compact(content: object) -> str:
    return json.dumps(content, separators=(",", ":"))


def _told(name: str, record: dict, seen: dict[tuple[str, str], str]) -> dict:
    """Return the content of a record's line. `seen` has the path of the first record with each large value, by (key, value)."""
    large = {key: text for key, value in record.items() if len(text := _compact(value)) >= LARGE}
    first = {key: seen.setdefault((key, text), name) for key, text in large.items()}
    same = {key: path for key, path in first.items() if path != name}
    told = {"path": name, "record": {**record, **dict.fromkeys(same)}}
    return {**told, "same": same} if same else told


def unpacked(lines: Iterable[bytes], most: int) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) for each record in an archive's lines.

    Raise RefusedArchive if a line is invalid, if a path leaves the folder or occurs twice, or if all contents exceed `most`
    bytes.
    """
    there: set[str] = set()
    large: dict[tuple[str, str], str] = {}
    for number, line in enumerate(lines, 1):
        try:
            name, content = _read(json.loads(line), large)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
            raise RefusedArchive(f"line {number} of its records is not a record") from problem
        most -= len(content)
        if most < 0:
            raise RefusedArchive("its records are larger than it says")
        if name in there:
            raise RefusedArchive(f"it has the record {name} twice")
        there.add(name)
        yield name, content


def _read(told: dict, large: dict[tuple[str, str], str]) -> tuple[str, bytes]:
    """Return (path, content) of a record's line. `large` has, as text, the large values that later lines may refer to."""
    name = told["path"]
    if not (isinstance(name, str) and inside(name) and name.endswith(".json")):
        raise RefusedArchive(f"it has a record with the path {quote(name)}, which leaves its folder")
    if "bytes" in told:
        return name, base64.b64decode(told["bytes"], validate=True)
    own = {(name, key): text for key, value in told["record"].items() if len(text := _compact(value)) >= LARGE}
    large.update(own)
    referred = {key: json.loads(large[first, key]) for key, first in told.get("same", {}).items()}
    return name, _written({**told["record"], **referred})

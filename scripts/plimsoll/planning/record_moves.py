"""Report which valid records a start of the workflow moves to the archive or leaves out, why, and which it takes back
from there."""

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll.design import Design
from plimsoll.errors import first_of, quote
from plimsoll.interchange import Cell, Plan, Record
from plimsoll.measuring import record, staleness, status

# Names for people of the keys of a cell, and of dictionaries in it.
NAMES = {
    "host": "the host",
    "parameters": "the problem size",
    "places": "the processors of its nodes",
    "mpi_parameters": "the setting of Open MPI",
    "time_limit_seconds": "the time limit (s)",
    "events": "the counted events",
    "host_limits": "the limit of all containers",
    "containers": "the containers",
    "bindings": "the processors of its programs",
    "block_io_weight": "the weight of block I/O",
    "grouped": "a group around all containers",
    "memory_bytes": "the memory (bytes)",
    "sizes": "the size of the data (bytes)",
    "settings": "the setting of Hadoop",
}
# The reason if no difference is found: an earlier version described the same cell in another form.
UNKNOWN = "another version of Plimsoll described them otherwise"
# At most this many changes of one kind are named.
MOST = 2


def sentences(folder: Path, design: Design, plan: Plan, runs: Iterable[tuple[str, int]]) -> list[str]:
    """Describe what a start of the workflow that measures these runs (cell, repetition) does with a study's valid
    records.

    `folder` has the study's results. One sentence per kind of change says why records move to the archive. Others say
    how many come back from the archive, and which stay in place although their cell cannot be measured now.
    """
    changes: dict[tuple[str, ...], list[str]] = defaultdict(list)
    back = 0
    for path, repetition in runs:
        cell = plan["cells"][path]
        if old := _put_aside(folder, cell, repetition):
            found = dict(_changes(design.cells.measured(cell), old, plan))
            changes[tuple(found)].append(", ".join(found.values()) or UNKNOWN)
        back += staleness.in_archive(folder, cell, repetition) is not None
    archive = folder / staleness.ARCHIVE
    told = [
        f"{plan['study']}: {_runs(len(each))} put aside in {archive}/: {first_of(list(dict.fromkeys(each)), MOST, '; or ')}."
        for each in changes.values()
    ]
    if back:
        told.append(f"{plan['study']}: {_runs(back)} taken back from {archive}/, as measured with what is planned now.")
    return [*told, *_left_out(folder, plan)]


def _runs(number: int) -> str:
    return f"{number} valid run{' is' if number == 1 else 's are'}"


def _put_aside(folder: Path, cell: Cell, repetition: int) -> Record | None:
    """Return a run's counted record if the run is now planned differently, otherwise None."""
    path = record.path_of(folder / "runs", cell["path"], repetition)
    seen = staleness.look(path)
    if seen.fingerprint in (None, cell["fingerprint"]) or seen.status not in status.COUNTED:
        return None
    # A damaged record is reported when it is moved to the archive.
    with contextlib.suppress(record.DamagedFile):
        return record.read(path)
    return None


def _changes(measured: dict, old: Record, plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield (name, sentence part) for each difference between what is planned now and what a record says."""
    for key, now in measured.items():
        yield from _differences(NAMES.get(key, key.replace("_", " ")), old["cell"].get(key), now)
    if old["profile"] != plan["profile"]:
        yield "profile", f"by the profile {plan['profile']} in place of {old['profile']}"


def _differences(name: str, then: object, now: object) -> Iterator[tuple[str, str]]:
    if isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*then, *now]):
            yield from _differences(f"{name} ({key})", then.get(key), now.get(key))
    elif then != now:
        yield name, f"{name} was {quote(then)} and is {quote(now)} now"


def _left_out(folder: Path, plan: Plan) -> Iterator[str]:
    """Yield a sentence per reason about counted records that are not shown, because their cells cannot be measured at
    the moment."""
    found: dict[str, int] = defaultdict(int)
    for path, cell in plan["cells"].items():
        if cell["reason"]:
            looks = map(staleness.look, (folder / "runs" / path).glob("*.json"))
            found[cell["reason"]] += sum(seen.status in status.COUNTED for seen in looks)
    for reason, number in found.items():
        if number:
            yield f"{plan['study']}: {_runs(number)} left out, and kept where they are: {reason}."

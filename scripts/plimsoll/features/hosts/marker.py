"""Marker that a host is done: when and where it was measured, what it is, and which studies have verdicts there."""

import json
import time
from pathlib import Path
from typing import TypedDict

from plimsoll import documents
from plimsoll.measuring import record

FILE, FORMAT = "done.json", 1
# One line for each start on a host, written by scripts/cluster/host.sh.
STARTS = "starts.jsonl"
# Facts about the machine that the marker holds.
OF_HOST = ("cpu_model", "cores", "memory_bytes", "distribution")


class Mark(TypedDict):
    """What a marker holds at least."""

    host: str


class Start(TypedDict):
    """A start on a host: Slurm's `node` and `job`, which are empty without Slurm, and its `moment` (s since 1970)."""

    node: str
    job: str
    moment: int


def write(folder: Path, name: str) -> None:
    """Put the marker of the host `name` into its folder, in one step."""
    results = folder / "results"
    host = _host(results / "host.json")
    mark = {
        "format": FORMAT,
        "host": name,
        "ended": time.time(),
        "starts": _starts(folder / STARTS),
        "machine": {key: host[key] for key in OF_HOST if key in host},
        "studies": sorted(path.parent.name for path in results.glob("*/claims.json")),
    }
    record.write(folder / FILE, mark)


def _host(path: Path) -> dict:
    """Return what is known of the machine; an empty dictionary if it was not described."""
    try:
        return documents.load(path, dict)
    except documents.Misfit:
        return {}


def _starts(path: Path) -> list[Start]:
    """Return the starts. Ignore a line that was cut off."""
    starts = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            start = json.loads(line)
            documents.fit(start, Start)
        except (ValueError, documents.Misfit):
            continue
        starts.append(start)
    return starts

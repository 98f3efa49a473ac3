"""The mark that a host is done: when and where it was measured, what it is, and which studies have verdicts there."""

import json
import time
from pathlib import Path

from plimsoll.measuring import record

FILE, FORMAT = "done.json", 1
# One line for each start on a host, as scripts/cluster/host.sh has written it.
STARTS = "starts.jsonl"
# What is told of the machine.
OF_HOST = ("cpu_model", "cores", "memory_bytes", "distribution")


def write(folder: Path, name: str) -> None:
    """Put the mark of the host `name` into its folder, in one step."""
    results = folder / "results"
    host = _read(results / "host.json")
    started = (folder / STARTS).read_text().splitlines() if (folder / STARTS).exists() else []
    mark = {
        "format": FORMAT,
        "host": name,
        "ended": time.time(),
        "starts": [json.loads(line) for line in started],
        "machine": {key: host[key] for key in OF_HOST if key in host},
        "studies": sorted(path.parent.name for path in results.glob("*/claims.json")),
    }
    record.write(folder / FILE, mark)


def _read(path: Path) -> dict:
    return json.loads(path.read_text()) if path.exists() else {}

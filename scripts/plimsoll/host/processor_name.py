"""Name of the processor, as lscpu gives it on every architecture."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")
UNKNOWN = "unknown"
# lscpu prints this for a model that it does not know.
NO_NAME = "-"


def find(root: Path = ROOT) -> str:
    """Return the name of the processor, or of each of its models. `root` holds copies of another machine's /sys and /proc.

    If lscpu knows no model, the name is the vendor's. If lscpu is missing or fails, the name is the one in
    /proc/cpuinfo. That file has no name on Arm: the result is then `unknown`.
    """
    fields = _told(root)
    for wanted in ("Model name", "Vendor ID"):
        if names := dict.fromkeys(value for field, value in fields if field == wanted and value != NO_NAME):
            return ", ".join(names)
    return UNKNOWN


def _told(root: Path) -> list[tuple[str, str]]:
    """Return (field, value) pairs from lscpu, or the model names in /proc/cpuinfo if lscpu is missing or fails."""
    where = [] if root == ROOT else ["--sysroot", str(root)]
    try:
        done = subprocess.run(["lscpu", "--json", *where], env={**os.environ, "LC_ALL": "C"}, capture_output=True)
        return [(field.rstrip(":"), value) for field, value in _fields(json.loads(done.stdout)["lscpu"])]
    except (OSError, ValueError):
        file = root / "proc/cpuinfo"
        lines = (line.partition(":") for line in (file.read_text().splitlines() if file.exists() else []))
        return [("Model name", value.strip()) for field, _, value in lines if field.strip() == "model name"]


def _fields(rows: list[dict]) -> Iterator[tuple[str, str]]:
    """Yield (field, value) pairs. Newer versions of lscpu hold fields within fields."""
    for row in rows:
        yield row["field"], row["data"]
        yield from _fields(row.get("children", []))

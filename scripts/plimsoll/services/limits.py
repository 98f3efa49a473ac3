"""Limits of a container, read from inside it before its microservice begins."""

import re

from plimsoll.errors import Unavailable
from plimsoll.host import cpulist

# Shell commands that print a container's limits from inside. The names are the kernel's, of cgroup versions 1 and 2.
SEEN = (
    "grep -h -e ^Cpus_allowed_list -e ^Mems_allowed_list /proc/self/status;"
    "grep -h ^hierarchical_memory_limit /sys/fs/cgroup/memory/memory.stat;"
    "echo own_memory_limit $(cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max);"
    "echo block_io_weight $(cat /sys/fs/cgroup/blkio/blkio.bfq.weight /sys/fs/cgroup/blkio/blkio.weight "
    "/sys/fs/cgroup/io.bfq.weight /sys/fs/cgroup/io.weight)"
)

# The same commands, without error messages about missing files.
ASKED = "{ " + SEEN + "; } 2>/dev/null"


def parse(text: str) -> dict:
    """Parse what SEEN prints in a container: its limits.

    They are `cpus`, `nodes`, `memory_bytes` and `block_io_weight`. A container whose own group has no memory limit, and
    which does not see the limits of the groups above, has None for `memory_bytes`. A kernel without weights has None
    for `block_io_weight`. Raise Unavailable if the text has another form.
    """
    rows = {line.split()[0].rstrip(":"): line.split()[1:] for line in text.splitlines() if line.split()}
    limits = rows.get("hierarchical_memory_limit") or [word for word in rows.get("own_memory_limit", []) if word != "max"]
    weights = [word for word in rows.get("block_io_weight", []) if word.isdigit()]
    found = {
        "cpus": " ".join(rows.get("Cpus_allowed_list", [])),
        "nodes": " ".join(rows.get("Mems_allowed_list", [])),
        "memory_bytes": limits[0] if limits else None,
        "block_io_weight": weights[0] if weights else None,
    }
    try:
        for name in ("cpus", "nodes"):
            cpulist.parse(found[name])
        numbers = {name: None if found[name] is None else whole(found[name]) for name in ("memory_bytes", "block_io_weight")}
    except ValueError as problem:
        raise Unavailable(f"a container did not say what it may use: {problem}") from problem
    return {**found, **numbers}


def whole(text: str) -> int:
    """Parse a whole number as the kernel prints it. Raise ValueError for any other text."""
    if not re.fullmatch("[0-9]{1,20}", text):
        raise ValueError(f"{text[:20]!r} is no whole number")
    return int(text)


def refuse_others(seen: dict, wanted: dict) -> None:
    """Raise Unavailable if the limits `seen` in a container differ from those `wanted`: `cpus` and `memory_bytes`."""
    if cpulist.parse(seen["cpus"]) != cpulist.parse(wanted["cpus"]):
        raise Unavailable(f"a container may use the processors {seen['cpus']}, and should have {wanted['cpus']}")
    if seen["memory_bytes"] not in (None, wanted["memory_bytes"]):
        there, should = seen["memory_bytes"], wanted["memory_bytes"]
        raise Unavailable(f"a container may use {there} bytes of memory, and should have {should}")

"""What a container may use, read from inside it before its microservice begins."""

import re

from plimsoll.errors import Unavailable
from plimsoll.host import cpulist

# Prints it, in a container: the names are the kernel's, of cgroup version 1 and 2.
SEEN = (
    "grep -h -e ^Cpus_allowed_list -e ^Mems_allowed_list /proc/self/status;"
    "grep -h ^hierarchical_memory_limit /sys/fs/cgroup/memory/memory.stat;"
    "echo own_memory_limit $(cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max);"
    "echo block_io_weight $(cat /sys/fs/cgroup/blkio/blkio.bfq.weight /sys/fs/cgroup/blkio/blkio.weight "
    "/sys/fs/cgroup/io.bfq.weight /sys/fs/cgroup/io.weight)"
)

# The same, without a word of what is not there.
ASKED = "{ " + SEEN + "; } 2>/dev/null"


def seen(text: str) -> dict:
    """What a container may use, from what SEEN prints in it: `cpus`, `nodes`, `memory_bytes` (None if only the groups above it
    are limited, and it does not see them) and `block_io_weight` (None if the kernel has none). Unavailable if it printed
    something else."""
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
    """A whole number as the kernel prints it; ValueError for anything else."""
    if not re.fullmatch("[0-9]{1,20}", text):
        raise ValueError(f"{text[:20]!r} is no whole number")
    return int(text)


def refuse_others(seen: dict, wanted: dict) -> None:
    """Unavailable if what was `seen` is not what a container should have: `cpus` and `memory_bytes`."""
    if cpulist.parse(seen["cpus"]) != cpulist.parse(wanted["cpus"]):
        raise Unavailable(f"a container may use the processors {seen['cpus']}, and should have {wanted['cpus']}")
    if seen["memory_bytes"] not in (None, wanted["memory_bytes"]):
        there, should = seen["memory_bytes"], wanted["memory_bytes"]
        raise Unavailable(f"a container may use {there} bytes of memory, and should have {should}")

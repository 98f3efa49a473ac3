"""What a container may use, read from inside it before its microservice begins."""

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


def seen(text: str) -> dict:
    """What a container may use, from what SEEN prints in it: `cpus`, `nodes`, `memory_bytes` (None if only the groups above it
    are limited, and it does not see them) and `block_io_weight` (None if the kernel has none)."""
    rows = {line.split()[0].rstrip(":"): line.split()[1:] for line in text.splitlines() if line.split()}
    limits = rows.get("hierarchical_memory_limit") or [word for word in rows.get("own_memory_limit", []) if word != "max"]
    weights = [word for word in rows.get("block_io_weight", []) if word.isdigit()]
    return {
        "cpus": " ".join(rows.get("Cpus_allowed_list", [])),
        "nodes": " ".join(rows.get("Mems_allowed_list", [])),
        "memory_bytes": int(limits[0]) if limits else None,
        "block_io_weight": int(weights[0]) if weights else None,
    }


def refuse_others(seen: dict, wanted: dict) -> None:
    """Unavailable if what was `seen` is not what a container should have: `cpus` and `memory_bytes`."""
    if cpulist.parse(seen["cpus"]) != cpulist.parse(wanted["cpus"]):
        raise Unavailable(f"a container may use the processors {seen['cpus']}, and should have {wanted['cpus']}")
    if seen["memory_bytes"] not in (None, wanted["memory_bytes"]):
        there, should = seen["memory_bytes"], wanted["memory_bytes"]
        raise Unavailable(f"a container may use {there} bytes of memory, and should have {should}")

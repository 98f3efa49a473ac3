"""Facts about a host that decide problem sizes, and whether its memory has room for a problem."""

from plimsoll.host import topology
from plimsoll.interchange import Sizes, Topology

# Largest share of the host's memory for what runs.
MEMORY_SHARE = 0.7


def of_host(host: Topology) -> Sizes:
    """Return the facts that decide problem sizes: the noted ones if the host has them, otherwise the host's present ones."""
    return host.get("sizes") or present(host)


def present(host: Topology) -> Sizes:
    """Return the facts that decide problem sizes on the host as it is."""
    return {
        "host": topology.identity(host),
        "node_bytes": min(node["memory_bytes"] or host["memory_bytes"] for node in topology.memory_nodes(host)),
        "cache_bytes": topology.last_level_cache_bytes(host),
        "cluster_bytes": {
            other["name"]: other["memory_bytes"] for other in host.get("cluster_hosts", []) if "memory_bytes" in other
        },
    }


def too_large(what: str, needed: int, host: Topology) -> str | None:
    """Return why the host's memory cannot hold `what` runs, which needs `needed` bytes; None if it can.

    The reason does not say how much memory there is, because a plan must not change whenever the memory does.
    """
    if needed <= MEMORY_SHARE * host["memory_bytes"]:
        return None
    return f"{what} would need {needed / 2**30:.1f} GiB, and runs may have {MEMORY_SHARE * 100:.0f} % of this host's memory"

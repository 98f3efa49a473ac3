"""Levels and cells of a splitting study in words: two Docker containers, exactly subscribed, any processor."""

from plimsoll import environments
from plimsoll.designs.splitting.scheme import ALONE
from plimsoll.instruments.base import Instrument

BARE = "bare"
NUMBERS = {1: "one", 2: "two", 4: "four", 8: "eight", 16: "sixteen"}
LEVELS = {
    "hardware": {"uma": "UMA", "numa": "NUMA"},
    "mode": {"exact": "exactly subscribed", "over": "over-subscribed"},
    "affinity": {
        "any": "any processor",
        "pin": "each rank on a core of its own",
        "cpu": "each container on cores of its own",
        "cpumem": "each container on cores and memory of its own",
        "cpumempin": "each container on cores and memory of its own, its ranks pinned",
    },
    "yield": {"default": "yielding as Open MPI chooses", "disabled": "without yielding", "enabled": "with yielding"},
    "sizes": {"standard": "standard sizes", "yielding": "the sizes of the yielding experiment"},
    "instrument": {"mpi": "watched by the MPI profile", "events": "watched by perf"},
    "granularity": {
        "one": "one container",
        "two": "two containers",
        "four": "four containers",
        "eight": "eight containers",
        "several": "several containers",
        "every": "one container or several",
        "finest": "one container per core",
        "beyond": "more containers than cores",
        "alone": "one rank alone",
    },
    "mems": {"bound": "memory bound to its node", "free": "memory of any node"},
    "ipc": {"private": "IPC namespaces of their own", "shared": "the host's IPC namespace"},
}
# Factors that only claims name.
CLAIMED = ("granularity", "mems", "ipc")
# Yielding is as usual with the standard sizes: study.yield_by_mode.
STANDARD = "standard"


def level(factor: str, name: str) -> str:
    """A level of a factor for people; a name that has no words of its own stays as it is."""
    if factor == "runtime" and name in environments.known():
        label = environments.find(name).label
        return label[0].lower() + label[1:] if name == BARE else label
    return LEVELS.get(factor, {}).get(name, name.replace("_", " "))


def deployment(scheme: str, runtime: str) -> str:
    """Two Docker containers, for E2 and docker: scheme n of a series has 2^(n-1) containers (liu2020, table 4)."""
    label = level("runtime", runtime)
    if scheme == ALONE:
        return f"one rank alone, {label}"
    number = 2 ** (int(scheme[1:]) - 1)
    counted = f"{NUMBERS.get(number, number)} "
    if runtime == BARE:
        return label if number == 1 else f"{label} in {counted}groups"
    return f"{counted}{label} container{'s' if number > 1 else ''}"


def cell(path: str, metric: dict) -> str:
    """A cell for people: its deployment, mode, affinity and setting, and what else is not as usual."""
    hardware, mode, scheme, runtime, affinity, yielding, sizes, instrument, _ = path.split("/")
    unusual = [level("yield", yielding)] if sizes != STANDARD else []
    unusual += [level("instrument", instrument)] if instrument != Instrument.name else []
    said = (level("mode", mode), level("affinity", affinity), level("hardware", hardware))
    return ", ".join([deployment(scheme, runtime), *said, *unusual])


def row(levels: dict[str, str], path: str | None) -> str:
    """A row of the study's answer: the deployment of its cell, or its levels if it has none here."""
    if path:
        return deployment(*path.split("/")[2:4])
    return ", ".join(level(factor, name) for factor, name in levels.items())

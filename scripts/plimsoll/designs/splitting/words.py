"""Names of levels and cells of a splitting study, for people: two Docker containers, exactly subscribed, any processor."""

from plimsoll import runtimes
from plimsoll.designs.splitting.scheme import ALONE, containers
from plimsoll.instruments.base import Instrument
from plimsoll.pages.glossary import Term

BARE = "bare"
NUMBERS = {1: "one", 2: "two", 4: "four", 8: "eight", 16: "sixteen"}
LEVELS = {
    "hardware": {"uma": "UMA", "numa": "NUMA"},
    "mode": {"exact": "exactly subscribed", "over": "over-subscribed", "halved": "over-subscribed on half of the cores"},
    "affinity": {
        "any": "any processor",
        "pin": "each rank on a core of its own",
        "mem": "memory bound to its node",
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
}
GLOSSARY = (
    Term("UMA", "A hardware setting: the cores of one socket, with one memory."),
    Term("NUMA", "A hardware setting: the cores of two sockets, each with a memory (a node) of its own."),
    Term("rank", "One of the processes of an MPI program. Ranks are spread over containers."),
    Term("exactly subscribed", "As many ranks as cores."),
    Term("over-subscribed", "Twice as many ranks as cores: on the cores of exactly subscribed runs."),
    Term(
        "over-subscribed on half of the cores",
        "As many ranks as in exactly subscribed runs, on half of the cores, as the paper has it.",
        ("on half of the cores",),
    ),
    Term(
        "scheme (E1, E2, ...; O1, O2, ...)",
        "Over how many containers the ranks are split. E1 is exactly subscribed in one container, E2 in two, E3 in four, and "
        "so on. O1, O2 and so on are over-subscribed, and H1 is on half of the cores. S1 is one rank alone.",
        ("scheme", *(f"{letter}{number}" for letter in "EO" for number in range(1, 7)), "H1", "S1"),
    ),
    Term("any processor (ANY)", "No affinity: the ranks may use all cores of the setting.", ("any processor", "ANY")),
    Term("PIN", "Each rank is bound to a core of its own.", ("each rank on a core of its own", "PIN")),
    Term("MEM", "Memory is bound to the nodes of the setting, and processors are free.", ("memory bound to its node",)),
    Term("CPU (affinity)", "Each container has cores of its own.", ("each container on cores of its own",)),
    Term(
        "CPUMEM, CPUMEMPIN",
        "Each container has cores and a memory node of its own; with PIN, each rank is bound to one of these cores too.",
        ("each container on cores and memory of its own", "CPUMEM", "CPUMEMPIN"),
    ),
    Term("affinity", "Which cores and memory containers and ranks may use.", ("affinity",)),
    Term(
        "yielding",
        "A rank that waits for a message gives its core to others instead of asking over and over.",
        ("yielding", "without yielding", "with yielding"),
    ),
    Term(
        "instance",
        "A container of Singularity that stays up, into which ranks are started. It has namespaces of its own, and ranks of "
        "two instances see each other as on two hosts.",
        ("Singularity instance", "instances"),
    ),
    Term(
        "plain Singularity",
        "Singularity as it is usually started: again for each program, in the namespaces of the host. There is no container "
        "that ranks share, so that the number of its containers only says how its ranks are counted.",
    ),
    Term(
        "Singularity+cgroup",
        "Plain Singularity with one cgroup for each container, which schedules processor time among them.",
        ("Singularity+cgroup",),
    ),
    Term(
        "watched, under an instrument",
        "Runs of their own that are watched: by a library that times MPI functions, or by perf, which counts events.",
        ("watched by the MPI profile", "watched by perf", "under an instrument", "runs with an instrument"),
    ),
    Term(
        "local, remote",
        "Memory of the socket that a core belongs to, or of the other.",
        ("local loads", "local memory", "remote memory"),
    ),
)
# Factors that claims name and cells do not have.
CLAIMED = ("granularity",)
# Runs with standard sizes yield as usual (study.yield_by_mode), so their names do not mention it.
STANDARD = "standard"


def level(factor: str, name: str) -> str:
    """Return a level of a factor for people. A name without words of its own is kept, with blanks for underscores."""
    if factor == "runtime" and name in runtimes.known():
        label = runtimes.find(name).label
        return label[0].lower() + label[1:] if name == BARE else label
    return LEVELS.get(factor, {}).get(name, name.replace("_", " "))


def deployment(scheme: str, runtime: str) -> str:
    """Return a scheme and a runtime for people: 'two Docker containers' for E2 and docker."""
    label = level("runtime", runtime)
    if scheme == ALONE:
        return f"one rank alone, {label}"
    number = containers(scheme)
    counted = f"{NUMBERS.get(number, number)} "
    if runtime == BARE:
        return label if number == 1 else f"{label} in {counted}groups"
    return f"{counted}{label} container{'s' if number > 1 else ''}"


def cell(path: str, metric: dict) -> str:
    """Return a cell for people: deployment, mode, affinity and setting, and whatever differs from the usual."""
    hardware, mode, scheme, runtime, affinity, yielding, sizes, instrument, _ = path.split("/")
    unusual = [level("yield", yielding)] if sizes != STANDARD else []
    unusual += [level("instrument", instrument)] if instrument != Instrument.name else []
    said = (level("mode", mode), level("affinity", affinity), level("hardware", hardware))
    return ", ".join([deployment(scheme, runtime), *said, *unusual])


def row(levels: dict[str, str], path: str | None) -> str:
    """Return a row of the study's answer for people: the deployment of its cell, or its levels if it has no cell here."""
    if path:
        return deployment(*path.split("/")[2:4])
    return ", ".join(level(factor, name) for factor, name in levels.items())

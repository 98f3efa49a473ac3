"""Names of levels and cells of a study of overhead, for people."""

from plimsoll import runtimes, workloads
from plimsoll.designs.overhead.factors import BARE, OWN, VOLUME
from plimsoll.interchange import ABSENT
from plimsoll.pages.glossary import Term
from plimsoll.workloads.base import Microservice

# Runtimes whose label is not a proper name: what they are called inside a sentence.
INSIDE = {"bare": "bare metal", "vm": "virtual machines", "vm-emulated": "emulated virtual machines"}
STORAGE = {OWN: "its own files", VOLUME: "on a volume", ABSENT: ""}

GLOSSARY = (
    Term(
        "warm-up",
        "The first iterations in a node. They are in the records, and do not count.",
    ),
    Term(
        "performance overhead",
        "How much the mean differs from that on bare metal, as a share of it (equation 1 of the paper). The paper drops its "
        "sign; here it is shown, and less than 0 means less of the metric.",
        ("overhead", "overheads"),
    ),
    Term(
        "variability overhead",
        "How much more a benchmark varies than on bare metal. The paper takes the relative difference of the standard "
        "deviations, and 0 where that is negative. Beside it stands how much more the logarithms of iterations vary, block by "
        "block, which neither a slower benchmark nor a drifting machine changes.",
        ("variability overheads",),
    ),
    Term(
        "standardised score",
        "A mean as a share of the best environment's, so that 1 is the best (equations 2 and 3).",
        ("scores",),
    ),
    Term("volume", "A folder of a container that is not in its layers, but a plain folder of the host.", ("volumes",)),
)


def level(factor: str, name: str) -> str:
    """Return a level of a factor for people. A name without words of its own is kept, with blanks for underscores."""
    if factor == "runtime" and name in runtimes.known():
        return runtimes.find(name).label
    if factor == "benchmark" and name in workloads.of_kind(Microservice):
        return workloads.find(name).label
    return STORAGE.get(name, name.replace("_", " "))


def cell(path: str, metric: dict) -> str:
    """Return a cell for people: its benchmark, and where that runs."""
    benchmark, runtime, *storage = path.split("/")
    where = level("runtime", runtime) + (f" {STORAGE[VOLUME]}" if storage == [VOLUME] else "")
    return f"{level('benchmark', benchmark)}, {where}"


def row(levels: dict[str, str], path: str | None) -> str:
    """Return a row of the study's answer for people, to stand inside a sentence: its levels."""
    return ", ".join(INSIDE.get(name) or level(factor, name) for factor, name in levels.items())


def environment(runtime: str, storage: str) -> str:
    """Return a runtime and the storage of a benchmark of the disk, for legends of figures."""
    name = "Bare metal" if runtime == BARE else level("runtime", runtime)
    return f"{name}, {STORAGE[VOLUME]}" if storage == VOLUME else name

"""Names for people of levels and cells in interference studies: Linpack beside STREAM, one shared container."""

from plimsoll import workloads
from plimsoll.designs.interference.factors import FREE, OTHERS, PLACEMENTS, REST, SAME
from plimsoll.pages.glossary import Term
from plimsoll.workloads.base import Microservice

CASES = {
    "1": "running alone",
    "1a": "running alone without limits",
    "2": "one shared container",
    "3a": "two containers without limits",
    "3b": "two containers with limits",
}
COMPANY = {
    REST: "beside any other",
    **dict.fromkeys(SAME, "beside those that want the same resource"),
    **dict.fromkeys(OTHERS, "beside those that want other resources"),
}
STATISTICS = {"mean": "mean", "median": "median", "trimmed_mean": "trimmed mean"}

GLOSSARY = (
    Term("microservice", "A benchmark that runs over and over in a container, alone or beside another."),
    Term(
        "running alone (case 1)",
        "A microservice alone in a container with limits: the baseline.",
        ("running alone", "Case 1", "case 1"),
    ),
    Term(
        "running alone without limits (case 1a)",
        "A microservice alone in a container with both cores, which says what a second one is worth. The papers have no such "
        "case.",
        ("running alone without limits", "case 1a"),
    ),
    Term("one shared container (case 2)", "Two microservices in one container.", ("one shared container", "case 2", "cases 2")),
    Term(
        "two containers (cases 3a, 3b)",
        "Two microservices in two containers, without limits (3a) and with limits (3b).",
        ("two containers without limits", "two containers with limits", "case 3a", "case 3b", "cases 3a"),
    ),
    Term(
        "limits",
        "A container with limits has a core of its own and half of the memory that a run may use.",
        ("with limits", "without limits"),
    ),
    Term(
        "letters: L, Y, S, B, NS, NR",
        "L is Linpack, Y Y-Cruncher, S STREAM, B Bonnie++, NS and NR Netperf's TCP_STREAM and TCP_RR; a star says that another "
        "program stands in. L(+S) is Linpack, measured while STREAM runs.",
        ("The letters", "L(+S)"),
    ),
    Term(
        "interference ratio",
        "What company costs: the relative difference from running alone, signed so that less than 0 is a loss.",
    ),
)


def level(factor: str, name: str) -> str:
    """Return the name for people of a factor's level.

    A level without such a name keeps its own, with spaces for underscores.
    """
    if factor == "case":
        return CASES.get(name, name)
    if factor == "co_runner" and name in COMPANY:
        return COMPANY[name]
    if factor in ("co_runner", "benchmark") and name in workloads.of_kind(Microservice):
        return ("beside " if factor == "co_runner" else "") + workloads.find(name).label
    return STATISTICS.get(name, name.replace("_", " "))


def cell(path: str, metric: dict) -> str:
    """Return the name for people of a cell, seen from one microservice: it, its co-runner, the case and the placement.

    The microservice is that of `metric`; if the metric names none, it is the first one in the cell. The papers'
    placement (`free`) is not mentioned.
    """
    case, pair, _, placement = path.split("/")
    where = CASES[case] if placement == FREE else f"{CASES[case]}, {PLACEMENTS[placement]}"
    members = pair.split("+")
    own = metric.get("benchmark", members[0])
    label = workloads.find(own).label
    if len(members) == 1:
        return f"{label}, {where}"
    members.remove(own)
    return f"{label} {level('co_runner', members[0])}, {where}"

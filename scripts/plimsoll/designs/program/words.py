"""Names of a study of a program for people."""

from plimsoll import runtimes
from plimsoll.designs.program import ladder
from plimsoll.pages.glossary import Term

OF_STAGE = {
    "first": "first pass",
    "steps": "steps between",
    "remedy": "with one option",
    "look": "watched and not timed",
    "alone": "without a neighbour",
    "same": "beside a neighbour",
    "other": "beside a neighbour in another container",
}
GLOSSARY = (
    Term("ladder", "the steps between a program on this host and its container, each with one thing more than the one before"),
)


def level(factor: str, name: str) -> str:
    """Return the name of a factor's level for people."""
    if factor == "runtime" and name in ladder.everything():
        return runtimes.find(name).label
    return OF_STAGE.get(name, name) if factor == "stage" else name


def cell(path: str, metric: dict) -> str:
    """Return a cell for people: its runtime, and its stage."""
    stage, _, runtime = path.partition("/")
    return f"{level('runtime', runtime)}, {level('stage', stage)}"

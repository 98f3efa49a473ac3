"""Check what the parents and children of a run may do, as each has read it from inside when it began."""

from pathlib import Path

from plimsoll.designs.nesting.factors import NestingCell, nested_containers, parents
from plimsoll.runtimes.docker_nested import GIVEN, USUAL, privileges
from plimsoll.workloads import program_output
from plimsoll.workloads.base import InvalidOutput

# What parents and children may do beyond other containers, and the end of the name of a parent's notes.
KINDS = {"parent": GIVEN, "child": USUAL}
PARENT = "-parent.status"
PLURAL = {"parent": "parents", "child": "children"}


def read(folder: Path, cell: NestingCell) -> dict[str, dict]:
    """Return the record's part about a run's privileges; empty if nothing is nested.

    It has for parents and for children the `capabilities` beyond Docker's default ones, and `seccomp`. Raise
    InvalidOutput if one may do more or less than planned, or has noted nothing.
    """
    if not (children := nested_containers(cell)):
        return {}
    notes = sorted(folder.glob("*.status"))
    for kind, least in (("parent", parents(cell)), ("child", children)):
        own = [path for path in notes if path.name.endswith(PARENT) == (kind == "parent")]
        # There may be more parents than the cell has: those that only loaded the child's image left notes too.
        if len(own) < least:
            raise InvalidOutput(f"{len(own)} of {least} {PLURAL[kind]} told what they may do")
        for path in own:
            _refuse(kind, path)
    return {"privileges": {kind: {**known, "capabilities": sorted(known["capabilities"])} for kind, known in KINDS.items()}}


def _refuse(kind: str, noted: Path) -> None:
    """Raise InvalidOutput if the privileges that one parent or child noted are not those of its kind."""
    try:
        seen = privileges(program_output.text_of(noted))
    except ValueError as problem:
        raise InvalidOutput(f"the {kind} {noted.stem} did not note what it may do: {problem}") from problem
    if seen != KINDS[kind]:
        raise InvalidOutput(f"the {kind} {noted.stem} has {_words(seen)}, and should have {_words(KINDS[kind])}")


def _words(known: dict) -> str:
    more = ", ".join(sorted(known["capabilities"])) or "no capability more than other containers"
    return f"{more}, seccomp {known['seccomp']}"

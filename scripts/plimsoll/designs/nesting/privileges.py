"""What the parents and children of a run may do, as each of them has read it from inside when it began."""

from pathlib import Path

from plimsoll.designs.nesting.factors import NestingCell, nested, parents
from plimsoll.environments.docker_nested import GIVEN, USUAL, privileges
from plimsoll.workloads import printed
from plimsoll.workloads.base import InvalidOutput

# What each kind may do beyond other containers, and how the names of its notes end.
KINDS = {"parent": GIVEN, "child": USUAL}
PARENT = "-parent.status"
PLURAL = {"parent": "parents", "child": "children"}


def read(folder: Path, cell: NestingCell) -> dict[str, dict]:
    """The record's part about a run's privileges: of its parents and of its children the `capabilities` beyond Docker's default
    ones, and `seccomp`; nothing where none is nested. InvalidOutput if one may do more or less than it should, or told
    nothing."""
    if not (children := nested(cell)):
        return {}
    notes = sorted(folder.glob("*.status"))
    for kind, least in (("parent", parents(cell)), ("child", children)):
        own = [path for path in notes if path.name.endswith(PARENT) == (kind == "parent")]
        # Parents whose children do not count have noted it too.
        if len(own) < least:
            raise InvalidOutput(f"{len(own)} of {least} {PLURAL[kind]} told what they may do")
        for path in own:
            _refuse(kind, path)
    return {"privileges": {kind: {**known, "capabilities": sorted(known["capabilities"])} for kind, known in KINDS.items()}}


def _refuse(kind: str, noted: Path) -> None:
    """InvalidOutput if what one of a kind noted is not what it should."""
    try:
        seen = privileges(printed.text_of(noted))
    except ValueError as problem:
        raise InvalidOutput(f"the {kind} {noted.stem} did not note what it may do: {problem}") from problem
    if seen != KINDS[kind]:
        raise InvalidOutput(f"the {kind} {noted.stem} has {_words(seen)}, and should have {_words(KINDS[kind])}")


def _words(known: dict) -> str:
    more = ", ".join(sorted(known["capabilities"])) or "no capability more than other containers"
    return f"{more}, seccomp {known['seccomp']}"

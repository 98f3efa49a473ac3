"""Which runtimes were found not to work here: by trying them on an image, or by the first runs of a start.

Trying one makes runs of it with the smallest problem (plimsoll.probing). results/images/<image>.runtimes.json keeps what came
out. It holds while the system, the user and the folder of the results are the same.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict

from plimsoll import documents, environments
from plimsoll.environments.base import Environment
from plimsoll.interchange import Cell
from plimsoll.measuring import given_up, record, system
from plimsoll.measuring.given_up import Group

ENDING = ".runtimes.json"
# Tells the jobs of a workflow for which reasons cells are left out of its plans.
VARIABLE = "PLIMSOLL_TRIED"


class Look(TypedDict):
    """What a runtime was tried on: a try says nothing about another."""

    system: system.Seen
    place: list[str | int]


class Tried(TypedDict):
    """What trying a runtime gave: `kinds` of runs, each with the reason if it does not work."""

    works: bool
    version: NotRequired[str]
    features: NotRequired[dict]
    reason: NotRequired[str]
    kinds: NotRequired[dict[str, str | None]]
    look: NotRequired[Look]


class Reasons(NamedTuple):
    """Why cells of one study cannot be measured, by runtime, and by the name of a group of cells. Reasons in `given_up` hold
    for this start alone."""

    runtimes: dict[str, str]
    groups: dict[str, str]
    given_up: dict[str, str]


def file_of(image: str, images: Path) -> Path:
    """Path of what trying the runtimes on an image gave."""
    return images / f"{image}{ENDING}"


def look(environment: Environment, results: Path) -> Look:
    """What a runtime is tried on now."""
    return {"system": system.look(environment), "place": _place(results)}


def _place(results: Path) -> list[str | int]:
    # No path: it may travel in an archive.
    return [record.fingerprint(str(results.resolve())), os.statvfs(results).f_flag, os.geteuid()]


def of_image(image: str, tried: Mapping[str, Tried], wishes: Mapping[str, str]) -> dict[str, str]:
    """Reasons by the image with the runtime, or the group, of optional runtimes that do not work."""
    reasons = {}
    for name, one in tried.items():
        if wishes.get(name) != "optional":
            continue
        if not one["works"]:
            reasons[f"{image}/{name}"] = one["reason"]
        for kind, reason in one.get("kinds", {}).items():
            if reason:
                reasons[f"{image}/{Group(name, kind).text}"] = reason
    return reasons


def found(results: Path, studies: Iterable[str], wishes: Mapping[str, str]) -> dict[str, str]:
    """All that was found not to work: reasons of images (`of_image`), and of the studies what this start has given up."""
    reasons: dict[str, str] = {}
    for path in sorted((results / "images").glob(f"*{ENDING}")):
        tried = _read(path)
        if not _is_of_another(tried, results):
            reasons |= of_image(path.name.removesuffix(ENDING), tried, wishes)
    for study in studies:
        reasons |= {f"{study}/{group}": reason for group, reason in given_up.reasons(results / study).items()}
    return reasons


def of_study(reasons: Mapping[str, str], study: str, image: str) -> Reasons:
    """The reasons that concern a study which runs an image; those without a slash concern all studies."""
    runtimes = {name: reason for name, reason in reasons.items() if "/" not in name}
    of_image, of_start = ({}, {})
    for name, reason in reasons.items():
        owner, _, what = name.partition("/")
        if owner == image:
            of_image[what] = reason
        elif owner == study and what:
            of_start[what] = reason
    return Reasons({**of_image, **runtimes}, of_image, of_start)


def of_cell(reasons: Reasons, cell: Cell, kind: str) -> str | None:
    """Why a cell that needs this `kind` of its runtime cannot be measured; None if nothing is known against it."""
    group = Group(cell["runtime"], kind)
    return reasons.groups.get(group.text) or reasons.given_up.get(group.text)


def assume(reasons: Mapping[str, str]) -> None:
    """Tell the jobs of this process which reasons its plans are made with."""
    os.environ[VARIABLE] = json.dumps(reasons)


def assumed(image: str, runtimes: Iterable[str]) -> dict[str, str]:
    """Reasons about an image and these runtimes that the plans of the workflow are made with."""
    wanted = {f"{image}/{name}" for name in runtimes}
    told: dict[str, str] = json.loads(os.environ.get(VARIABLE, "{}"))
    return {name: reason for name, reason in told.items() if name.partition(",")[0] in wanted}


def forget_others(results: Path, images: Iterable[str]) -> bool:
    """Delete what trying the runtimes on these images gave on another system, as another user or in another folder; whether
    there was any."""
    others = [path for image in images if _is_of_another(_read(path := file_of(image, results / "images")), results)]
    for path in others:
        path.unlink()
    return bool(others)


def _read(path: Path) -> dict[str, Tried]:
    try:
        return documents.of(path, dict[str, Tried])
    except documents.Misfit:
        return {}


def _is_of_another(tried: Mapping[str, Tried], results: Path) -> bool:
    """Whether it was tried in another place, or a runtime that does not work may work now, as its system is another."""
    known = environments.known()
    return any(_differs(one, known[name], results) for name, one in tried.items() if name in known)


def _differs(one: Tried, environment: Environment, results: Path) -> bool:
    then, fails = one.get("look"), not one["works"] or any(one.get("kinds", {}).values())
    if then is None or then["place"] != _place(results):
        return True
    return fails and then["system"] != system.look(environment)

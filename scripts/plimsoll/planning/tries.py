"""Runtimes that were found not to work here: by trying them on an image, or by the first runs of a start of the
workflow.

To try a runtime, plimsoll.probing makes runs of it with the smallest problem. results/images/<image>.runtimes.json
keeps the results. They hold as long as the system, the user and the folder of the results stay the same.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict

from plimsoll import documents, runtimes
from plimsoll.interchange import Cell
from plimsoll.measuring import failing_groups, record, system
from plimsoll.measuring.failing_groups import Group
from plimsoll.runtimes.base import Runtime

ENDING = ".runtimes.json"
# Environment variable that gives a workflow's jobs the reasons why cells are left out of its plans.
VARIABLE = "PLIMSOLL_TRIED"


class Look(TypedDict):
    """Where a runtime was tried. The result holds only there."""

    system: system.QuickFacts
    place: list[str | int]


class TrialResult(TypedDict):
    """The result of trying a runtime.

    `kinds` has each kind of runs, with the reason if runs of this kind do not work.
    """

    works: bool
    version: NotRequired[str]
    features: NotRequired[dict]
    reason: NotRequired[str]
    kinds: NotRequired[dict[str, str | None]]
    look: NotRequired[Look]


class Reasons(NamedTuple):
    """Why cells of one study cannot be measured: by runtime, and by the name of a group of cells.

    Reasons in `given_up` hold only for this start of the workflow.
    """

    runtimes: dict[str, str]
    groups: dict[str, str]
    given_up: dict[str, str]


def file_of(image: str, images: Path) -> Path:
    """Return the path of the results of trying the runtimes on an image."""
    return images / f"{image}{ENDING}"


def look(runtime: Runtime, results: Path) -> Look:
    """Return where a runtime is tried now: its system and the place of the results."""
    return {"system": system.look(runtime), "place": _place(results)}


def _place(results: Path) -> list[str | int]:
    # A fingerprint instead of the path, because the file may become part of an archive.
    return [record.fingerprint(str(results.resolve())), os.statvfs(results).f_flag, os.geteuid()]


def of_image(image: str, tried: Mapping[str, TrialResult], wishes: Mapping[str, str]) -> dict[str, str]:
    """Return the reasons why optional runtimes, or groups of their cells, do not work on an image.

    A key is the image, a slash, and the runtime or group.
    """
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


def known_failures(results: Path, studies: Iterable[str], wishes: Mapping[str, str]) -> dict[str, str]:
    """Return all that was found not to work: reasons for images (`of_image`), and what this start has given up, for
    studies.

    Results of trying runtimes on another system or in another place are left out.
    """
    reasons: dict[str, str] = {}
    for path in sorted((results / "images").glob(f"*{ENDING}")):
        tried = _read(path)
        if not _is_of_another(tried, results):
            reasons |= of_image(path.name.removesuffix(ENDING), tried, wishes)
    for study in studies:
        reasons |= {f"{study}/{group}": reason for group, reason in failing_groups.reasons(results / study).items()}
    return reasons


def of_study(reasons: Mapping[str, str], study: str, image: str) -> Reasons:
    """Return the reasons that concern a study which runs an image. Reasons whose key has no slash concern all studies."""
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
    """Return why a cell that needs this `kind` of its runtime cannot be measured; None if no reason is known."""
    group = Group(cell["runtime"], kind)
    return reasons.groups.get(group.text) or reasons.given_up.get(group.text)


def assume(reasons: Mapping[str, str]) -> None:
    """Pass the reasons with which this process has made its plans to the jobs that it starts."""
    os.environ[VARIABLE] = json.dumps(reasons)


def assumed(image: str, runtimes: Iterable[str]) -> dict[str, str]:
    """Return the reasons about an image and these runtimes with which the workflow has made its plans."""
    wanted = {f"{image}/{name}" for name in runtimes}
    told: dict[str, str] = json.loads(os.environ.get(VARIABLE, "{}"))
    return {name: reason for name, reason in told.items() if name.partition(",")[0] in wanted}


def forget_others(results: Path, images: Iterable[str]) -> bool:
    """Delete the results of trying runtimes on these images on another system, as another user or in another folder.

    Return whether there were any.
    """
    others = [path for image in images if _is_of_another(_read(path := file_of(image, results / "images")), results)]
    for path in others:
        path.unlink()
    return bool(others)


def _read(path: Path) -> dict[str, TrialResult]:
    try:
        return documents.load(path, dict[str, TrialResult])
    except documents.Misfit:
        return {}


def _is_of_another(tried: Mapping[str, TrialResult], results: Path) -> bool:
    """Whether the runtimes were tried in another place, or one that did not work may work now because its system has
    changed."""
    known = runtimes.known()
    return any(_differs(one, known[name], results) for name, one in tried.items() if name in known)


def _differs(one: TrialResult, runtime: Runtime, results: Path) -> bool:
    then, fails = one.get("look"), not one["works"] or any(one.get("kinds", {}).values())
    if then is None or then["place"] != _place(results):
        return True
    return fails and then["system"] != system.look(runtime)

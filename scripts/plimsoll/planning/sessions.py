"""Sessions of a study: what was measured after one start of the engine, with images unpacked for it.

The newest session is the study's results folder. Those before it lie beside the studies, whole and where they can still be
read: results/sessions/<study>/1, 2 and so on.
"""

import contextlib
import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from plimsoll import documents
from plimsoll.errors import first_of
from plimsoll.host import system as of_host
from plimsoll.interchange import Plan
from plimsoll.measuring import record, system
from plimsoll.planning import planner, repetitions

# Below results/.
ASIDE = "sessions"
FILE = "session.json"
# What describes the host beside the studies' folders: each session keeps its own.
OF_THE_HOST = ("host.json", "host.txt")
# What a session is judged by.
NEEDED = ("claims.json", "comparisons.csv", "observations.csv", "runs.csv")


class Session(NamedTuple):
    """One session: its place among those of its study, from 1, and its folder."""

    number: int
    folder: Path


def of(results: Path, study: str) -> list[Session]:
    """The sessions of a study, the oldest first; the last one is its results folder, whatever is in it yet."""
    before = [Session(int(path.name), path) for path in (results / ASIDE / study).glob("[0-9]*") if path.name.isdigit()]
    before.sort()
    return [*before, Session(before[-1].number + 1 if before else 1, results / study)]


def apart(session: Session, newest: Session) -> str:
    """Why an earlier session is not put together with the newest one, in words; nothing if it is."""
    if session == newest:
        return ""
    if not judged(session.folder):
        return "its results are not whole"
    one, other = (system.read(each.folder) for each in (session, newest))
    if not one or not other:
        return "it does not say on which system it was measured"
    if changes := system.differences(one["parts"], other["parts"]):
        return f"it was measured on another system ({'; '.join(changes)})"
    for name, what in (("profile", "with the profile"), ("image", "with the image")):
        old, new = (_described(each.folder)[name] for each in (session, newest))
        if old != new:
            return f"it was measured {what} {old}, and the newest with {new}"
    if other := _other_sizes(session.folder, newest.folder):
        return f"it was measured with other problem sizes in {len(other)} cells ({first_of(sorted(other), 1)})"
    return ""


def _other_sizes(one: Path, other: Path) -> list[str]:
    """The cells whose problem sizes are others in one session than in another; none where a plan cannot be read."""
    with contextlib.suppress(documents.Misfit):
        return planner.other_sizes(*(documents.of(folder / "plan.json", Plan) for folder in (one, other)))
    return []


def _described(folder: Path) -> dict[str, str]:
    """Profile and image of a session, as one of its records has them."""
    for path in sorted((folder / "runs").rglob("*.json")):
        try:
            found = record.read(path)
            return {"profile": found["profile"], "image": found["image"]["id"]}
        except (record.Damaged, KeyError, TypeError):
            continue
    return {"profile": "", "image": ""}


def judged(folder: Path) -> bool:
    """Whether everything is there that a session is judged by."""
    return all((folder / name).exists() for name in NEEDED)


def finished(folder: Path) -> bool:
    """Whether what was asked for in a session is measured, and its report written."""
    return judged(folder) and (folder / "report.html").exists() and not _in_stages(folder)


def _in_stages(folder: Path) -> bool:
    """Whether a given time (HOURS) is not spent yet."""
    try:
        return json.loads((folder / repetitions.FILE).read_text())["hours"]["stage"] != "done"
    except (OSError, ValueError, KeyError, TypeError):
        return False


def begin(results: Path, study: str) -> Session:
    """The session that a study is measured in from now on: a new one, with what was measured put aside, or the one that was
    begun and is not finished.

    Nothing is lost if it is killed: a session's folder is moved in one step.
    """
    newest = of(results, study)[-1]
    if not finished(newest.folder):
        return newest
    target = results / ASIDE / study / str(newest.number)
    target.parent.mkdir(parents=True, exist_ok=True)
    for path in (results / name for name in OF_THE_HOST):
        if path.exists():
            shutil.copy2(path, newest.folder)
    newest.folder.rename(target)
    return of(results, study)[-1]


def note(session: Session, fresh: dict[str, str]) -> None:
    """Write down when a session began, after which boot, and what was made `fresh` for it: in words, by what it is."""
    noted = {"number": session.number, "begun": time.time(), "boot": of_host.boot(), "fresh": fresh}
    record.write(session.folder / FILE, noted)


def freeze(folder: Path, encodings: Mapping[str, str]) -> None:
    """Write down how claims are encoded (digests by id), and when: before a session's first record, and never after it."""
    if not record.any_below(folder):
        record.write(folder / FILE, {**read(folder), "encodings": dict(encodings), "encoded": time.time()})


def read(folder: Path) -> dict:
    """What is noted of a session; of the first one, which begins by itself, how its claims were encoded; nothing if it is
    damaged."""
    try:
        noted = json.loads((folder / FILE).read_text())
        return noted if isinstance(noted, dict) else {}
    except (OSError, ValueError):
        return {}

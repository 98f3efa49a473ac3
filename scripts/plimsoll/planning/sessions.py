"""Sessions of a study. A session is what was measured after one start of the engine, with images unpacked for it.

The newest session is the study's results folder. Earlier sessions lie beside the studies, complete and readable:
results/sessions/<study>/1, 2 and so on.
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

# Folder below results/ that has the earlier sessions.
ASIDE = "sessions"
FILE = "session.json"
# Files beside the studies' folders that describe the host. Each session keeps a copy.
OF_THE_HOST = ("host.json", "host.txt")
# Files that a session is judged by.
NEEDED = ("claims.json", "comparisons.csv", "observations.csv", "runs.csv")


class Session(NamedTuple):
    """One session: its number among those of its study, from 1, and its folder."""

    number: int
    folder: Path


def of_study(results: Path, study: str) -> list[Session]:
    """Return the sessions of a study, the oldest first. The last one is the study's results folder, even if that is empty."""
    before = [Session(int(path.name), path) for path in (results / ASIDE / study).glob("[0-9]*") if path.name.isdigit()]
    before.sort()
    return [*before, Session(before[-1].number + 1 if before else 1, results / study)]


def apart(session: Session, newest: Session) -> str:
    """Return why an earlier session cannot be combined with the newest one, in words; empty if it can."""
    if session == newest:
        return ""
    if not is_complete(session.folder):
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
    """Return the cells whose problem sizes differ between two sessions; empty if a plan cannot be read."""
    with contextlib.suppress(documents.Misfit):
        return planner.other_sizes(*(documents.load(folder / "plan.json", Plan) for folder in (one, other)))
    return []


def _described(folder: Path) -> dict[str, str]:
    """Return profile and image of a session, from the first of its records that can be read."""
    for path in sorted((folder / "runs").rglob("*.json")):
        try:
            found = record.read(path)
            return {"profile": found["profile"], "image": found["image"]["id"]}
        except (record.DamagedFile, KeyError, TypeError):
            continue
    return {"profile": "", "image": ""}


def is_complete(folder: Path) -> bool:
    """Whether a session has all files that it is judged by."""
    return all((folder / name).exists() for name in NEEDED)


def finished(folder: Path) -> bool:
    """Whether a session's requested runs are measured and its report is written."""
    return is_complete(folder) and (folder / "report.html").exists() and not _in_stages(folder)


def _in_stages(folder: Path) -> bool:
    """Whether a time budget (HOURS) is not spent yet."""
    try:
        return json.loads((folder / repetitions.FILE).read_text())["hours"]["stage"] != "done"
    except (OSError, ValueError, KeyError, TypeError):
        return False


def begin(results: Path, study: str) -> Session:
    """Return the session in which a study is measured from now on.

    It is a new one, and the results so far move to the earlier sessions. A session that was begun and is not finished
    is continued instead. Nothing is lost if the process is killed, because a session's folder moves in one step.
    """
    newest = of_study(results, study)[-1]
    if not finished(newest.folder):
        return newest
    target = results / ASIDE / study / str(newest.number)
    target.parent.mkdir(parents=True, exist_ok=True)
    for path in (results / name for name in OF_THE_HOST):
        if path.exists():
            shutil.copy2(path, newest.folder)
    newest.folder.rename(target)
    return of_study(results, study)[-1]


def note(session: Session, fresh: dict[str, str]) -> None:
    """Save when a session began, after which boot, and what was made `fresh` for it: what was done, in words, by resource."""
    noted = {"number": session.number, "begun": time.time(), "boot": of_host.boot(), "fresh": fresh}
    record.write(session.folder / FILE, noted)


def freeze(folder: Path, encodings: Mapping[str, str], metrics: Mapping[str, str]) -> None:
    """Save how claims are encoded (digests by id), what their metrics are (digests by name), and when.

    This happens before a session's first record, and never after it.
    """
    if not record.any_below(folder):
        frozen = {"encodings": dict(encodings), "metrics": dict(metrics), "encoded": time.time()}
        record.write(folder / FILE, {**read(folder), **frozen})


def read(folder: Path) -> dict:
    """Return what is saved about a session; empty if there is nothing or the file is damaged.

    The first session begins without a command, so it has only the encodings of its claims.
    """
    try:
        noted = json.loads((folder / FILE).read_text())
        return noted if isinstance(noted, dict) else {}
    except (OSError, ValueError):
        return {}

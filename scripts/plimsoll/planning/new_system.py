"""Puts aside what was measured on another system, whole and where it can still be read, and takes back what was measured on
this one."""

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.measuring import record, system

# Below results/: one folder per system, with what each study has measured on it.
ASIDE = "systems"
# Of an earlier version of Plimsoll, whose records do not say.
NOT_NOTED = "not-noted"
# What describes the system beside the studies' folders; it is made again.
OF_THE_SYSTEM = ("host.json", "host.txt", "claims.html", "claims.csv")


def change(results: Path, studies: list[str], environments: Mapping[str, system.Asked]) -> list[str]:
    """Move the folders of those studies whose records are of another system; what was done, one sentence per move. Unavailable
    if an environment that a study was measured in does not answer.

    Nothing is lost if it is killed: each study's folder is moved in one step.
    """
    done = []
    for name in studies:
        folder = results / name
        if not any((folder / "runs").rglob("*.json")):
            continue
        noted = system.read(folder)
        if noted and not _changed(noted, environments):
            continue
        target = _free(results / ASIDE / (record.fingerprint(noted["parts"])[:8] if noted else NOT_NOTED) / name)
        target.parent.mkdir(parents=True, exist_ok=True)
        for path in (results / each for each in OF_THE_SYSTEM):
            if path.exists():
                shutil.copy2(path, target.parent)
        # They are as old as the system: the next start makes them again.
        for path in (*(results / each for each in OF_THE_SYSTEM), *(results / "images").glob("*.runtimes.json")):
            path.unlink(missing_ok=True)
        folder.rename(target)
        done.append(f"What {name} has measured is now in {target}.")
        if earlier := _of_this(results, name, environments):
            earlier.rename(folder)
            done.append(f"{name} had been measured on this system before: {earlier} is {folder} again.")
    return done


def _changed(noted: dict, environments: Mapping[str, system.Asked]) -> list[str]:
    """What differs between a noted system and this one."""
    names = [name for name in noted["parts"] if name != system.HOST]
    gone = [f"there is no runtime {name} any more" for name in names if name not in environments]
    return gone or system.differences(noted["parts"], system.now(environments[name] for name in names))


def _of_this(results: Path, study: str, environments: Mapping[str, system.Asked]) -> Path | None:
    """What was put aside of a study and is of this system."""
    for file in sorted((results / ASIDE).glob(f"*/{study}*/{system.FILE}")):
        with contextlib.suppress(Unavailable):
            noted = system.read(file.parent)
            if noted and not _changed(noted, environments):
                return file.parent
    return None


def _free(path: Path) -> Path:
    """The path, or the first one with a number after it where nothing is yet."""
    free, number = path, 2
    while free.exists():
        free, number = path.with_name(f"{path.name}-{number}"), number + 1
    return free

"""Move results that were measured on another system aside, complete and readable, and restore those measured on this system."""

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.measuring import record, system

# Folder below results/ with one folder per system, which has the studies measured on it.
ASIDE = "systems"
# Name for the system of an earlier version's records, which do not name one.
NOT_NOTED = "not-noted"
# Files beside the studies' folders that describe the system. They can be made again.
OF_THE_SYSTEM = ("host.json", "host.txt", "index.html", "claims.html", "claims.csv")


def change(results: Path, studies: list[str], runtimes: Mapping[str, system.VersionedRuntime]) -> list[str]:
    """Move the folders of those studies aside whose records are of another system. Return a sentence per move.

    Results that were measured on this system before are restored. Raise Unavailable if a runtime that a study was
    measured in does not answer. Nothing is lost if the process is killed, because each study's folder moves in one
    step.
    """
    done = []
    for name in studies:
        folder = results / name
        if not any((folder / "runs").rglob("*.json")):
            continue
        noted = system.read(folder)
        if noted and not _changed(noted, runtimes):
            continue
        target = _free(results / ASIDE / (record.fingerprint(noted["parts"])[:8] if noted else NOT_NOTED) / name)
        target.parent.mkdir(parents=True, exist_ok=True)
        for path in (results / each for each in OF_THE_SYSTEM):
            if path.exists():
                shutil.copy2(path, target.parent)
        # These files describe the old system. The next start makes them again.
        for path in (*(results / each for each in OF_THE_SYSTEM), *(results / "images").glob("*.runtimes.json")):
            path.unlink(missing_ok=True)
        folder.rename(target)
        done.append(f"What {name} has measured is now in {target}.")
        if earlier := _of_this(results, name, runtimes):
            earlier.rename(folder)
            done.append(f"{name} had been measured on this system before: {earlier} is {folder} again.")
    return done


def _changed(noted: dict, runtimes: Mapping[str, system.VersionedRuntime]) -> list[str]:
    """Return the differences between a recorded system and this one, in words."""
    names = [name for name in noted["parts"] if name != system.HOST]
    gone = [f"there is no runtime {name} any more" for name in names if name not in runtimes]
    return gone or system.differences(noted["parts"], system.now(runtimes[name] for name in names))


def _of_this(results: Path, study: str, runtimes: Mapping[str, system.VersionedRuntime]) -> Path | None:
    """Return the folder of a study's results that were moved aside and are of this system; None if no folder is."""
    for file in sorted((results / ASIDE).glob(f"*/{study}*/{system.FILE}")):
        with contextlib.suppress(Unavailable):
            noted = system.read(file.parent)
            if noted and not _changed(noted, runtimes):
                return file.parent
    return None


def _free(path: Path) -> Path:
    """Return the path if nothing is there, or the first unused path with a number after it."""
    free, number = path, 2
    while free.exists():
        free, number = path.with_name(f"{path.name}-{number}"), number + 1
    return free

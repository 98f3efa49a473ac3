"""Temporary folders of workflows: Snakemake removes each at its workflow's end, but not if that is killed."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import TextIO

from plimsoll.host import private

# Of each workflow in this folder a file that is called as its temporary folder is, locked as long as the workflow is there.
NOTES = Path(".snakemake/plimsoll-temporary")
# Open until this process ends.
_held: list[TextIO] = []


def note(folder: Path) -> None:
    """Note the temporary folder of this workflow, which may not be able to write here: who asks for that says so."""
    unnamed = NOTES / f".{folder.name}"
    with contextlib.suppress(OSError):
        NOTES.mkdir(parents=True, exist_ok=True)
        # It has its name when it is locked: nobody takes it for that of a workflow that was killed.
        file = open(unnamed, "w")
        fcntl.flock(file, fcntl.LOCK_EX)
        unnamed.rename(NOTES / folder.name)
        _held.append(file)


def remove_of_killed() -> list[str]:
    """Remove the temporary folders of workflows in this folder that are not there any more; their paths."""
    removed = []
    for noted in NOTES.glob("snakemake*"):
        # Another start may have removed it, or its workflow is at work.
        with contextlib.suppress(OSError), open(noted) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left = Path(tempfile.gettempdir(), noted.name)
            if private.is_own(left):
                shutil.rmtree(left, ignore_errors=True)
                removed.append(str(left))
            os.unlink(noted)
    return removed

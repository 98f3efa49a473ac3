"""Temporary folders of workflows: Snakemake removes each at its workflow's end, but not if that is killed."""

import contextlib
import tempfile
from pathlib import Path

from plimsoll.host import private

# Of each workflow in this folder a file that is called as its temporary folder is.
NOTES = Path(".snakemake/plimsoll-temporary")


def note(folder: Path) -> None:
    """Note the temporary folder of this workflow, which may not be able to write here: who asks for that says so."""
    with contextlib.suppress(OSError):
        # Held until this process ends: what is noted and not locked is of a workflow that was killed.
        private.locked(folder)
        NOTES.mkdir(parents=True, exist_ok=True)
        (NOTES / folder.name).touch()


def remove_of_killed() -> list[str]:
    """Remove the temporary folders of workflows in this folder that are not there any more; their paths."""
    removed = []
    for noted in NOTES.glob("snakemake*"):
        left = Path(tempfile.gettempdir(), noted.name)
        if private.remove_left(left):
            removed.append(str(left))
        if not left.exists():
            noted.unlink(missing_ok=True)
    return removed

"""Temporary folders of workflows. Snakemake removes each when its workflow ends, but not if the workflow is killed."""

import contextlib
import tempfile
from pathlib import Path

from plimsoll.host import private

# Notes of the workflows in this folder: an empty file each, with the name of the workflow's temporary folder.
NOTES = Path(".snakemake/plimsoll-temporary")


def note(folder: Path) -> None:
    """Note the temporary folder of this workflow.

    Errors are ignored: if this workflow cannot write here, the step that needs to write reports it.
    """
    with contextlib.suppress(OSError):
        # The lock is held until this process ends. A noted folder without a lock belongs to a workflow that was killed.
        private.lock(folder)
        NOTES.mkdir(parents=True, exist_ok=True)
        (NOTES / folder.name).touch()


def remove_of_killed() -> list[str]:
    """Remove the temporary folders of killed workflows of this folder, and return their paths."""
    removed = []
    for noted in NOTES.glob("snakemake*"):
        left = Path(tempfile.gettempdir(), noted.name)
        if private.remove_left(left):
            removed.append(str(left))
        if not left.exists():
            noted.unlink(missing_ok=True)
    return removed

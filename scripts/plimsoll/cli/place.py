"""The folder in which a command works, and paths that were typed in another one."""

import os
from pathlib import Path

from plimsoll import paths

# The folder in which the command was called, once it works in another one.
_CALLED_FROM: list[Path] = []


def enter(directory: Path | None, *typed: Path | None) -> list[Path | None]:
    """Work in `directory`, which is made, or else in the project's folder. Return the paths that were typed before.

    They still lead where they did. A path that leads nowhere, and somewhere in the new folder, is meant there.
    """
    _CALLED_FROM[:] = [Path.cwd()]
    there = directory or paths.PROJECT
    there.mkdir(parents=True, exist_ok=True)
    if there.resolve() == Path.cwd():
        return list(typed)
    kept = [path and (path if not path.exists() and (there / path).exists() else path.absolute()) for path in typed]
    os.chdir(there)
    return kept


def from_call(path: Path) -> Path:
    """Return a path of the folder in which a command works, as it is typed in the folder in which the command was called."""
    there = path.absolute()
    below = bool(_CALLED_FROM) and there.is_relative_to(_CALLED_FROM[0])
    return there.relative_to(_CALLED_FROM[0]) if below else there

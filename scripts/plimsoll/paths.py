"""Paths of the project, of its results, and of what all clones on a machine share."""

import os
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
# Studies, claims, profiles and the papers' tables: the project's own, or those of an archive when everything is made
# from one.
CONFIG = Path(os.environ.get("PLIMSOLL_CONFIG", PROJECT / "config"))
# The tables of the papers, as printed.
REFERENCE = CONFIG / "reference"
# Reference measurements: those of one machine for each study, for comparison.
REFERENCES = PROJECT / "results/reference"


def tool_prefix() -> Path:
    """Return the folder of the tools that set-up unpacked outside the project (scripts/setup/common.sh has the same
    default)."""
    return Path(os.environ.get("PLIMSOLL_PREFIX", "/opt/plimsoll"))


# Image store of root.
SYSTEM_IMAGE_STORE = Path("/var/cache/plimsoll/images")


def recipe(image: str) -> Path:
    """Return the folder of an image's recipe: the configuration's own, if it has one, or the project's."""
    own = CONFIG / "containers" / image
    return own if own.is_dir() else PROJECT / "containers" / image


def image_store() -> Path:
    """Return the folder of the built images. It has one folder per content, and all clones of a user share it."""
    if "PLIMSOLL_IMAGES" in os.environ:
        return Path(os.environ["PLIMSOLL_IMAGES"])
    if os.geteuid() == 0:
        return SYSTEM_IMAGE_STORE
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "plimsoll/images"


def use_this_python() -> None:
    """Make `python` in the rules the interpreter of the workflow, and `plimsoll` this project's package, however it was
    started."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    os.environ["PYTHONPATH"] = environment()["PYTHONPATH"]


def environment() -> dict[str, str]:
    """Return this process's environment variables, with this project's package on the search path."""
    modules = [str(PROJECT / "scripts"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, modules))}


def source(path: str | Path) -> str:
    """Return the path of a project file, given from the project's root, as the rules name it.

    It is relative to the working directory if it lies below that. It is absolute if the workflow runs in another
    folder.
    """
    whole, here = PROJECT / path, Path.cwd()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


def configured_file(path: str) -> Path:
    """Return the path of a file that the configuration names, relative to the working directory.

    If it does not exist there but in the project's root, return that path.
    """
    named = Path(path).expanduser()
    return PROJECT / named if not named.exists() and (PROJECT / named).exists() else named

"""Where things are: the project, its results, and what is shared by all clones on a machine."""

import os
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
# Studies, claims, profiles and the papers' tables: the project's, or those of an archive from which all is made again.
CONFIG = Path(os.environ.get("PLIMSOLL_CONFIG", PROJECT / "config"))
# The tables of the papers, as printed.
REFERENCE = CONFIG / "reference"
# Measurements of one machine for each study, to be compared with.
REFERENCES = PROJECT / "results/reference"


def tool_prefix() -> Path:
    """Folder of the tools that set-up unpacked outside the project (scripts/setup/common.sh has the same default)."""
    return Path(os.environ.get("PLIMSOLL_PREFIX", "/opt/plimsoll"))


# Where root's built images are.
ROOT_S_IMAGES = Path("/var/cache/plimsoll/images")


def image_store() -> Path:
    """Folder of the built images, one folder per content; shared by the clones of one user."""
    if "PLIMSOLL_IMAGES" in os.environ:
        return Path(os.environ["PLIMSOLL_IMAGES"])
    if os.geteuid() == 0:
        return ROOT_S_IMAGES
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "plimsoll/images"


def use_this_python() -> None:
    """Make `python` in the rules the one that runs the workflow, and `plimsoll` this project's, however it was started."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    modules = [str(PROJECT / "scripts"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, modules))


def source(path: str | Path) -> str:
    """A file of the project, given from its root, as the rules name it: from the working directory where it lies below that,
    and whole where the workflow runs in another folder."""
    whole, here = PROJECT / path, Path.cwd()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


def given(path: str) -> Path:
    """A file that the configuration names: from the working directory or, where that has none of this name, from the project's
    root."""
    named = Path(path).expanduser()
    return PROJECT / named if not named.exists() and (PROJECT / named).exists() else named

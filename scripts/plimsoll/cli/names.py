"""Names that a user types: of studies, figures, runtimes, profiles and claims. Shells complete them."""

import os
import re
from pathlib import Path

from plimsoll import paths, spelling
from plimsoll.errors import PlimsollError

# Figures and claims of a study's files. To complete a name, a whole file is not checked.
FIGURE = re.compile(r"^  (\S+): \{chart:", re.MULTILINE)
CLAIM = re.compile(r"^  - id: (\S+)", re.MULTILINE)


def studies(begun: str = "") -> list[str]:
    """Return the studies whose names begin so, and `all`."""
    return _begun(begun, [*_files("studies"), "all"])


def profiles(begun: str = "") -> list[str]:
    """Return the profiles whose names begin so."""
    return _begun(begun, _files("profiles"))


def figures(begun: str = "") -> list[str]:
    """Return the figures of all studies whose names begin so."""
    return _begun(begun, sorted({name for name, _ in _in_files("studies", FIGURE)}))


def claims(begun: str = "") -> list[str]:
    """Return the claims whose names begin so."""
    return _begun(begun, [name for name, _ in _in_files("claims", CLAIM)])


def shown(begun: str = "") -> list[str]:
    """Return what `show` takes and begins so: claims, and figures with their study."""
    named = [f"{study}/{name}" for name, study in _in_files("studies", FIGURE)]
    return [*claims(begun), *_begun(begun, named)]


def runtimes(begun: str = "") -> list[str]:
    """Return the runtimes whose names begin so."""
    from plimsoll import environments

    return _begun(begun, sorted(environments.known()))


def figure_of(study: str, typed: str, known: list[str]) -> str:
    """Return the figure of a study that was typed: its name, or the number of a figure. Raise PlimsollError if none is."""
    name = f"fig{int(typed):02}" if typed.isdecimal() else typed
    if name not in known:
        raise PlimsollError(f"{study} has no figure {typed}{spelling.hint(name, known)}: it has {', '.join(sorted(known))}.")
    return name


def _files(folder: str) -> list[str]:
    return sorted(Path(name).stem for name in os.listdir(paths.CONFIG / folder) if name.endswith(".yaml"))


def _in_files(folder: str, pattern: re.Pattern) -> list[tuple[str, str]]:
    """Return (name, study) for what the pattern finds in the files of all studies."""
    texts = {study: (paths.CONFIG / folder / f"{study}.yaml").read_text() for study in _files(folder)}
    return [(name, study) for study, text in texts.items() for name in pattern.findall(text)]


def _begun(begun: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(begun)]

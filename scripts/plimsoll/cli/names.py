"""Names that a user types: of studies, figures, runtimes, profiles and claims. Shells complete them."""

import os
from pathlib import Path

from plimsoll import paths, spelling
from plimsoll.errors import PlimsollError


def studies(begun: str = "") -> list[str]:
    """Return the studies whose names begin so, and `all`."""
    return _begun(begun, [*_files("studies"), "all"])


def profiles(begun: str = "") -> list[str]:
    """Return the profiles whose names begin so."""
    return _begun(begun, _files("profiles"))


def figures(begun: str = "") -> list[str]:
    """Return the figures of all studies whose names begin so."""
    return _begun(begun, sorted({name for name, _ in figures_of_studies()}))


def claims(begun: str = "") -> list[str]:
    """Return the claims whose names begin so."""
    return _begun(begun, [name for name, _ in claims_of_studies()])


def shown(begun: str = "") -> list[str]:
    """Return what `show` takes and begins so: studies, claims, and figures with their study."""
    named = [f"{study}/{name}" for name, study in figures_of_studies()]
    return [*_begun(begun, _files("studies")), *claims(begun), *_begun(begun, named)]


def runtimes(begun: str = "") -> list[str]:
    """Return the runtimes whose names begin so."""
    from plimsoll import runtimes

    return _begun(begun, sorted(runtimes.known()))


def figure_of(study: str, typed: str, known: list[str]) -> str:
    """Return the figure of a study that was typed: its name, or the number of a figure. Raise PlimsollError if none is."""
    name = f"fig{int(typed):02}" if typed.isdecimal() else typed
    if name not in known:
        from plimsoll.terminal import request

        has = f"{study} has no figure {typed}{spelling.hint(name, known)}: it has {request.ranges(known)}"
        raise PlimsollError(f"{has}. Nothing was measured.")
    return name


def figures_of_studies() -> list[tuple[str, str]]:
    """Return (figure, study) for all figures."""
    return [(name, study) for study, content in _contents("studies").items() for name in content.get("figures", {})]


def claims_of_studies() -> list[tuple[str, str]]:
    """Return (claim, study) for all claims."""
    return [(one["id"], study) for study, content in _contents("claims").items() for one in content.get("claims", [])]


def _files(folder: str) -> list[str]:
    return sorted(Path(name).stem for name in os.listdir(paths.CONFIG / folder) if name.endswith(".yaml"))


def _contents(folder: str) -> dict[str, dict]:
    """Return the content of each YAML file of a folder by its name, unchecked. A file that is no YAML has none."""
    import yaml

    # The C library reads them ten times as fast, if it is there.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    contents = {}
    for name in _files(folder):
        try:
            content = yaml.load((paths.CONFIG / folder / f"{name}.yaml").read_text(), Loader=loader)
        except (OSError, ValueError, yaml.YAMLError):
            continue
        contents[name] = content if isinstance(content, dict) else {}
    return contents


def _begun(begun: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(begun)]

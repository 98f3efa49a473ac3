"""The figures of a study's reference measurements, with their alternative texts."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# Begins the caption of a figure of which nothing was measured.
MISSING = "Not measured here:"


class Figure(NamedTuple):
    """A figure as a page shows it: its name, its title, its alternative text, and the address of its picture."""

    name: str
    title: str
    alternative: str
    address: str

    @property
    def picture(self) -> str:
        """Return the picture as Markdown."""
        text = self.alternative.replace("[", "(").replace("]", ")")
        return f"![{text}]({self.address})"


def of(project: Path, study: dict) -> Iterator[Figure]:
    """Yield the figures of a study that `results/reference` has measured, in the order of the study's file."""
    folder, missing = _folder(project, study), _missing(project, study)
    for name, figure in study["figures"].items():
        if (folder / f"{name}.png").is_file() and name not in missing:
            alternative = " ".join((folder / f"{name}.alt.txt").read_text().split())
            yield Figure(
                name, figure.get("title", name), alternative, f"/../results/reference/{study['id']}/figures/{name}.png"
            )


def without(project: Path, study: dict) -> str:
    """Return a list of the figures that could not be measured for `results/reference`, with the reasons; empty without any."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in _missing(project, study).items():
        by_reason.setdefault(reason, []).append(name)
    return "\n".join(f"- Not measured on this machine: {', '.join(names)}. Reason: {why}" for why, names in by_reason.items())


def _folder(project: Path, study: dict) -> Path:
    return project / "results/reference" / study["id"] / "figures"


def _missing(project: Path, study: dict) -> dict[str, str]:
    """Return the figures of which nothing could be measured, each with the reason."""
    captions = {path.stem: " ".join(path.read_text().split()) for path in _folder(project, study).glob("*.txt")}
    return {
        name: captions[name].removeprefix(MISSING).strip()
        for name in study["figures"]
        if captions.get(name, "").startswith(MISSING)
    }

"""The figures of a study's reference measurements, with their alternative texts."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


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
    """Yield the figures of a study that `results/reference` has, in the order of the study's file."""
    folder = project / "results/reference" / study["id"] / "figures"
    for name, figure in study["figures"].items():
        if (folder / f"{name}.png").is_file():
            alternative = " ".join((folder / f"{name}.alt.txt").read_text().split())
            yield Figure(
                name, figure.get("title", name), alternative, f"/../results/reference/{study['id']}/figures/{name}.png"
            )

"""All figures of the reference measurements on one page. Their alternative texts say what they show."""

from collections.abc import Iterator
from html import escape
from pathlib import Path

import yaml

from reference_pages import figures
from reference_pages.markdown import page

INTRO = (
    "Measured on two cores of virtual machines of ours. A figure's alternative text says what it shows, for screen readers "
    "and below the figure. The data lie beside the figures, in `results/reference/<study>/figures/`."
)


def pages(project: Path) -> dict[str, str]:
    """Return the page."""
    studies = [yaml.safe_load(path.read_text()) for path in sorted((project / "config/studies").glob("*.yaml"))]
    return {"gallery": page("Gallery", INTRO, *(part for study in studies for part in _study(project, study)))}


def _study(project: Path, study: dict) -> Iterator[str]:
    shown = list(figures.of(project, study))
    if shown:
        yield f"## {study['id']}"
        yield f"{study['question']} [All about this study](studies/{study['id']}.md)"
    for figure in shown:
        yield f"### {figure.title} ({study['id']}, {figure.name})"
        yield figure.picture
        yield f"<details><summary>What it shows</summary>{escape(figure.alternative)}</details>"
    if shown and (without := figures.without(project, study)):
        yield without

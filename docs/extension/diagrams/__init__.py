"""Sphinx extension: draws the diagrams of the explanations from the project's own data, as SVG in docs/explanation/diagrams.

The files are kept in the repository, so that pages show them without a build. tests/unit/test_diagrams.py compares them.
"""

from collections.abc import Iterator
from pathlib import Path

from diagrams import cases, ladder, schemes

PROJECT = Path(__file__).resolve().parents[3]
MAKERS = {"schemes": schemes, "cases": cases, "ladder": ladder}


def setup(app) -> dict:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}


def drawn() -> Iterator[tuple[Path, str]]:
    """Yield the path and the SVG of each diagram."""
    for name, maker in MAKERS.items():
        yield PROJECT / f"docs/explanation/diagrams/{name}.svg", maker.drawing(PROJECT)


def _write(app) -> None:
    for path, text in drawn():
        path.parent.mkdir(exist_ok=True)
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)

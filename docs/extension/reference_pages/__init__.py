"""Sphinx extension: writes the reference pages from what the project itself reads, before Sphinx reads the sources."""

from pathlib import Path

from reference_pages import command_line, gallery, glossary, schemas, study_pages, tables_in_pages

PROJECT = Path(__file__).resolve().parents[3]
MAKERS = (command_line, schemas, glossary, study_pages, gallery)


def setup(app) -> dict:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}


def _write(app) -> None:
    folder = Path(app.srcdir) / "reference/generated"
    for maker in MAKERS:
        for name, text in maker.pages(PROJECT).items():
            _write_if_changed(folder / f"{name}.md", text)
    for path, text in tables_in_pages.texts(PROJECT).items():
        _write_if_changed(path, text)


def _write_if_changed(path: Path, text: str) -> None:
    """Write a page. An unchanged page keeps its time, so that Sphinx does not read it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)

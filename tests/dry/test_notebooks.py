"""Each notebook as a user opens it: a fresh kernel, the parameters in the notebook, and the reference measurements."""

import argparse
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from plimsoll import __main__ as stages
from plimsoll.errors import PlimsollError
from plimsoll.figures import data, render, sources

from tests import disks
from tests.conftest import PROJECT, REFERENCE, usual

# `program` shows a user's own study, of which there are no reference measurements.
NOTEBOOKS = sorted(path.stem for path in sources.NOTEBOOKS.glob("*.ipynb") if path.stem != "program")
DESIGNS = PROJECT / "scripts/plimsoll/designs"


def run(name: str, folder: Path) -> nbformat.NotebookNode:
    notebook = nbformat.read(sources.NOTEBOOKS / f"{name}.ipynb", as_version=4)
    # Communicate through files and not through the loopback network, as the workflow does.
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(sources.NOTEBOOKS)}}
    )
    client.create_kernel_manager()
    client.km.transport, client.km.ip = "ipc", str(folder / "kernel")
    return client.execute(env={**os.environ, "PYTHONPATH": str(PROJECT / "scripts"), "MPLBACKEND": "Agg"})


def shown(cell: nbformat.NotebookNode) -> str:
    data = [output.get("data", {}) for output in cell.get("outputs", [])]
    return "\n".join(part.get("text/markdown", part.get("text/plain", "")) for part in data)


# The others run the same code, and tests/unit/test_partial_results.py runs all notebooks without a kernel.
@pytest.mark.parametrize("name", usual(NOTEBOOKS, ["hardware", "splitting"]))
def test_a_notebook_works_at_once_and_measures_nothing(name, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in REFERENCE.rglob("*")}
    done = run(name, tmp_path)
    cells = [cell for cell in done.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    question, measured, data, figure, tests, verdicts, further = cells[1:]
    assert "The study's question" in shown(question)
    assert " n  planned\n" in shown(measured) and shown(data)
    assert any("image/png" in output.get("data", {}) for output in figure.outputs)
    if name == "hardware":  # scenarios are not measured
        assert "no test of these cells" in shown(tests) and "No statement" in shown(verdicts)
    else:
        assert "From `tests.csv`" in shown(tests) and "From `claims.csv`" in shown(verdicts)
        assert "reproduced" in shown(verdicts) or "inconclusive" in shown(verdicts)
    assert shown(further)
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "stream"]
    assert before == {path: path.stat().st_mtime_ns for path in REFERENCE.rglob("*")}


def test_every_notebook_shows_some_chart():
    of_charts = {chart.notebook for folder in DESIGNS.glob("*/charts") for chart in sources.charts(folder).values()}
    assert of_charts == {path.stem for path in sources.NOTEBOOKS.glob("*.ipynb")}


def notebook_of(line: str, path: Path) -> Path:
    """Write a notebook of one line, and return its path."""
    kernel = {"kernelspec": {"name": "python3", "display_name": "", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(line)], metadata=kernel), path)
    return path


def test_a_disk_that_is_full_while_a_figure_is_drawn_is_told_with_what_to_do(tmp_path):
    figure, place = data.read(REFERENCE / "liu2020/figures", "fig09"), tmp_path / "place"
    with disks.mounted(tmp_path / "disk", place, 4 * 2**20):
        disks.fill(place)
        notebook = notebook_of(f"open({str(place / 'fig09.pdf')!r}, 'w').write('x' * 100_000)", tmp_path / "full.ipynb")

        def draw(_):
            render.run(figure, notebook, REFERENCE, tmp_path / "fig09", tmp_path / "executed.ipynb")

        with pytest.raises(PlimsollError, match=r"^a disk of this host is full \(.*fig09.*\): free some space\.$"):
            stages._named(argparse.Namespace(says="", directory=None, stage=draw))


def test_a_file_that_a_notebook_does_not_find_is_told_in_its_own_words(tmp_path):
    figure = data.read(REFERENCE / "liu2020/figures", "fig09")
    notebook = notebook_of("open('/nonexistent/x.csv')", tmp_path / "none.ipynb")
    with pytest.raises(PlimsollError, match=r"^fig09: .* failed with FileNotFoundError: .*/nonexistent/x.csv.* \(see "):
        render.run(figure, notebook, REFERENCE, tmp_path / "fig09", tmp_path / "executed.ipynb")
    (output,) = nbformat.read(tmp_path / "executed.ipynb", as_version=4).cells[-1].outputs
    assert output.output_type == "error" and "/nonexistent/x.csv" in output.evalue and output.traceback


def test_what_a_cell_shows_is_in_the_notebook_that_is_kept(tmp_path, monkeypatch):
    figure = data.read(REFERENCE / "liu2020/figures", "fig09")
    line = "import sys\nprint(figure)\nprint('loud', file=sys.stderr)\ndisplay(3)\n1 + 1"
    # Nothing is left of another notebook, and nothing is written into HOME.
    for made, home in (("first", tmp_path / "a"), ("second", tmp_path / "b")):
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        notebook = notebook_of(line if made == "second" else "figure, left = 1, 2", tmp_path / f"{made}.ipynb")
        render.run(figure, notebook, REFERENCE, tmp_path / "fig09", tmp_path / "executed.ipynb")
        assert list(home.iterdir()) == []
    (cell,) = [one for one in nbformat.read(tmp_path / "executed.ipynb", as_version=4).cells if one.source == line]
    assert [(one.output_type, one.get("text") or one.data["text/plain"]) for one in cell.outputs] == [
        ("stream", "fig09\n"),
        ("stream", "loud\n"),
        ("display_data", "3"),
        ("display_data", "2"),
    ]
    assert cell.execution_count == 2

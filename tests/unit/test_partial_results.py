"""Every table, figure and page can be made from any part of a study's measurements, and says what is missing."""

import contextlib
import io
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import nbformat
import pytest
from bs4 import BeautifulSoup
from IPython.core.interactiveshell import InteractiveShell
from plimsoll import __main__ as stages
from plimsoll import paths, runtimes
from plimsoll.config import studies
from plimsoll.config.studies import Study
from plimsoll.figures import chart, notebook, render, sources, style
from plimsoll.measuring import plan_file, status
from plimsoll.planning import availability
from plimsoll.planning.repetitions import RequestedRepetitions
from plimsoll.terminal import results_summary

from tests import made_up, pages
from tests.conftest import built, small

STUDIES = studies.names(studies.STUDIES)
# Files beside a page that the test does not make.
NOT_MADE = (".pdf", ".ipynb", ".observations.csv", "raw/", "runs/")
# One in this many cells was measured, in the shape `some cells`.
SOME = 3
# Runtimes that are missing for a user who has Apptainer alone.
NOT_APPTAINER = tuple(name for name in runtimes.known() if name not in ("bare", "singularity", "singularity-user"))


def number_of(cell: str) -> int:
    """Return a number that is the same for a cell in every process."""
    return zlib.crc32(cell.encode())


def failed(told: dict) -> dict:
    """Return a record as if its run had failed."""
    left = {key: value for key, value in told.items() if key not in ("bits", "values", "iterations", "jobs", "lost")}
    return {**left, "status": status.FAILED, "reason": "it ended with 1"}


def of_runtime(*names: str) -> made_up.Kept:
    return lambda told: told if told["cell"]["runtime"] in names else None


def of_one_cell(least: int) -> made_up.Kept:
    """Return a filter that keeps runs 1 to `least` of the first cell that it meets."""
    chosen: list[str] = []

    def kept(told: dict) -> dict | None:
        chosen[:] = chosen or [told["cell"]["path"]]
        return told if chosen == [told["cell"]["path"]] and told["repetition"] <= least else None

    return kept


def of_one_benchmark() -> made_up.Kept:
    """Return a filter that keeps the records of the first benchmark, or set of benchmarks, that it meets. Metrics of
    others have no value."""
    chosen: list[object] = []

    def kept(told: dict) -> dict | None:
        own = [told["cell"].get(key) for key in ("section", "task", "benchmark", "members", "strategy")]
        chosen[:] = chosen or own
        return told if own == chosen else None

    return kept


class Shape(NamedTuple):
    """What was measured of a study: the records that are `kept`, without the runtimes that are `off`. The time is
    enough for this many `cells`."""

    kept: Callable[[], made_up.Kept]
    off: tuple[str, ...] = ()
    cells: int | None = None

    def plan(self, study: Study) -> dict:
        """Return the plan of a study."""
        whole = made_up.plan_of(study, small(), off=self.off)
        if self.cells is None:
            return whole
        asked = dict.fromkeys(list(dict.fromkeys(cell for cell, _ in whole["order"]))[: self.cells], 1)
        return made_up.plan_of(study, small(), off=self.off, asked=RequestedRepetitions(asked, exact=True))


SHAPES = {
    "nothing": Shape(lambda: lambda told: None),
    "some cells": Shape(lambda: lambda told: told if number_of(told["cell"]["path"]) % SOME == 0 else None),
    "Apptainer alone, and little time": Shape(lambda: lambda told: told, NOT_APPTAINER, 3),
}
# jha2021 has all charts and tables that this study has.
SECOND = {"jha2018"}
# For these shapes every figure is drawn, and not only one of each chart.
WHOLE = ("nothing", "Apptainer alone, and little time")
MORE = {
    "one cell": Shape(lambda: of_one_cell(made_up.BLOCKS)),
    "bare metal only": Shape(lambda: of_runtime("bare", "any")),
    "failures only": Shape(lambda: failed),
    "Docker only": Shape(lambda: of_runtime("docker")),
    "Apptainer only": Shape(lambda: of_runtime("singularity", "singularity-instance")),
    "one benchmark": Shape(of_one_benchmark),
    "one run": Shape(lambda: of_one_cell(1)),
    "one block": Shape(lambda: lambda told: told if told["repetition"] == 1 else None),
}


@cache
def code_of(name: str) -> tuple[str, ...]:
    """Return the code cells of a notebook, without its parameters."""
    cells = nbformat.read(sources.NOTEBOOKS / f"{name}.ipynb", as_version=4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    return tuple(code[1:])


def run(name: str, figure: str, results: Path) -> None:
    """Run a notebook's code in this process, because a kernel takes a second to start."""
    shell = InteractiveShell.instance()
    shell.reset(new_session=False)
    shell.push({"results": str(results), "figure": figure, "output": ""})
    with contextlib.redirect_stdout(io.StringIO()):
        for code in code_of(name):
            done = shell.run_cell(code)
            done.raise_error()


def make(name: str, kept: made_up.Kept, plan: dict, every: bool = False) -> list[chart.DrawnFigure]:
    """Make all that the workflow makes from the kept records, in the working directory. Return the figures that were
    drawn: one for each chart, or `every` one."""
    study, folder = built(name), Path("results", name)
    folder.mkdir(parents=True)
    made_up.write(folder, study, plan, kept=kept)
    drawn: list[chart.DrawnFigure] = []
    opened: set[str] = set()

    def draw(study: Study, figure: str) -> None:
        source = made_up.chart_of(study, figure)
        data = render.gather(study, plan_file.read(folder / "plan.json", study.design.factors), figure, folder, None)
        if source.name not in opened or every:
            drawn.append(chart.draw_figure(study.design.chart(source.name), data))
            drawn[-1].save(folder / "figures" / figure)
            data.write(folder / "figures")
            if source.name not in opened:
                run(source.notebook, figure, folder)
            plt.close("all")
        else:
            for ending in (".png", ".csv", ".txt", ".alt.txt"):
                (folder / f"figures/{figure}{ending}").write_text("a figure that is drawn like another one\n")
        opened.add(source.name)

    made_up.make(study, draw)
    return drawn


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder with the project's configuration, in which pictures are made quickly."""
    (tmp_path / "config").symlink_to(paths.PROJECT / "config")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(style, "save", lambda figure, stem: figure.savefig(f"{stem}.png", dpi=30))
    monkeypatch.setattr(notebook, "picture", lambda figure, alternative="": alternative)
    return tmp_path


def check_pages(name: str) -> BeautifulSoup:
    """Check that everyone can read the report and the page of verdicts, and return the report."""
    folder = Path("results", name)
    given = {"verdicts": "together.json", "comparisons": "together.csv", "answers": "answer.csv", "sessions": "sessions.json"}
    words = [word for option, file in given.items() for word in (f"--{option}", str(folder / file))]
    words += ["--page", "results/claims.html", "--table", "results/claims.csv", "--start", "results/index.html"]
    assert stages.main(["verdicts", *words]) == 0
    pages.check(Path("results/claims.html").read_text(), Path("results"), NOT_MADE)
    assert name in results_summary.of_studies(Path("results"), {name: built(name)}, 80)
    return pages.check((folder / "report.html").read_text(), folder, NOT_MADE)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        pytest.param(name, shape, marks=pytest.mark.long if shape in MORE or (name in SECOND and shape != "nothing") else ())
        for name in STUDIES
        for shape in (*SHAPES, *MORE)
    ],
)
def test_everything_is_made_of_what_was_measured(place, name, shape):
    described = {**SHAPES, **MORE}[shape]
    plan = described.plan(built(name))
    if not plan["cells"]:
        # The workflow says that no cell of the study is left (plimsoll.workflow.prepare), and makes nothing.
        return
    for one in make(name, described.kept(), plan, every=shape in WHOLE):
        assert one.caption.endswith(".") and one.alternative
        if shape == "nothing" and availability.figure_runs(plan, built(name), one.data.name):
            assert "Not measured here: none of its " in one.caption
    check_pages(name)

"""The digest of the code that a stage uses: it has all that the stage runs, and nothing changes it but that code."""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import pytest
from plimsoll import __main__ as stages
from plimsoll import code, paths, remembered

from tests import made_up
from tests.conftest import built, small, usual

PACKAGE = paths.PROJECT / "scripts/plimsoll"
CACHED = ("_whole", "digest", "_resolved", "_definition", "_module", "_file", "_templates")
# One study for each design.
STUDIES = ("plimsoll2026", "li2018", "amaral2015", "jha2018", "li2018-hadoop")
SOURCES = {
    "__main__": """
from plimsoll.unused import never

def _judge(options):
    "A docstring."
    from plimsoll import judging

    return judging.judge(options.study.design, name="page.html.j2")
""",
    "judging": """
import numpy

from plimsoll import kinds, search
from plimsoll.statistics import LEVEL, mean as average

def judge(design, name, unused=None):
    return [average(design.readings.values(), LEVEL), search.members(kinds), design.tables.KINDS]

def another(unused):
    return unused.never()
""",
    "statistics": """
LEVEL = 0.05

def mean(values, level):
    return _sum(values) / level

def _sum(values):
    # Why it is so.
    return sum(values)

def spread(values):
    return 0
""",
    "search": "def members(package):\n    return dir(package)\n",
    "kinds/__init__": "",
    "kinds/one": "KIND = 1\n",
    "unused": "def never():\n    return 1\n",
    "designs/small/readings": """
class Readings:
    def values(self):
        return self._inside()

    def _inside(self):
        return [1]

    def of_run(self):
        return 0
""",
    "designs/small/tables": "class Tables:\n    KINDS = {'one': Kind('run_tables.one')}\n",
    "designs/small/run_tables": "def one():\n    return 5\n\ndef other():\n    return 6\n",
    "designs/other/readings": "def values():\n    return [2]\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch) -> Iterator[Path]:
    """Return the folder of a package that is made up, in place of the project's."""
    monkeypatch.setattr(code, "SCRIPTS", tmp_path / "scripts")
    monkeypatch.setattr(remembered, "FOLDER", tmp_path / "remembered")
    folder = tmp_path / "scripts/plimsoll"
    for name, text in SOURCES.items():
        (folder / f"{name}.py").parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(text)
    (folder / "templates").mkdir()
    (folder / "templates/page.html.j2").write_text('{% include "style.css" %}')
    (folder / "templates/style.css").write_text("body {}")
    (folder / "templates/other.html.j2").write_text("nothing")
    forget()
    yield folder
    forget()


def forget() -> None:
    for name in CACHED:
        getattr(code, name).cache_clear()


CHANGES = {
    "a function that another function of the stage calls": ("statistics.py", "return sum(values)", "return sum(values) + 1"),
    "a constant": ("statistics.py", "0.05", "0.01"),
    "a function of the design": ("designs/small/readings.py", "[1]", "[3]"),
    "a member of a package that is searched": ("kinds/one.py", "1", "2"),
    "a function that the design names in a text": ("designs/small/run_tables.py", "return 5", "return 4"),
    "a template": ("templates/page.html.j2", "{%", "more {%"),
    "what a template includes": ("templates/style.css", "{}", "{color: red}"),
    "the stage itself": ("__main__.py", "options.study", "options.other"),
}
NO_CHANGES = {
    "a comment": ("statistics.py", "Why it is so", "Why it is not so"),
    "a docstring": ("__main__.py", "A docstring", "Another docstring"),
    "a function that the stage does not call": ("statistics.py", "return 0", "return 1"),
    "a module of which the stage uses nothing": ("unused.py", "return 1", "return 2"),
    "another member of the design's part": ("designs/small/readings.py", "return 0", "return 1"),
    "another function of that module": ("designs/small/run_tables.py", "return 6", "return 4"),
    "another design": ("designs/other/readings.py", "[2]", "[3]"),
    "a template of another page": ("templates/other.html.j2", "nothing", "something"),
    "the module of a name that a parameter hides": ("unused.py", "return 1", "return 3"),
}


@pytest.mark.parametrize(
    ("change", "changes"),
    [*((change, True) for change in CHANGES.items()), *((change, False) for change in NO_CHANGES.items())],
    ids=lambda one: one[0] if isinstance(one, tuple) else "",
)
def test_what_changes_a_digest(package, change, changes):
    _, (file, old, new) = change
    before = code.digest("_judge", ("small",))
    text = (package / file).read_text()
    assert old in text
    (package / file).write_text(text.replace(old, new))
    forget()
    assert (code.digest("_judge", ("small",)) != before) is changes


def test_a_chart_and_a_notebook_are_followed_too(package, tmp_path):
    notebook = tmp_path / "of_figure.ipynb"
    notebook.write_text('{"cells": [{"cell_type": "code", "source": ["from plimsoll import unused\\n", "unused.never()"]}]}')
    assert package / "unused.py" not in code.sources("_judge", ("small",))
    assert {notebook, package / "unused.py"} <= code.sources("_judge", ("small",), (notebook,))


def test_there_is_no_digest_of_a_stage_that_is_not_there(package):
    with pytest.raises(LookupError, match="no stage _other"):
        code.digest("_other")
    assert code.digest("judging.judge", ("small",)) != code.digest("_judge", ("small",))


def test_a_digest_does_not_depend_on_the_folder(package, tmp_path, monkeypatch):
    notebook = tmp_path / "of_figure.ipynb"
    notebook.write_text('{"cells": []}')
    before = code.digest("_judge", ("small",), (notebook,))
    moved, other = tmp_path / "moved", tmp_path / "other"
    other.mkdir()
    (tmp_path / "scripts").rename(moved)
    monkeypatch.setattr(code, "SCRIPTS", moved)
    forget()
    assert code.digest("_judge", ("small",), (notebook.rename(other / notebook.name),)) == before


class Watched:
    """What a stage runs of the package: (file, name of a function with its classes), without what imports run."""

    def __init__(self):
        self.stage, self.ran = "", {}
        self.seen: set[tuple[str, CodeType]] = set()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        ran = frame.f_code
        if event != "call" or not ran.co_filename.startswith(str(PACKAGE)) or (self.stage, ran) in self.seen:
            return
        if self.is_of_stage(frame):
            self.seen.add((self.stage, ran))
            # A template is followed as a whole.
            name = ran.co_qualname if ran.co_filename.endswith(".py") else ""
            if not name.startswith("<"):
                self.ran.setdefault(self.stage, set()).add((ran.co_filename, name))

    def is_of_stage(self, frame: FrameType | None) -> bool:
        while frame:
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                return False
            if frame.f_code.co_name == f"_{self.stage}" and frame.f_code.co_filename == inspect.getsourcefile(stages):
                return True
            frame = frame.f_back
        return False


@pytest.mark.parametrize("name", usual(STUDIES, STUDIES[:2]))
def test_all_that_a_stage_runs_is_in_its_digest(name, tmp_path, monkeypatch):
    """The stages are watched while they make everything from records that are made up."""
    study, watched = built(name), Watched()
    monkeypatch.chdir(tmp_path)
    Path("config").symlink_to(paths.PROJECT / "config")
    made_up.write(Path("results", name), study, made_up.plan_of(study, small()))
    figure, plain = next(iter(study["figures"])), made_up._stage

    def watch(stage: str, /, **options: str) -> None:
        watched.stage = stage
        sys.setprofile(watched)
        try:
            plain(stage, **options)
        finally:
            sys.setprofile(None)

    def draw(_, drawn: str) -> None:
        """Draw the first figure of one study. Put empty files in place of the others, which take too long."""
        if drawn == figure and name == STUDIES[0]:
            made_up.by_stage(study, figure)
        for ending in ("png", "txt"):
            Path("results", name, "figures", f"{drawn}.{ending}").touch()

    monkeypatch.setattr(made_up, "_stage", watch)
    made_up.make(study, draw)
    assert {"collect", "tests", "table", "variance", "claims", "sessions", "report"} <= set(watched.ran)
    chart = made_up.chart_of(study, figure)
    for stage, ran in watched.ran.items():
        drawn = (chart.file, made_up.sources.notebook(chart)) if stage == "figure" else ()
        followed = {(str(code._file(one.module)), one.name) for one in code._followed(f"_{stage}", (study["design"],), drawn)}
        # A class is followed as a whole, or member by member.
        lost = [(file, name) for file, name in ran if not followed & {(file, part) for part in parts_of(name)}]
        assert len(ran) > 20 and not lost, (stage, lost)


def parts_of(name: str) -> set[str]:
    """Return the names under which a function may be followed: `Class` and `Class.method`."""
    return {name.partition(".")[0], ".".join(name.split(".")[:2])}

"""The commands of docs/how-to/evaluate.md are typed, and print what the page says that they must.

Set-up and the workflow do nothing here: results are those of the reference measurements.
"""

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from plimsoll import cli, tasks
from plimsoll.cli import steps
from plimsoll.features.archive import code_identity, layout, rebuild
from plimsoll.features.doctor import examination, readings
from plimsoll.features.doctor.finding import FINE, WARNS, Finding
from plimsoll.features.time_budget import stages as time_budget
from plimsoll.terminal import results_summary

from tests import markdown
from tests.conftest import PROJECT, REFERENCE, built

PAGE = PROJECT / "docs/how-to/evaluate.md"
TYPED = [list(command.words[1:]) for command in markdown.commands(PAGE) if not command.inline]
# What must be printed, by the words of a command that tell it from others.
ROWS = dict(re.findall(r"^\| `([^`]+)` \| [^|]+ \| [^|]+ \| ([^|]+) \|$", PAGE.read_text().partition("\n## ")[0], re.MULTILINE))


def typed(row: str, *more: str) -> list[str]:
    """Return the words of a row's command on the page, and what places its results elsewhere."""
    [words] = [words for words in TYPED if set(row.split()) <= set(words)]
    return [*words, *more]


def wanted(row: str) -> list[str]:
    """Return the words that a row's command must print."""
    return re.findall(r"\*(.+?)\*", ROWS[row])


def last_line(capsys) -> str:
    """Return the last line that was printed."""
    return capsys.readouterr().out.rstrip().splitlines()[-1]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return an empty folder for results. Set-up and the workflow do nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(cli.TYPED, "./plimsoll x")
    monkeypatch.setenv("PLIMSOLL_START", "1")
    for module, name in ((steps, "set_up"), (steps, "workflow"), (tasks, "measure_for"), (time_budget, "check")):
        monkeypatch.setattr(module, name, lambda *_, **__: 0)
    return tmp_path


def test_each_command_has_a_row():
    assert [typed(row) for row in ROWS] == TYPED and len(TYPED) == 5


@pytest.mark.parametrize(("level", "status"), [(FINE, 0), (WARNS, 1)])
def test_the_doctor_says_that_this_machine_can_measure(folder, capsys, monkeypatch, level, status):
    monkeypatch.setattr(readings, "look", lambda *_: None)
    monkeypatch.setattr(examination, "findings", lambda _: [Finding("swap", "on", level, "runs are slower")])
    assert cli.main(typed("doctor")) == status
    [words] = wanted("doctor")
    assert words in last_line(capsys)


def test_an_archive_that_is_remade_has_the_same_tables(folder, capsys, monkeypatch):
    """The archive is of another study than the page's. Everything is made again as it was, and then a file is changed."""
    study, archive = "li2018-hadoop", Path(typed("remake")[1])
    archive.parent.mkdir(parents=True)
    shutil.copy(REFERENCE / study / layout.reference(study), archive)
    with zipfile.ZipFile(archive) as members:
        by = json.loads(members.read(layout.MANIFEST))["made_by"]

    def made(place: Path, source: Path) -> None:
        with zipfile.ZipFile(source) as members:
            members.extractall(place, [name for name in members.namelist() if not (place / name).exists()])

    monkeypatch.setattr(code_identity, "made_by", lambda: by)
    monkeypatch.setattr(rebuild, "_snakemake", made)
    monkeypatch.setattr(rebuild, "tell_findings", lambda place: None)
    same, differs = wanted("remake")
    remade = folder / "results/from" / archive.stem / "results" / study
    for changed, says, status in (("", same, 0), ("figures/fig15.txt", differs, 0), ("tables/table06.csv", differs, 1)):
        if changed:
            (remade / changed).write_text("another\n")
        assert cli.main(typed("remake", "--directory", str(folder))) == status
        line = last_line(capsys)
        assert says in line and (differs in line) == bool(changed)


def test_a_figure_is_named_with_its_path(folder, capsys):
    assert cli.main(typed("reproduce --figure", "--directory", str(folder))) == 0
    [words] = wanted("reproduce --figure")
    assert last_line(capsys) == f"{words} results/liu2020/figures/fig06.pdf"


def test_twelve_minutes_give_the_answer_and_a_page(folder, capsys, monkeypatch):
    """The workflow's last step prints a summary of the results."""
    study = built("liu2020")
    own = [f"results/liu2020/{name}" for name in ("answer.csv", "together.json", "together.csv")]

    def workflow(*_) -> int:
        with zipfile.ZipFile(REFERENCE / "liu2020" / layout.reference("liu2020")) as members:
            members.extractall(folder, own)
        Path("results/index.html").touch()
        print(results_summary.of_studies(Path("results"), {"liu2020": study}))
        return 0

    monkeypatch.setattr(steps, "workflow", workflow)
    assert cli.main(typed("reproduce --minutes", "--directory", str(folder))) == 0
    assert ROWS["reproduce --minutes"] == "the answer to the study's question, and the path of a page"
    printed = " ".join(capsys.readouterr().out.split())
    [answer] = results_summary.answers_of(folder / own[0], study)
    assert f"The answer: {answer['said']}" in printed and printed.endswith("Read on: results/index.html")


def test_own_results_are_checked(folder, capsys):
    """Own results that are the reference's reverse no claim."""
    own = folder / "results/plimsoll2026"
    own.mkdir(parents=True)
    for name in ("claims.csv", "observations.csv", "host.txt"):
        shutil.copy(REFERENCE / "plimsoll2026" / name, own)
    assert cli.main(typed("check", "--results", str(own.parent))) == 0
    [words] = wanted("check")
    assert last_line(capsys).startswith(words)

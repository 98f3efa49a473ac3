"""Commands of tutorials and how-to pages are typed, on made-up results of a small study.

Nothing is measured: `reproduce` is a dry run here. The tests that `ELSEWHERE` names type the commands that start containers.
"""

import re
import shutil

import pytest

from tests import markdown
from tests.conftest import PROJECT
from tests.dry.test_archives import ARCHIVE, FIGURES, NOTHING, SMALL, Archived

PAGES = ("docs/tutorials", "docs/how-to")
HERE = ("add", "archive", "compare", "drop", "list", "new-system", "plan", "reproduce", "show")
# The test that types a command, or the function that is behind it.
ELSEWHERE = {
    "clean-up": "tests/faults/test_faults.py",
    "doctor": "tests/unit/test_doctor.py",
    "image": "tests/users/test_users.py",
    "judge": "tests/unit/test_judge.py",
    "remake": "tests/dry/test_archives.py",
    "session": "tests/workflow/test_sessions.py",
    "setup": "tests/users/test_users.py",
    "try": "tests/containers/test_try.py",
}
# Words that name what is not there: an image that was built, and a study that `try` wrote.
NOT_HERE = re.compile(r"--image|my-\w+\.yaml")
# What pages name, and what stands for it here: results of a small study in place of those of liu2020.
RECORD = "results/liu2020/runs/uma/exact/E1/docker/any/default/standard/plain/beff/1.json"
SYSTEM = "results/systems/1f3c9a02"
STANDS_FOR = {"liu2020-c24": f"{SMALL}-c02", "/data/run2": "elsewhere"}
# Commands about what was measured.
MEASURED = ("archive", "compare", "show")
# A comparison ends with 1 if something is worse.
STATUSES = {"compare": (0, 1)}


def shown() -> list[markdown.Command]:
    """Return the commands in blocks of the pages, each once."""
    pages = [page for page in markdown.pages() if str(page.relative_to(PROJECT)).startswith(PAGES)]
    every = [command for page in pages for command in markdown.commands(page) if not command.inline]
    found = {command.words[1:]: command for command in every if command.words[0].endswith("plimsoll")}
    return list(found.values())


def is_here(command: markdown.Command) -> bool:
    """Return whether a command is typed by this module."""
    return command.words[1] in HERE and not any(NOT_HERE.fullmatch(word) for word in command.words)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Archived:
    """Return a project with made-up results of a small study, two archives, and results of an earlier system."""
    project = Archived(tmp_path_factory.mktemp("documented"))
    project.make_up(SMALL, FIGURES)
    # Pages name figures that were not drawn here.
    shutil.copy(PROJECT / f"config/studies/{SMALL}.yaml", project.folder / "config/studies")
    shutil.rmtree(project.folder / "results/reference")
    for copy in (SYSTEM, "results/reference", "guard"):
        shutil.copytree(project.folder / f"results/{SMALL}", project.folder / copy / SMALL)
    project.archive(SMALL)
    for name in ("before.zip", "after.zip"):
        shutil.copy(project.folder / ARCHIVE, project.folder / name)
    shutil.copytree(project.folder / "results", project.folder / "kept")
    return project


@pytest.fixture
def project(made) -> Archived:
    """Return the project as it was made, whatever the command before has changed."""
    (made.folder / "config/local.yaml").unlink(missing_ok=True)
    shutil.rmtree(made.folder / "results")
    shutil.copytree(made.folder / "kept", made.folder / "results")
    return made


def typed() -> list:
    """Return the commands of this module as parameters of a test. Those whose name and options an earlier one has run only
    with LONG=1."""
    parameters, shapes = [], set()
    for command in filter(is_here, shown()):
        shape = command.words[1], frozenset(word for word in command.words if word.startswith("--"))
        parameters.append(pytest.param(command, id=str(command), marks=pytest.mark.long if shape in shapes else ()))
        shapes.add(shape)
    return parameters


@pytest.mark.parametrize("command", typed())
def test_a_command_of_a_page_does_something_when_it_is_typed(project, command):
    record = project.files(f"results/{SMALL}/runs/**/*.json")[0]
    stands_for = {**STANDS_FOR, RECORD: record}
    words = [stands_for.get(word, word) for word in command.words[1:]]
    if words[0] in MEASURED:
        words = [word.replace("liu2020", SMALL) for word in words]
    if words[0] == "reproduce" and "--dry-run" not in words:
        words.append("--dry-run")
    done = project.run("plimsoll.cli", *words, **NOTHING)
    assert done.returncode in STATUSES.get(words[0], (0,)), done.stdout + done.stderr
    assert "Traceback" not in done.stderr and done.stdout + done.stderr


def test_every_other_command_of_a_page_is_typed_by_another_test():
    others = {command.words[1] for command in shown() if not is_here(command)}
    assert others - {"reproduce"} <= set(ELSEWHERE)
    for name in others & set(ELSEWHERE):
        assert re.search(rf"\b{name.replace('-', '[-_]')}\b", (PROJECT / ELSEWHERE[name]).read_text()), name

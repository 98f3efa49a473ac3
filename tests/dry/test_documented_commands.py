"""Commands of tutorials and how-to pages are typed, on made-up results of a small study.

Nothing is measured: `reproduce` is a dry run here. The tests that `ELSEWHERE` names type the commands that start containers.
"""

import ast
import re
import shutil
import subprocess

import pytest

from tests import markdown
from tests.conftest import PROJECT
from tests.dry.test_archives import ARCHIVE, FIGURES, NOTHING, SMALL, Archived

PAGES = ("docs/tutorials", "docs/how-to")
HERE = ("add", "archive", "compare", "drop", "list", "new-system", "plan", "reproduce", "show")
# The test that types a command.
ELSEWHERE = {
    "check": "tests/unit/test_evaluate_page.py::test_own_results_are_checked",
    "clean-up": "tests/faults/test_faults.py::test_on_command_nothing_is_left_of_workflows",
    "doctor": "tests/unit/test_evaluate_page.py::test_the_doctor_says_that_this_machine_can_measure",
    "image": "tests/unit/test_command.py::test_images_are_written_where_the_command_was_typed",
    "judge": "tests/unit/test_judge.py::test_the_command_prints_verdicts_and_has_true_statuses",
    "remake": "tests/unit/test_evaluate_page.py::test_an_archive_that_is_remade_has_the_same_tables",
    "reproduce": "tests/unit/test_command.py::test_a_relative_path_leads_where_it_was_typed",
    "session": "tests/unit/test_command.py::test_a_session_begins_before_it_is_measured",
    "setup": "tests/unit/test_command.py::test_a_set_up_that_fails_has_its_own_status",
    "try": "tests/containers/test_try.py::test_a_program_with_other_answers_in_a_container_is_not_timed",
}
# How a test types a command: in its own process, or in another one. The command's name follows.
TYPES = re.compile(r'(?:\bcli\.main\(|\bplimsoll\(tmp_path, |"plimsoll\.cli", )[^"\n)]*"([\w-]+)"')
# Lines of a shell without a command of the project: a pattern, and the test that types them.
OTHER_LINES = {
    r"\{? ?echo .*|for i in .*": "tests/containers/test_try.py::test_a_program_of_the_tutorial_can_be_tried",
    r"sbatch .*": "tests/cluster/test_slurm.py::test_one_node_is_measured_by_a_job_that_a_user_submits",
    r"#!/bin/sh": "tests/cluster/test_slurm.py::test_containers_of_a_job_that_was_killed_at_once_are_removed",
    r"mv .*|mkdir .*": "tests/dry/test_documented_commands.py::test_results_are_moved_where_the_next_command_looks",
}
# Lines that no test types, and why.
UNTYPED = {
    "git pull": "a copy of the project has no repository to pull from",
    'alias plimsoll="$PWD/plimsoll"': "an alias holds in the shell of the reader alone",
    ". .venv/bin/activate": "tests run in this environment",
}
# Lines that move results, with what is there afterwards.
MOVES = {
    f"mkdir -p guard && cp results/host.txt guard/ && mv results/{SMALL} guard/": (
        "guard/host.txt",
        f"guard/{SMALL}/plan.json",
    ),
    "mv results/liu2020 before-liu2020": (f"before-{SMALL}/plan.json",),
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


def pages() -> list:
    """Return the pages that say what to type."""
    return [page for page in markdown.pages() if str(page.relative_to(PROJECT)).startswith(PAGES)]


def shown() -> list[markdown.Command]:
    """Return the commands in blocks of the pages, each once."""
    every = [command for page in pages() for command in markdown.commands(page) if not command.inline]
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


@pytest.mark.parametrize("line", MOVES)
def test_results_are_moved_where_the_next_command_looks(made, tmp_path, line):
    shutil.copytree(made.folder / "kept", tmp_path / "results")
    subprocess.run(["bash", "-c", line.replace("liu2020", SMALL)], cwd=tmp_path, check=True)
    assert all((tmp_path / path).is_file() for path in MOVES[line]) and not (tmp_path / f"results/{SMALL}").exists()


def source(test: str) -> str:
    """Return the source of a test: a file, and the name of a function in it. Fail if there is no such function."""
    path, name = test.split("::")
    text = (PROJECT / path).read_text()
    [found] = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.name == name]
    return ast.get_source_segment(text, found)


def typed_by(test: str) -> list[str]:
    """Return the commands that a test types: the words that begin calls of `cli.main` and of `plimsoll`.

    A name in brackets after them is one of these words.
    """
    return TYPES.findall(source(test))


def test_every_other_command_of_a_page_is_typed_by_the_test_that_is_named():
    assert {command.words[1] for command in shown() if not is_here(command)} == ELSEWHERE.keys()
    assert [name for name, test in ELSEWHERE.items() if name not in typed_by(test)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('cli.main(["image", "x"])', ["image"]),
        ('cli.main(typed("check", "--results"))', ["check"]),
        ('plimsoll(tmp_path, "try", "--")', ["try"]),
        ('words = (python, "-m", "plimsoll.cli", "clean-up", "--all")', ["clean-up"]),
        ('"""It has the words cli.main and clean-up."""', []),
        ('cli.main(words)\nassert "clean-up" in said', []),
    ],
)
def test_a_name_alone_is_not_typed(text, found):
    assert TYPES.findall(text) == found


def test_every_other_line_of_a_shell_is_typed_or_has_a_reason():
    lines = {line for page in pages() for line in markdown.other_lines(page)}
    assert lines >= {*UNTYPED, *MOVES}
    tests = {
        line: [test for pattern, test in OTHER_LINES.items() if re.fullmatch(pattern, line)] for line in lines - {*UNTYPED}
    }
    assert {line: found for line, found in tests.items() if len(found) != 1} == {}
    assert {test for found in tests.values() for test in found} == set(OTHER_LINES.values())
    assert all(map(source, OTHER_LINES.values()))

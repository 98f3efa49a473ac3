"""What a user gives to make, and names of files, are never run as commands of the shell."""

import re
import shutil
import subprocess

import pytest
from plimsoll.cli import groups

from tests.conftest import PROJECT

EVIL = "a;touch ${PWD}/taken;`touch taken`'\".zip"
# Variables that each target takes.
GIVEN = {
    "reproduce": ("FROM", "CLAIMS", "IMAGE", "DIRECTORY", "HOURS", "MINUTES", "STUDIES", "PROFILE"),
    "faults": ("SEED", "NUMBER", "FAULTS", "HOURS"),
    "fuzz": ("SEED", "INPUTS"),
}
# Prints how a program was called, one word on each line.
PRINTS = '#!/bin/sh\nprintf "%s\\n" "$@"\n'


@pytest.fixture
def folder(tmp_path):
    """A folder with the Makefile, in which the programs that it calls print how they were called."""
    shutil.copy(PROJECT / "Makefile", tmp_path)
    (tmp_path / "scripts/setup").mkdir(parents=True)
    shutil.copy(PROJECT / "scripts/setup/nearest.awk", tmp_path / "scripts/setup")
    for name in (".venv/bin/python", "plimsoll", "scripts/setup/all.sh"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if name.endswith(".sh") else PRINTS)
        path.chmod(0o755)
    return tmp_path


def run(folder, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["make", "--no-print-directory", *words], cwd=folder, capture_output=True, text=True, timeout=300)


def make(folder, *words: str) -> str:
    done = run(folder, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(folder, *words: str) -> str:
    """Return the one line with which make refuses."""
    done = run(folder, *words)
    assert done.returncode == 2 and not done.stdout
    [line] = done.stderr.splitlines()
    return line


@pytest.mark.parametrize(("target", "variable"), [(target, name) for target, names in GIVEN.items() for name in names])
def test_what_is_given_is_a_word_and_no_command(folder, target, variable):
    # CLAIMS needs FROM. A list is split into its words.
    more = ["FROM=x.zip"] if variable == "CLAIMS" else []
    assert "touch" not in make(folder, "--dry-run", target, *more, f"{variable}={EVIL.replace('$', '$$')}")
    told = make(folder, target, *more, f"{variable}={EVIL.replace('$', '$$')}")
    assert EVIL in told or variable in ("STUDIES", "NUMBER")
    assert not (folder / "taken").exists()


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (("reproduce", "STUDY=jha2021"), "STUDY (did you mean STUDIES?)"),
        (("reproduce", "HOUR=0.1"), "HOUR (did you mean HOURS?)"),
        (("reproduce", "hours=0.1"), "hours (did you mean HOURS?)"),
        (("reproduce", "CLAIMS=mine.yaml"), "CLAIMS (CLAIMS goes with FROM=archive)"),
        (("reproduce", "FROM=x.zip", "PROFILE=ci"), "PROFILE; it takes FROM CLAIMS"),
        (("setup", "HOURS=1"), "takes no variable HOURS; it takes STUDIES IMAGE"),
        (("lint", "FIX=1"), "FIX; it takes none"),
        (("setup", "reproduce", "HOURZ=1"), "HOURZ (did you mean HOURS?)"),
        (("setup", "a'$(touch taken)=1"), "takes no variable a'"),
    ],
)
def test_a_variable_that_the_command_does_not_take_is_refused(folder, words, nearest):
    said = refused(folder, *words)
    assert nearest in said and said.endswith("Nothing was done.  Stop.")
    assert not (folder / "taken").exists()


def test_a_command_that_is_not_there_is_refused_with_the_nearest(folder):
    assert "`make reprodcue` (did you mean reproduce?): `./plimsoll --help` lists" in refused(folder, "reprodcue", "HOURS=1")
    assert "`make x`: `./plimsoll --help` lists the commands and `make help` the targets" in refused(folder, "x")


@pytest.mark.parametrize(
    ("target", "command"), [("list", "list"), ("precise", "precise"), ("with", "add"), ("findings", "hosts")]
)
def test_a_target_that_is_a_command_now_is_named(folder, target, command):
    assert f"`make {target}` is `./plimsoll {command}` now" in refused(folder, target)
    assert command in groups.names()


def test_make_alone_prints_every_target_and_does_nothing(folder):
    said = make(folder)
    assert said == make(folder, "help")
    assert {f"make {name}" for name in GIVEN} <= set(re.findall("make [a-z-]+", said)) and "./plimsoll --help" in said
    # No program of the folder was called.
    assert "plimsoll\n" not in said


def test_every_variable_is_taken_by_a_command(folder):
    text = (PROJECT / "Makefile").read_text()
    defaults = set(re.findall(r"^([A-Z_]+) \?=", text, re.MULTILINE))
    taken = re.findall(r"^takes[.][a-z-]+ = (.*)$", text, re.MULTILINE)
    assert defaults <= {name for line in taken for name in re.findall("[A-Z_]+", line)}


def test_every_variable_that_reaches_a_command_is_tried():
    """Recipes use variables in the shell's form. In make's form these may only be in conditions."""
    text = (PROJECT / "Makefile").read_text()
    known = {name for names in GIVEN.values() for name in names}
    assert set(re.findall(r"\$\$([A-Z_]+)", text)) == known
    recipes = re.sub(
        r"\$\(if \$\((?:filter-out \w+,\$\()?[A-Z_]+\)?\),", "", "\n".join(re.findall(r"^\t.*$", text, re.MULTILINE))
    )
    assert set(re.findall(r"\$\(([A-Z_]+)\)", recipes)) <= {"MAKE"}


def test_several_studies_are_several_words(folder):
    (folder / "x").touch()
    assert make(folder, "reproduce", "STUDIES=liu2020 jha2021 ?").splitlines() == ["reproduce", "liu2020", "jha2021", "?"]


def test_what_is_given_are_the_command_s_options(folder):
    words = ["HOURS=0.2", "PROFILE=paper", "DIRECTORY=/data/run2", "IMAGE=a b.tar.gz"]
    told = ["--hours", "0.2", "--profile", "paper", "--directory", "/data/run2", "--image", "a b.tar.gz"]
    assert make(folder, "reproduce", *words).splitlines() == ["reproduce", *told]
    told = ["--from", "x.zip", "--claims", "mine.yaml"]
    assert make(folder, "reproduce", "FROM=x.zip", "CLAIMS=mine.yaml").splitlines() == ["reproduce", *told]
    assert make(folder, "reproduce").splitlines() == ["reproduce"]


def test_every_folder_of_tests_is_run_once_and_those_of_clusters_and_the_guest_where_it_may_take_long(folder):
    """Tests that measure nothing and must run alone come after the others that measure nothing."""
    beside = "".join(make(folder, "--dry-run", group) for group in ("test-of-code", "test-of-users"))
    *_, alone, rest = make(folder, "--dry-run", "test").splitlines()
    longer = {"tests/cluster", "tests/guest"}
    there = {str(path.parent.relative_to(PROJECT)) for path in (PROJECT / "tests").glob("*/**/test_*.py")} - longer
    named = re.compile(r"\btests/\w+")
    assert sorted(named.findall(beside + rest)) == sorted(there)
    assert beside.count('-m "not alone and not long"') == beside.count('-m "not long"') == 1 and rest.split("pytest")[
        1
    ].startswith(' -m "not long" tests')
    # Tests that take long are run together with all the others, and only with LONG=1.
    (*_, rest) = make(folder, "--dry-run", "test", "LONG=1").splitlines()
    assert sorted(named.findall(beside + rest)) == sorted(there | longer) and "-m" not in rest.split("pytest")[1]
    assert named.findall(alone) == ["tests/dry", "tests/fuzz", "tests/unit"] and "-m alone" in alone
    quick = make(folder, "--dry-run", "test-units")
    assert named.findall(quick) == ["tests/unit"] and '-m "not alone and not long and not slow"' in quick

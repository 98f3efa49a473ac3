"""A feature is one folder and one line: without them all else works."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from plimsoll import features

from tests.conftest import PROJECT, REFERENCE, small, usual

FOLDERS = [one.folder for one in features.FEATURES]
# Prints the commands and the studies; and plans one of them for a machine that is given.
PLANNED = """
import json, sys

from plimsoll import designs
from plimsoll import __main__ as stages
from plimsoll.cli import groups
from plimsoll.config import configuration, studies
from plimsoll.planning import planner

print("commands", *(name for name in groups.names() if groups.function(name)))
stages._parser()
for name in studies.names(studies.STUDIES):
    print("studies", studies.load(name, designs.known())["id"])
study = studies.load("li2018", designs.known())
plan = planner.make(study, studies.profile("ci"), json.loads(sys.argv[1]), configuration.read([]), {})
print("cells", *plan["cells"])
"""
# Makes every table, verdict and page of a small study. Its figures are those of a folder, because drawing takes long.
MADE = """
import shutil, sys
from pathlib import Path

from plimsoll import designs
from plimsoll.config import studies
from tests import made_up
from tests.conftest import small

study = studies.load("li2018", designs.known())
Path("results/li2018").mkdir(parents=True)
made_up.write(Path("results/li2018"), study, made_up.plan_of(study, small()))
made_up.make(study, draw=lambda *_: shutil.copytree(sys.argv[1], "results/li2018/figures", dirs_exist_ok=True))
print("made", Path("results/li2018/report.html").stat().st_size)
"""


class Copy:
    """A copy of the project whose package is its own. All else is the project's."""

    def __init__(self, folder: Path):
        self.folder, self.package = folder, folder / "scripts/plimsoll"
        shutil.copytree(PROJECT / "scripts", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        for path in PROJECT.glob("[!.]*"):
            if path.name not in ("scripts", "results"):
                (folder / path.name).symlink_to(path)

    def leave_out(self, *names: str) -> None:
        """Delete the folders of features and their lines in the list."""
        for name in names:
            shutil.rmtree(self.package / "features" / name)
        listed = self.package / "features/__init__.py"
        lines = [line for line in listed.read_text().splitlines() if not line.startswith(tuple(map(a_line, names)))]
        listed.write_text("\n".join([*lines, ""]))

    def run(self, *words: str) -> str:
        """Return what Python prints. Fail if it ends with an error."""
        environment = os.environ | {"PYTHONPATH": f"{self.folder}/scripts:{self.folder}", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, *words], cwd=self.folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout


def a_line(name: str) -> str:
    """Return how the line of a feature begins."""
    return f'    Feature("{name}"'


@pytest.fixture
def copy(tmp_path) -> Copy:
    return Copy(tmp_path)


def told(output: str, kind: str) -> set[str]:
    return {word for line in output.splitlines() if line.startswith(f"{kind} ") for word in line.split()[1:]}


def test_each_feature_is_a_folder_and_a_line():
    text = (PROJECT / "scripts/plimsoll/features/__init__.py").read_text()
    listed = [line for line in text.splitlines() if line.startswith("    Feature(")]
    assert len(listed) == len(FOLDERS) and all(
        line.startswith(a_line(name)) for line, name in zip(listed, FOLDERS, strict=True)
    )
    there = {path.parent.name for path in (PROJECT / "scripts/plimsoll/features").glob("*/__init__.py")}
    assert there == set(FOLDERS)


@pytest.mark.parametrize("folder", usual(FOLDERS, ["time_budget", "archive", "compare"]))
def test_a_feature_can_be_left_out(folder, copy):
    copy.leave_out(folder)
    (one,) = (one for one in features.FEATURES if one.folder == folder)
    said = copy.run("-c", PLANNED, json.dumps(small()))
    commands = {name for other in features.FEATURES for name in other.commands}
    assert commands & told(said, "commands") == commands - one.commands.keys()
    assert told(said, "studies") == {path.stem for path in (PROJECT / "config/studies").glob("*.yaml")}
    assert told(said, "cells")
    assert f" {folder}." not in named(copy.package)


@pytest.mark.long
@pytest.mark.parametrize("folder", FOLDERS)
def test_pages_are_made_without_a_feature(folder, copy):
    copy.leave_out(folder)
    assert told(copy.run("-c", MADE, str(REFERENCE / "li2018/figures")), "made")


def test_all_features_can_be_left_out(copy):
    copy.leave_out(*FOLDERS)
    helped = copy.run("-m", "plimsoll.cli", "--help")
    gone = {name for one in features.FEATURES for name in one.commands}
    assert {"reproduce", "list", "show"} <= (there := set(re.findall(r"^  ([a-z-]+)  ", helped, re.MULTILINE)))
    assert not gone & there
    assert told(copy.run("-c", MADE, str(REFERENCE / "li2018/figures")), "made")


def named(package: Path) -> str:
    """Return every module of a feature that a string of the package names, such as that of a stage's code."""
    found = []
    for path in package.rglob("*.py"):
        strings = (node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
        found += [text for text in strings if isinstance(text, str) and re.fullmatch(r"features(\.\w+)+", text)]
    return "".join(f" {text.removeprefix('features.')}" for text in found)

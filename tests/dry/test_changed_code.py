"""What is computed is made again when its code changes, and nothing is measured again: dry runs after edits."""

import subprocess
import sys

import pytest

from tests.conftest import built
from tests.project import Project

STUDY = "plimsoll2026"
RUNTIMES = "runtimes={singularity: off, singularity-instance: off, singularity-cgroup: off, docker: optional}"
CONFIG = (f"studies={STUDY}", "profile=ci", "repetitions=2", RUNTIMES)
PACKAGE = "scripts/plimsoll"
TABLE = f"{PACKAGE}/designs/splitting/host_tables.py"
# Writes records of the plan that is in the working directory, all of them valid.
RECORDS = f"""
import json, os
from pathlib import Path
from plimsoll import designs
from plimsoll.config import studies
from tests import made_up

os.fsync = lambda number: None
made_up.FAILS = 10**9
folder = Path("results/{STUDY}")
made_up.write(folder, studies.load("{STUDY}", designs.known()), json.loads((folder / "plan.json").read_text()))
"""
# By what is edited: the edits (file, old text, new text), and the rules that run again.
EDITS = {
    "comments, and what only runs use": (
        [
            (f"{PACKAGE}/analysis/paper_tests.py", "def holm(", "# Another comment.\ndef holm("),
            (f"{PACKAGE}/measure.py", "INTERRUPTIONS = 3", "INTERRUPTIONS = 4"),
            (f"{PACKAGE}/measuring/strays.py", "import", "OTHER = 1\nimport"),
        ],
        set(),
    ),
    "a statistic, and what a table shows": (
        [
            (f"{PACKAGE}/analysis/paper_tests.py", 'method="holm"', 'method="bonf"'),
            (TABLE, 'request.read("environments")', "{}"),
        ],
        {"tests", "table", "claims", "sessions", "verdicts", "report"},
    ),
    "the style of the pages": (
        [(f"{PACKAGE}/pages/templates/style.css", "body {", "body { color: red;")],
        {"verdicts", "report"},
    ),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Project:
    """Return a project in which everything was made, from records that are made up."""
    study = built(STUDY)
    project = Project(tmp_path_factory.mktemp("changed"))
    with project.edited(f"config/studies/{STUDY}.yaml") as content:
        content["figures"] = dict(list(study["figures"].items())[:1])
    run(project, f"results/{STUDY}/plan.json")
    environment = {**project.environment, "PYTHONPATH": f"{project.folder}/scripts:{project.folder}"}
    subprocess.run([sys.executable, "-c", RECORDS], cwd=project.folder, env=environment, check=True)
    run(project, "all")
    return project


def run(project: Project, *targets: str) -> None:
    done = project.snakemake(*targets, config=CONFIG)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("edited", EDITS)
def test_what_is_made_again_if_code_changes(made, edited):
    edits, again = EDITS[edited]
    before = {file: (made.folder / file).read_text() for file, _, _ in edits}
    for file, old, new in edits:
        assert old in before[file]
        (made.folder / file).write_text(before[file].replace(old, new, 1))
    jobs = made.jobs("all", config=CONFIG)
    for file, text in before.items():
        (made.folder / file).write_text(text)
    assert set(jobs) - {"all"} == again

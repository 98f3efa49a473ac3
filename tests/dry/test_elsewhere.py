"""The workflow in another folder than the project's: by --directory, and as a module of another workflow."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import built
from tests.project import PROJECT, Project

STUDY, SETTINGS = "liu2020", Project.settings
# This figure needs no run, because one socket cannot measure what it shows.
DRAWN = "fig16"
# The same settings for a file. In --config, a nested value is a text.
OF_MODULE = {
    **{"profile": "ci", "repetitions": 1},
    "runtimes": dict.fromkeys(("singularity", "singularity-instance", "singularity-cgroup"), "off"),
}
# The documentation shows the module with this path of a clone. Tests put another path in its place.
DOCUMENTED, CLONE = PROJECT / "docs/how-to/module.md", "/path/to/plimsoll"


def snakemake(project: Project, folder: Path, *words: str, settings: tuple[str, ...] = SETTINGS) -> subprocess.CompletedProcess:
    """Run Snakemake in a folder, as a user does who was never in the project's folder."""
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *words, "--config", *settings]
    known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, timeout=600)


def files(folder: Path) -> set[str]:
    """Return the paths of the files below a folder, without what Python compiles."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


@pytest.fixture
def elsewhere(tmp_path) -> Path:
    built(STUDY)
    folder = tmp_path / "else where"
    folder.mkdir()
    return folder


@pytest.fixture
def untouched(project):
    """Check that nothing is written into the project."""
    before = files(project.folder)
    yield
    assert files(project.folder) == before


def counted(done: subprocess.CompletedProcess) -> dict[str, int]:
    """Return the rules that a dry run would run, each with its number of jobs."""
    assert done.returncode == 0, done.stderr
    rows = (line.rpartition(" ") for line in (done.stdout + done.stderr).splitlines())
    return {name.strip(): int(number) for name, _, number in rows if number.isdigit() and name.strip().isidentifier()}


def test_a_dry_run_elsewhere_has_the_same_jobs(project, elsewhere, untouched):
    named = ["--snakefile", str(project.folder / "Snakefile"), "--directory", str(elsewhere), "--dry-run", "all"]
    there = counted(snakemake(project, elsewhere.parent, *named))
    assert there == counted(snakemake(project, project.folder, "--directory", str(elsewhere), "--dry-run", "all"))
    assert there["measure"] > 50 and there["report"] == there["verdicts"] == 1
    assert not (elsewhere / "results").exists()


def test_the_catalog_s_snakefile_makes_everything_without_a_target(project):
    jobs = counted(snakemake(project, project.folder, "--snakefile", "workflow/Snakefile", "--dry-run"))
    assert jobs["measure"] > 50 and jobs["report"] == jobs["verdicts"] == jobs["reproduce"] == 1


def test_plan_and_figure_are_made_elsewhere_beside_what_is_there(project, elsewhere, untouched):
    """The notebook is the project's, and the commands name both folders."""
    kept = elsewhere / f"results/{STUDY}/runs/kept.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    wanted = [f"results/{STUDY}/plan.json", f"results/{STUDY}/figures/{DRAWN}.pdf"]
    named = ["--snakefile", str(project.folder / "Snakefile"), "--directory", elsewhere.name]
    done = snakemake(project, elsewhere.parent, *named, *wanted)
    assert done.returncode == 0, done.stderr
    assert all((elsewhere / name).stat().st_size > 500 for name in wanted)
    assert "the numa setting needs 2 sockets" in (elsewhere / f"results/{STUDY}/figures/{DRAWN}.txt").read_text()
    notebook = json.loads((elsewhere / f"results/{STUDY}/notebooks/{DRAWN}.ipynb").read_text())
    assert all(cell.get("execution_count") for cell in notebook["cells"] if cell["cell_type"] == "code")
    assert (elsewhere / ".snakemake/plimsoll.lock").exists() and kept.read_text() == "{}"
    # Everything exists, so that nothing is made again, whichever of the two folders Snakemake is called from.
    again = snakemake(project, elsewhere, "--snakefile", str(project.folder / "Snakefile"), "--dry-run", *wanted)
    assert again.returncode == 0 and "Nothing to be done" in again.stdout + again.stderr


def test_the_commands_work_elsewhere(project, elsewhere, untouched):
    plan = snakemake(project, elsewhere, "--snakefile", str(project.folder / "Snakefile"), f"results/{STUDY}/plan.json")
    assert plan.returncode == 0, plan.stderr
    command = [sys.executable, "-m", "plimsoll.cli"]
    for words, said in (
        (["list", "--profile", "ci"], f"It is of the folder {elsewhere}"),
        (["new-system"], "Nothing to put aside"),
    ):
        done = subprocess.run(
            [*command, *words, "--directory", str(elsewhere)],
            cwd=project.folder,
            env=project.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0 and said in " ".join(done.stdout.split()), done.stderr


def documented() -> str:
    """Return the workflow that has the project as a module, as docs/how-to/module.md shows it."""
    (snippet,) = re.findall(r"```python\n(module plimsoll:.*?)```", DOCUMENTED.read_text(), re.DOTALL)
    assert snippet.count(CLONE) == 1
    return snippet


def module(project: Project, folder: Path, **settings: object) -> list[str]:
    """Write the documented workflow into a folder, with settings of the module in its own configuration. Return further
    options for Snakemake."""
    (folder / "Snakefile").write_text(documented().replace(CLONE, str(project.folder)))
    (folder / "mine.yaml").write_text(yaml.safe_dump({"plimsoll": settings, "of_another_rule": 1}))
    return ["--workflow-profile", str(project.folder / "profiles/default"), "--configfile=mine.yaml"]


def test_a_local_clone_is_a_module(project, elsewhere, untouched):
    named = [*module(project, elsewhere, **OF_MODULE), "--dry-run", f"results/{STUDY}/report.html"]
    jobs = counted(snakemake(project, elsewhere, *named, settings=("mine=1",)))
    assert jobs["plimsoll_measure"] > 50 and jobs["plimsoll_report"] == 1


def test_what_onstart_does_is_done_where_the_importing_workflow_calls_it(project, elsewhere, untouched):
    """The plan is there before the first job and the folder is locked, whatever the importing workflow calls the rules."""
    wanted = f"results/{STUDY}/figures/{DRAWN}.pdf"
    done = snakemake(project, elsewhere, *module(project, elsewhere, **OF_MODULE), wanted, settings=("mine=1",))
    assert done.returncode == 0, done.stderr
    assert (elsewhere / wanted).exists() and (elsewhere / f"results/{STUDY}/plan.json").exists()
    assert (elsewhere / ".snakemake/plimsoll.lock").exists()


def test_a_module_s_configuration_says_what_is_different(project, elsewhere):
    """A file that it names may lie in the project."""
    named, host = ["--dry-run", "plimsoll_plan"], {"host_file": "config/hosts/xeon-e5-2697v4.yaml"}
    done = snakemake(project, elsewhere, *module(project, elsewhere, profile="ci", **host), *named, settings=("mine=1",))
    assert done.returncode == 0 and "(profile ci)" in done.stderr, done.stderr
    assert re.search(r"^ +granularity +numa ", done.stderr, re.MULTILINE), done.stderr
    done = snakemake(project, elsewhere, *module(project, elsewhere, profil="paper"), *named, settings=("mine=1",))
    assert done.returncode and "unknown key 'profil'" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.long
def test_the_names_of_a_module_s_rules_may_be_plimsoll_s_own(project, elsewhere, untouched):
    """The documentation says how: without `as`."""
    named = module(project, elsewhere, **OF_MODULE)
    path = elsewhere / "Snakefile"
    path.write_text(path.read_text().replace(" as plimsoll_*", ""))
    jobs = counted(snakemake(project, elsewhere, *named, "--dry-run", "all", settings=("mine=1",)))
    assert jobs["measure"] > 50 and jobs["report"] == 1

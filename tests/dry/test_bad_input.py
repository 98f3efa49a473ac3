"""Bad input gives one clear sentence and an exit status that is not 0, and touches nothing that was measured."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from plimsoll import designs, workflow
from plimsoll.claims import book
from plimsoll.config import configuration, studies
from plimsoll.errors import PlimsollError
from plimsoll.terminal import request

from tests import made_up
from tests.conftest import built, small, usual
from tests.project import PROJECT

OF_OTHERS = re.compile("; waiting for it[.]|^plimsoll: left over from a killed run")


def refused(done) -> str:
    """Return the one line that plimsoll printed. Lines about other tests do not count: one may have the machine, or
    have left something there."""
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if line.startswith("plimsoll: ") and not OF_OTHERS.search(line)]
    assert len(said) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return said[0]


def set_up(project, name: str, *words: str) -> subprocess.CompletedProcess:
    """Run a step of set-up in the project, which uses the Python environment of the tests."""
    environment = project.folder / ".venv"
    if not environment.is_symlink():
        environment.symlink_to(PROJECT / ".venv")
    starts = ["bash"] if name.endswith(".sh") else [environment / "bin/python"]
    command = [*starts, project.folder / "scripts/setup" / name, *words]
    return subprocess.run(command, env=project.environment, capture_output=True, text=True, timeout=60)


def changed(file: str, old: str, new: str, path: Path) -> Path:
    """Write a file of the project, with one text replaced by another, to a path, and return the path."""
    text = (PROJECT / file).read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("config/studies/liu2020.yaml", "alpha: 0.05", "alfa: 0.05", "unknown key 'alfa'"),
        pytest.param(
            *("config/claims/liu2020.yaml", "kind: trend", "kind: trendy", "'trendy' is not one of"), marks=pytest.mark.long
        ),
        (
            *("config/claims/liu2020.yaml", "runtime: [singularity]", "runtime: [singularityce]"),
            "'singularityce' is not a level of the study",
        ),
    ],
)
def test_a_file_that_cannot_be_used_stops_the_workflow(project, file, old, new, sentence):
    """Which files cannot be used is tested below, without the workflow."""
    path = project.folder / file
    text = path.read_text()
    changed(file, old, new, path)
    try:
        said = refused(project.snakemake("--dry-run", "all"))
    finally:
        path.write_text(text)
    assert file.removeprefix("config/") in said and sentence in said


# These are refused before anything is planned.
CONFIGURATIONS = [
    (("studies=liu2021",), "There is no study 'liu2021'"),
    (("runtimes={'sarus': 'required'}",), "There is no runtime 'sarus'"),
    (("runtimes={'docker': 'perhaps'}",), "runtimes.docker: 'perhaps' is not one of required, optional, off"),
    (("repetitions=five",), "repetitions: 'five' is not a whole number or null"),
    (("repetitions=0",), "repetitions: 0 is less than the minimum of 1"),
    (("sead=1",), " or --config: unknown key 'sead'"),
    (("host_file=config/hosts/none.yaml",), "config/hosts/none.yaml cannot be read: No such file or directory"),
    (("host_file=README.md",), "README.md, line "),
]
# These are refused while studies are planned. tests/unit/test_documents.py has the first sentence too.
PLANNED = [
    (("profile=slow",), "There is no profile 'slow'"),
    (("studies=jha2021", "runtimes={docker: off}"), "No cell is left of jha2021: every runtime that it needs is off"),
]


@pytest.mark.parametrize(("config", "sentence"), CONFIGURATIONS)
def test_configuration(config, sentence):
    with pytest.raises(PlimsollError) as refusal:
        workflow.prepare(configuration.read(list(config)))
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(("config", "sentence"), usual([*CONFIGURATIONS, *PLANNED], [CONFIGURATIONS[0], PLANNED[1]]))
def test_a_start_with_such_a_configuration_is_refused_and_leaves_no_temporary_folder(project, tmp_path, config, sentence):
    assert sentence in refused(project.snakemake("--dry-run", "all", config=config, TMPDIR=str(tmp_path)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("alpha: 0.05", "alfa: 0.05", "unknown key 'alfa'"),
        ("    affinity: [any]", "    affinity: [anywhere]", "'anywhere' is not one of"),
        ("processes: 16", "processes: 2.5", "factors.processes: 2.5 is not a whole number"),
        ("metrics: [randomring_bandwidth]}", "metrics: [ringing]}", "'ringing' is not one of"),
        ("uma: [any, cpumem]", "uma: [any, cpu]", "cpu is defined over 2 sockets, and uma has 1"),
        ("{chart: granularity,", "{chart: grain,", "'grain' is not one of"),
        ("bars: runtime", "bar: runtime", "figures.fig14: unknown key 'bar'"),
        ("alpha: 0.05", "alpha: [0.05", "not valid YAML"),
        (
            "baseline: {runtime: [bare], granularity",
            "baseline: {runtimes: [bare], granularity",
            "answer.baseline: 'runtimes' is not one of hardware, mode",
        ),
    ],
)
def test_study_file(tmp_path, old, new, sentence):
    path = changed("config/studies/liu2020.yaml", old, new, tmp_path / "liu2020.yaml")
    with pytest.raises(PlimsollError) as refusal:
        studies.read(path, designs.known())
    assert "liu2020.yaml" in str(refusal.value) and sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("kind: trend", "kind: trendy", "'trendy' is not one of"),
        ("runtime: [singularity]", "runtime: [singularityce]", "'singularityce' is not a level of the study"),
        (
            "relative_to: {granularity: [alone]}",
            "relative_to: {grains: [alone]}",
            "relative_to: 'grains' is not a factor of the study",
        ),
        ("id: liu2020-c02", "id: liu2020-c01", "the id liu2020-c01 belongs to two claims"),
        ("metrics: [beff_mpi_share]", "metrics: [beff_mpi_shar]", "liu2020-c01: metrics: 'beff_mpi_shar' is neither a metric"),
        ("[transport, pingpong_bandwidth]", "[transport, pingpong]", "liu2020-c21: metrics: 'pingpong' is neither a metric"),
        ("a: {metric: [ptrans_bandwidth]}", "a: {metric: [ptrans]}", "liu2020-c28: a.metric: 'ptrans' is neither a metric"),
    ],
)
def test_claims(tmp_path, monkeypatch, old, new, sentence):
    monkeypatch.setattr(book, "CLAIMS", tmp_path / "claims")
    book.CLAIMS.mkdir()
    changed("config/claims/liu2020.yaml", old, new, book.CLAIMS / "liu2020.yaml")
    with pytest.raises(PlimsollError) as refusal:
        book.check_against(built("liu2020"), book.load("liu2020"))
    assert "claims/liu2020.yaml" in str(refusal.value) and sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("studies: [liu2020\nseed: 1\n", "config/config.yaml, line 2: not valid YAML"),
        pytest.param("studies: liu2020\n\tseed: 1\n", "config/config.yaml, line 2: not valid YAML", marks=pytest.mark.long),
        pytest.param(
            "seed: 1\nseed: 2\n",
            "config/config.yaml, line 2: not valid YAML: the key 'seed' is given twice",
            marks=pytest.mark.long,
        ),
        pytest.param("[liu2020]\n", "config/config.yaml: it is not a mapping of keys to values", marks=pytest.mark.long),
        (None, "config/config.yaml cannot be read: No such file or directory"),
        ("studys: liu2020\n", "unknown key 'studys'"),
    ],
)
def test_a_configuration_that_cannot_be_used(project, text, sentence):
    path = project.folder / "config/config.yaml"
    there = path.read_text()
    try:
        path.unlink() if text is None else path.write_text(text)
        assert sentence in refused(project.snakemake("--dry-run", "all"))
        # Set-up reads the configuration before the workflow does. It must end there, with the sentence alone.
        for words in (("environments.sh",), ("packages.py", "images")):
            done = set_up(project, *words)
            assert sentence in refused(done) and not done.stdout and len(done.stderr.splitlines()) == 1
    finally:
        path.write_text(there)


def test_a_runtime_may_be_off_in_the_file(fresh):
    path = fresh.folder / "config/config.yaml"
    path.write_text(path.read_text().replace("docker-ptrace: required", "docker-ptrace: off"))
    assert fresh.snakemake("--dry-run", "plan", config=("profile=ci",)).returncode == 0


DOCKER_E2 = "uma/exact/E2/docker/any/default/standard/plain/beff"


NO_FIGURE = (
    "liu2020/figures/fig99.pdf",
    "liu2020 has no figure fig99 (did you mean fig39?); it has fig01, fig04 to fig40.",
)
NO_REPETITION = (
    f"liu2020/runs/{DOCKER_E2}/2.json",
    "the plan has the repetitions 1 to 1 of this cell; --config repetitions=2",
)
TARGETS = [
    NO_FIGURE,
    ("jha2021/figures/fig99.csv", "jha2021 has no figure fig99 (did you mean fig09?); it has fig05 to fig13, matrix."),
    ("liu2020/figures/fig09.svg", "Names of a figure end in "),
    ("liu2020/notebooks/fig99.ipynb", "liu2020 has no figure fig99"),
    ("liu2020/tables/table9.csv", "liu2020 has no table table9 (did you mean table06?); it has table01 to table06, tests."),
    ("liu2021/report.html", "there is no study 'liu2021'"),
    (f"liu2020/runs/{DOCKER_E2.replace('E2', 'E9')}/1.json", "the plan of liu2020 has no cell"),
    NO_REPETITION,
    (f"liu2020/runs/{DOCKER_E2.replace('docker', 'singularity-cgroup')}/1.json", "the plan of liu2020 has no cell"),
    (f"liu2020/runs/{DOCKER_E2}.json", "this is not the name of a record. Write runs/<cell>/<repetition>.json"),
]


@pytest.fixture(scope="module")
def planned() -> tuple[dict, dict]:
    """Return two studies and their plans with the settings of `Project`, by name."""
    loaded = {name: built(name) for name in ("liu2020", "jha2021")}
    off = ("singularity", "singularity-instance", "singularity-cgroup")
    return loaded, {name: made_up.plan_of(study, small(), blocks=1, off=off) for name, study in loaded.items()}


@pytest.mark.parametrize(("target", "sentence"), TARGETS)
def test_targets_that_there_are_not(planned, target, sentence):
    with pytest.raises(PlimsollError) as refusal:
        request.check([f"results/{target}"], *planned)
    assert sentence in str(refusal.value) and str(refusal.value).startswith(f"results/{target}: ")


@pytest.mark.parametrize(("target", "sentence"), usual(TARGETS, [NO_FIGURE, NO_REPETITION]))
def test_a_start_with_such_a_target_is_refused_in_one_sentence(project, target, sentence):
    done = project.snakemake("--dry-run", f"results/{target}")
    said = refused(done)
    assert sentence in said and said.startswith(f"plimsoll: results/{target}: ")
    # There is one sentence, and no plan before it.
    assert len(done.stderr.splitlines()) <= 2, done.stderr


def test_the_dry_run_of_a_figure_says_how_long_the_figure_takes(project):
    done = project.snakemake("--dry-run", "results/liu2020/figures/fig09.pdf")
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("results/liu2020/figures/fig09.pdf: ")]
    runs = re.search(r"^measure +(\d+)$", done.stdout + done.stderr, re.MULTILINE)[1]
    assert len(said) == 1 and f"pdf: {runs} runs of {runs} cells: about" in said[0], done.stderr
    assert "cells of several experiments once" not in done.stderr


def read_only(project, folder: str, *arguments: str) -> subprocess.CompletedProcess:
    """Run Snakemake in a project with a folder that cannot be written. Root may write everywhere, so for root the
    folder is mounted read-only."""
    words = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments, "--config", *project.settings]
    options = {"cwd": project.folder, "env": project.environment, "capture_output": True, "text": True, "timeout": 120}
    if os.geteuid() == 0:
        mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$PWD" && exec "$@"'
        return subprocess.run(["unshare", "--mount", "sh", "-c", mount, folder, *words], **options)
    path = project.folder / folder
    path.chmod(0o555)
    try:
        return subprocess.run(words, **options)
    finally:
        path.chmod(0o755)


@pytest.mark.parametrize(
    ("folder", "arguments", "sentence"),
    [
        ("results", ("all",), "results/ cannot be written ("),
        pytest.param(".", ("all",), "The project's folder cannot be written (", marks=pytest.mark.long),
        (".", ("--dry-run", "all"), "The project's folder cannot be written ("),
    ],
)
def test_folders_that_cannot_be_written(fresh, folder, arguments, sentence):
    assert sentence in refused(read_only(fresh, folder, *arguments))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--width", "abc", "--maximum", "4"), "The width 'abc' is not a number"),
        pytest.param(("--width", "-1", "--maximum", "4"), "The width must be above 0", marks=pytest.mark.long),
        pytest.param(("--width", "0.1", "--maximum", "x"), "The maximum 'x' is not a whole number", marks=pytest.mark.long),
        pytest.param(("--width", "0.1", "--maximum", "4", "liu2021"), "There is no study 'liu2021'", marks=pytest.mark.long),
        (("--width", "0.1", "--maximum", "4", "--config", "profile"), "'profile' is not a setting"),
    ],
)
def test_precise(project, arguments, sentence):
    done = subprocess.run(
        [sys.executable, "-m", "plimsoll.cli", "precise", *arguments],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert sentence in refused(done)


def test_a_required_runtime_that_does_not_work_stops_before_anything_is_measured(fresh):
    done = fresh.snakemake("results/liu2020/figures/fig06.pdf", DOCKER_HOST="unix:///nonexistent.sock")
    assert "docker" in refused(done).lower()
    assert fresh.files("results/liu2020/runs/**/*.json") == []


def test_an_optional_runtime_that_does_not_work_is_listed_with_the_reason(fresh):
    import json

    wishes = (
        "runtimes={'docker': 'optional', 'docker-ptrace': 'off', 'singularity-instance': 'off', 'singularity-cgroup': 'off'}"
    )
    done = fresh.snakemake("results/liu2020/plan.json", config=("profile=ci", wishes), DOCKER_HOST="unix:///nonexistent.sock")
    assert done.returncode == 0, done.stderr
    cells = json.loads((fresh.folder / "results/liu2020/plan.json").read_text())["cells"]
    reasons = {cell["reason"] for cell in cells.values() if cell["runtime"] == "docker" and cell["hardware"] == "uma"}
    assert len(reasons) == 1 and "docker" in reasons.pop()
    assert {cell["runtime"] for cell in cells.values() if cell["reason"] is None} == {"bare", "singularity"}


def test_the_plan_can_be_made_without_docker(fresh):
    empty = fresh.folder / "empty"
    empty.mkdir()
    done = fresh.snakemake("--dry-run", "all", PATH="/usr/bin:/bin", DOCKER_HOST="unix:///nonexistent.sock")
    assert done.returncode == 0, done.stderr
    assert "measure" in done.stdout + done.stderr


PAPER_HOST = ("profile=paper", "host_file=config/hosts/xeon-e5-2697v4.yaml")


def test_another_host_is_planned_for_but_not_measured(project):
    done = project.snakemake("--dry-run", "plan", config=PAPER_HOST)
    assert done.returncode == 0, done.stderr
    assert "22810 runs, 10 of each cell (profile paper)" in done.stderr and "2281 cells, about" in done.stderr
    assert "describes another host" in refused(project.snakemake("plan", config=("profile=ci", PAPER_HOST[1])))
    assert not project.files("results/*/runs/**/*.json")


def test_a_host_file_with_a_wrong_key_is_refused(fresh):
    path = fresh.folder / "config/hosts/xeon-e5-2697v4.yaml"
    path.write_text(path.read_text().replace("sockets: 2", "sokets: 2"))
    assert "sokets" in refused(fresh.snakemake("--dry-run", "plan", config=PAPER_HOST))

"""Bad input: one clear sentence, an exit status that is not 0, and nothing measured is touched."""

import time

import pytest


def refused(done) -> str:
    """The one line that plimsoll said."""
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if line.startswith("plimsoll: ")]
    assert len(said) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return said[0]


def refused_with(project, file: str, old: str, new: str) -> str:
    """What plimsoll said to a file of the project in which one text was replaced by another."""
    path = project.folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return refused(project.snakemake("--dry-run", "all"))


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (("studies=liu2021",), "There is no study 'liu2021'"),
        (("profile=slow",), "There is no profile 'slow'"),
        (("runtimes={'podman': 'required'}",), "There is no runtime 'podman'"),
        (
            ("runtimes={'docker': 'perhaps'}",),
            "runtimes.docker: 'perhaps' is not one of required, optional, off",
        ),
        (("repetitions=0",), "repetitions: 0 is less than the minimum of 1"),
        (("sead=1",), "unknown key 'sead'"),
        (("studies=jha2021", "runtimes={docker: off}"), "No cell is left of jha2021: every runtime that it needs is off"),
    ],
)
def test_configuration(project, config, sentence):
    assert sentence in refused(project.snakemake("--dry-run", "all", config=config))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("alpha: 0.05", "alfa: 0.05", "unknown key 'alfa'"),
        ("    affinity: [any]", "    affinity: [anywhere]", "'anywhere' is not one of"),
        ("processes: 16", "processes: 1.5", "factors.processes: 1.5 is not of type 'integer'"),
        ("metrics: [randomring_bandwidth]}", "metrics: [ringing]}", "'ringing' is not one of"),
        ("uma: [any, cpumem]", "uma: [any, cpu]", "cpu is defined over 2 sockets, and uma has 1"),
    ],
)
def test_study_file(fresh, old, new, sentence):
    said = refused_with(fresh, "config/studies/liu2020.yaml", old, new)
    assert "liu2020.yaml" in said and sentence in said


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("kind: trend", "kind: trendy", "'trendy' is not one of"),
        ("runtime: [singularity]", "runtime: [singularityce]", "singularityce is not a level of the study"),
        ("id: liu2020-c02", "id: liu2020-c01", "the id liu2020-c01 is given twice"),
    ],
)
def test_claims(fresh, old, new, sentence):
    said = refused_with(fresh, "config/claims/liu2020.yaml", old, new)
    assert "claims/liu2020.yaml" in said and sentence in said


def test_a_required_runtime_that_does_not_work_stops_before_anything_is_measured(fresh):
    done = fresh.snakemake("results/liu2020/figures/fig06.pdf", DOCKER_HOST="unix:///nonexistent.sock")
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if line.startswith("plimsoll: ")]
    assert len(said) == 1 and "Traceback" not in done.stderr, done.stderr
    assert "docker" in said[0].lower()
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
    begun = time.monotonic()
    done = project.snakemake("--dry-run", "plan", config=PAPER_HOST)
    assert done.returncode == 0, done.stderr
    assert "20900 runs, 10 of each cell (profile paper)" in done.stderr and "2090 cells, about" in done.stderr
    assert time.monotonic() - begun < 15
    assert "describes another host" in refused(project.snakemake("plan", config=PAPER_HOST))
    assert not project.files("results/*/runs/**/*.json")


def test_a_host_file_with_a_wrong_key_is_refused(fresh):
    path = fresh.folder / "config/hosts/xeon-e5-2697v4.yaml"
    path.write_text(path.read_text().replace("sockets: 2", "sokets: 2"))
    assert "sokets" in refused(fresh.snakemake("--dry-run", "plan", config=PAPER_HOST))

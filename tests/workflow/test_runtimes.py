"""Runtimes that never work or stop working, and targets whose runs do not count: a Docker client fails on purpose."""

import json
import os
import shutil

import pytest

from tests.project import RUNS

FIGURE, REPORT = "results/liu2020/figures/fig11.pdf", "results/liu2020/report.html"
ONE_NODE, TWO_NODES = "uma/exact/E1/docker", "uma/exact/E2/docker"
# The command with which Open MPI starts its daemon in a container.
DAEMON = "*exec*orted*"
TRIED = "results/images/hpcc.runtimes.json"


@pytest.fixture
def study(fresh):
    """liu2020 with G-FFT on bare metal, in one Docker container and in two, and its figure."""
    kept = {}
    with fresh.edited("config/studies/liu2020.yaml") as content:
        kept = content["figures"]["fig11"]
    levels = {"hardware": ["uma"], "mode": ["exact"], "runtime": ["bare", "docker"], "affinity": ["any"]}
    fresh.keep_experiment("granularity", "fft", **levels)
    with fresh.edited("config/studies/liu2020.yaml") as content:
        content["figures"] = {"fig11": kept}
    return fresh


def failing(project, what: str, when: str = "true") -> dict[str, str]:
    """Return variables with a Docker client that fails if its arguments match `what` and the command `when` succeeds."""
    folder = project.folder / "clients"
    folder.mkdir(exist_ok=True)
    script = f'#!/bin/sh\ncase "$*" in {what}) if {when}; then echo "it was made to fail" >&2; exit 9; fi ;; esac\n'
    (folder / "docker").write_text(f'{script}exec {shutil.which("docker")} "$@"\n')
    (folder / "docker").chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def settings(docker: str, repetitions: int) -> tuple[str, ...]:
    others = "docker-ptrace: off, singularity: off, singularity-instance: off, singularity-cgroup: off"
    return ("profile=ci", f"repetitions={repetitions}", f"runtimes={{docker: {docker}, {others}}}")


def records(project) -> list[dict]:
    return [json.loads((project.folder / path).read_text()) for path in project.files(RUNS)]


def cells(project) -> dict[str, dict]:
    return json.loads((project.folder / "results/liu2020/plan.json").read_text())["cells"]


def reasons(project) -> dict[str, str | None]:
    """Return the reasons of cells by hardware, mode, scheme and runtime."""
    return {"/".join(path.split("/")[:4]): cell["reason"] for path, cell in cells(project).items()}


def test_a_runtime_that_works_in_one_node_alone_is_measured_there_and_no_run_fails(study):
    client = failing(study, DAEMON)
    done = study.snakemake("measurements", config=settings("optional", 1), **client)
    assert done.returncode == 0, done.stderr
    assert "docker, several nodes does not work here, and is not measured: mpirun ended with" in done.stderr
    assert [one["status"] for one in records(study)] == ["valid"] * 2
    assert reasons(study) == {"uma/exact/E1/bare": None, ONE_NODE: None, TWO_NODES: reasons(study)[TWO_NODES]}
    assert "it was made to fail" in reasons(study)[TWO_NODES]
    # A trial leaves nothing, except if it failed.
    tried = study.files("results/liu2020/raw/**/0-*")
    assert tried and all(f"/{TWO_NODES}/" in path for path in tried)
    # The result is remembered, and the runtime is not tried again.
    assert "Nothing to be done" in study.snakemake("measurements", config=settings("optional", 1), **client).stderr
    # Another client counts as another system, so the runtime is tried again.
    failing(study, "nothing")
    done = study.snakemake("measurements", config=settings("optional", 1), **client)
    assert done.returncode == 0, done.stderr
    assert [one["status"] for one in records(study)] == ["valid"] * 3 and not any(reasons(study).values())


@pytest.mark.long
def test_a_required_runtime_that_does_not_work_in_several_nodes_stops_the_workflow_before_a_run(study):
    done = study.snakemake("measurements", config=settings("required", 1), **failing(study, DAEMON))
    assert done.returncode != 0 and not records(study)
    assert "Required runtimes do not work here: docker (several nodes: mpirun ended with" in done.stderr
    assert "it was made to fail" in done.stderr


@pytest.mark.long
def test_a_runtime_whose_first_runs_all_fail_alike_is_skipped_in_this_start_and_the_others_go_on(study):
    client = failing(study, "exec*", f"[ -e {study.folder / TRIED} ]")
    done = study.snakemake("all", config=settings("optional", 4), **client)
    assert done.returncode == 0, done.stderr
    for kind in ("one node", "several nodes"):
        said = f"plimsoll: liu2020: docker, {kind}: the first runs all failed alike: failed, mpirun ended with "
        assert done.stderr.count(said) == 1, done.stderr
    statuses = [one["status"] for one in records(study)]
    assert statuses.count("failed") == 6 and statuses.count("valid") == len(statuses) - 6 >= 4
    assert "Traceback" not in done.stderr + study.log() and "RuleException" not in done.stderr
    for scheme in (ONE_NODE, TWO_NODES):
        assert "the first runs all failed alike" in reasons(study)[scheme]
    assert "the first runs all failed alike" in (study.folder / REPORT).read_text()
    # The next start tries the runtime again, which is required now.
    done = study.snakemake("measurements", config=settings("required", 4), **client)
    assert done.returncode != 0
    assert "required runtimes do not work, and their runs were skipped in this start: docker, " in done.stderr
    failing(study, "nothing")
    done = study.snakemake("measurements", config=settings("required", 4), **client)
    assert done.returncode == 0, done.stderr
    assert not any(reasons(study).values())


def test_a_record_and_a_figure_whose_runs_all_fail_are_no_success(study):
    study.change("config/profiles/ci.yaml", "attempts: 3", "attempts: 1")
    client, asked = failing(study, "exec*", f"[ -e {study.folder / TRIED} ]"), settings("required", 1)
    done = study.snakemake(f"results/liu2020/runs/{ONE_NODE}/any/default/standard/plain/fft/1.json", config=asked, **client)
    said = "0 of 1 runs asked for count; the others do not: failed: mpirun ended with "
    assert done.returncode != 0 and said in done.stderr.splitlines()[-1], done.stderr
    assert [one["status"] for one in records(study)] == ["failed"]
    # The runs on bare metal count, so there is a picture.
    for _ in range(2):
        done = study.snakemake(FIGURE, config=asked, **client)
        last = done.stderr.splitlines()[-1]
        assert done.returncode != 0 and "runs asked for count; the others do not: failed: " in last, done.stderr
        assert (study.folder / FIGURE).is_file()
    # By now as many starts have tried them as the profile allows.
    assert {one.get("starts", 1) for one in records(study) if one["status"] == "failed"} == {2}

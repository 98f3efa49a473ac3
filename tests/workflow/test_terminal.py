"""Messages of every start on the terminal: what can be made, what is in progress, and the results."""

import re
import subprocess
import sys

import pytest

OFF = "docker-ptrace: off, singularity: off, singularity-instance: off, singularity-cgroup: off"
SETTINGS = ("profile=ci", "repetitions=1", f"runtimes={{{OFF}}}")
OPTIONS = [word for setting in SETTINGS for word in ("--config", setting)]


def stage(project, *arguments: str) -> subprocess.CompletedProcess:
    """Run a command, as a user types it."""
    return subprocess.run(
        [sys.executable, "-m", "plimsoll.cli", *arguments],
        cwd=project.folder,
        env={**project.environment, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_list_needs_no_engine_and_loads_nothing_slow(project):
    hanging = {**project.environment, "DOCKER_HOST": "unix:///nonexistent.sock", "PATH": "/usr/bin:/bin", "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "plimsoll.cli", "list", "all"],
        cwd=project.folder,
        env=hanging,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not re.findall(r"\| +(?:numpy|pandas|scipy|statsmodels|matplotlib|snakemake|jinja2)$", done.stderr, re.MULTILINE)
    assert re.search("^ +docker +missing +does not work: ", done.stdout, re.MULTILINE)
    for word in (
        "jha2018: ",
        "jha2021: ",
        "liu2020: ",
        "experiments",
        "instruments",
        "figures/fig09.pdf",
        "tables/table01.csv",
    ):
        assert word in done.stdout
    tables = [line for line in done.stdout.splitlines() if line.startswith("  ")]
    assert max(map(len, tables)) <= 80


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("list", "--profile", "slow"), "There is no profile 'slow'"),
        (("list", "liu2021"), "There is no study 'liu2021'"),
        (("list", "--config", "runtimes={podmann: optional}"), "There is no runtime 'podmann'"),
        (("list", "--config", "studies"), "'studies' is not a setting"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(project, arguments, sentence):
    done = stage(project, *arguments)
    assert done.returncode == 2 and done.stderr.startswith("plimsoll: ") and sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_start_ends_with_the_claims_and_so_does_one_with_nothing_to_do(fresh):
    fresh.keep_three_cells()
    assert "  seccomp      missing" in stage(fresh, "list", *OPTIONS).stdout
    done = fresh.snakemake("results/claims.html", config=SETTINGS)
    assert done.returncode == 0, done.stderr
    lines, log = done.stderr.splitlines(), fresh.log().splitlines()
    for begun in (
        "image hpcc: building it if it is not there",
        "runtimes: trying each of them",
        "verdicts: writing the pages",
    ):
        assert begun in log and begun not in lines
    # There are 126 claims. Claims that rest on the same comparisons are counted once.
    first = next(number for number, line in enumerate(lines) if re.match(r"liu2020: 12[0-6] claims: ", line))
    assert lines[-1] == "Read on: results/index.html, results/claims.html"
    assert first > lines.index("The log of all steps: results/logs/workflow.log")

    again = fresh.snakemake("results/claims.html", config=SETTINGS)
    assert again.returncode == 0 and "Nothing to be done" in again.stderr
    assert again.stderr.splitlines()[-1] == lines[-1]
    assert [line for line in again.stderr.splitlines() if " claims: " in line] == [lines[first]]

    # No other command ends with these lines.
    assert " claims: " not in fresh.snakemake("results/liu2020/runs.csv", config=SETTINGS).stderr
    assert "  seccomp      measured" in stage(fresh, "list", *OPTIONS).stdout

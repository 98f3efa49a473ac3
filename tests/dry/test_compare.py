"""The command that compares two result sets, as a user types it: the reference against itself with something changed."""

import shutil
import subprocess
import sys

import pandas as pd
import pytest

from tests.dry.test_bad_input import refused

STUDY = "amaral2015"
REFERENCE = f"results/reference/{STUDY}"


def compare(project, *words: str) -> subprocess.CompletedProcess:
    """Run the command in the project's folder."""
    return subprocess.run(
        [sys.executable, "-m", "plimsoll.cli", "compare", *words],
        cwd=project.folder,
        env={**project.environment, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=300,
    )


def made_slower(project, factor: float) -> str:
    """Copy the reference so that programs in Docker took `factor` times as long, and return the folder of the copy."""
    if not (project.folder / REFERENCE).is_dir():
        pytest.skip(f"{STUDY} was taken out")
    # An archive beside the tables would be read instead of them.
    for path in (project.folder / REFERENCE).glob("*.zip"):
        path.unlink()
    place = f"results/{STUDY}"
    shutil.copytree(project.folder / REFERENCE, project.folder / place, dirs_exist_ok=True)
    path = project.folder / place / "observations.csv"
    table = pd.read_csv(path, keep_default_na=False)
    table.loc[(table["metric"] == "execution_time") & (table["runtime"] == "docker"), "value"] *= factor
    table.to_csv(path, index=False)
    return place


def test_a_filter_that_came_back_is_found_in_the_evidence_of_the_docs(fresh):
    without, back = (f"docs/reports/evidence/plimsoll2026-{word}-seccomp.zip" for word in ("without", "with"))
    done = compare(fresh, without, back, "--out", "compared")
    assert done.returncode == 1, done.stderr
    worse = pd.read_csv(fresh.folder / "compared/compare.csv").query("answer == 'worse'")
    assert set(worse["runtime"]) == {"docker-shared"} and (worse["high"] < 0.5).all()
    told = " ".join(done.stdout.split())
    profiles = [f"name=seccomp,profile={name}" for name in ("/etc/docker/allow-all.json", "default")]
    assert f"docker-shared, security: {profiles[0]} in A, {profiles[1]} in B" in told


@pytest.mark.long
def test_nothing_is_found_in_the_evidence_of_the_docs_without_a_change(fresh):
    without = "docs/reports/evidence/plimsoll2026-without-seccomp.zip"
    assert compare(fresh, without, without, "--out", "same").returncode == 0


def test_what_is_slower_ends_with_1(fresh):
    slower = made_slower(fresh, 1.3)
    there = set(fresh.files("results/**/*"))
    done = compare(fresh, REFERENCE, slower)
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1].endswith("comparisons are worse in B (exit 1)")
    assert "+30 % [" in done.stdout and not done.stderr
    out = f"results/compare/reference-{STUDY}-{STUDY}"
    files = {
        f"{out}/compare{end}"
        for end in (".csv", ".html", ".json", ".junit.xml", *(f"-{STUDY}.{e}" for e in ("csv", "pdf", "png")))
    }
    assert set(fresh.files("results/**/*")) - there == {"results/compare", out, *files}
    rows = pd.read_csv(fresh.folder / out / "compare.csv")
    assert set(rows.loc[rows["answer"] == "worse", "runtime"]) == {"docker"}


@pytest.mark.long
def test_what_is_faster_ends_with_0(fresh):
    back = compare(fresh, made_slower(fresh, 1.3), REFERENCE)
    assert back.returncode == 0 and "Nothing is worse in B" in back.stdout and "  better  " in back.stdout


def test_what_cannot_be_compared_ends_with_2(project):
    for words, sentence in (
        (("results/reference", "results/none"), "results/none: there is no such folder or archive."),
        (("config", "config"), "config holds no results"),
        (("results/reference/li2018", "results/reference/jha2018"), "A has li2018 and B has jha2018"),
    ):
        done = compare(project, *words)
        assert done.returncode == 2 and sentence in refused(done)
    # Only references that are archives were unpacked, for the comparison.
    assert set(project.files("results/compare/*")) <= {"results/compare/archives"}

"""A kind of study is one folder: without it, the rest can be planned and passes its tests."""

import re
import shutil
import subprocess
import sys

import pytest
import yaml

from tests.conftest import PROJECT


def studies_of(design: str) -> list[str]:
    files = (PROJECT / "config/studies").glob("*.yaml")
    return [path.stem for path in files if yaml.safe_load(path.read_text())["design"] == design]


# Tests with one of these names look at whichever studies are there. Any other test can only name what was removed, and
# loading the tests finds that.
LOOKING = re.compile(r"studies\.names|load_all")
# These tests look at one study after the other, and take minutes. Without a design they only have fewer studies.
LONG = {
    *("test_pages_of_studies.py", "test_worlds.py", "test_charts.py", "test_archives.py", "test_compare.py"),
    *("test_partial_results.py", "test_answer_in_time.py"),
}


def pytest_in(fresh, *arguments) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=fresh.folder,
        env=fresh.environment,
        capture_output=True,
        text=True,
        timeout=900,
    )


@pytest.mark.long
def test_a_design_can_be_taken_out(fresh):
    shutil.rmtree(fresh.folder / "scripts/plimsoll/designs/interference")
    for name in studies_of("interference"):
        (fresh.folder / f"config/studies/{name}.yaml").unlink()
    for path in (fresh.folder / "tests").rglob("test_interference*.py"):
        path.unlink()
    planned = fresh.snakemake("--dry-run", "all")
    assert planned.returncode == 0, planned.stderr
    assert "liu2020: " in planned.stderr and "jha" not in planned.stderr
    loaded = pytest_in(fresh, "--collect-only", "tests")
    assert loaded.returncode == 0, loaded.stdout[-3000:]
    looking = [path for path in sorted((fresh.folder / "tests/unit").glob("*.py")) if LOOKING.search(path.read_text())]
    looking = [path for path in looking if path.name not in LONG]
    assert len(looking) > 5
    done = pytest_in(fresh, "-n", "2", *(str(path.relative_to(fresh.folder)) for path in looking))
    assert done.returncode == 0, done.stdout[-3000:]
    skipped = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert " passed" in done.stdout and all("was taken out" in line for line in skipped)

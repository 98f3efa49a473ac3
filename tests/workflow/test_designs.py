"""A kind of study is one folder: without it, the rest plans and passes its tests."""

import shutil
import subprocess
import sys

import yaml

from tests.conftest import PROJECT


def studies_of(design: str) -> list[str]:
    files = (PROJECT / "config/studies").glob("*.yaml")
    return [path.stem for path in files if yaml.safe_load(path.read_text())["design"] == design]


def test_a_design_can_be_taken_out(fresh):
    shutil.rmtree(fresh.folder / "scripts/plimsoll/designs/interference")
    for name in studies_of("interference"):
        (fresh.folder / f"config/studies/{name}.yaml").unlink()
    for path in (fresh.folder / "tests").rglob("test_interference*.py"):
        path.unlink()
    planned = fresh.snakemake("--dry-run", "all")
    assert planned.returncode == 0, planned.stderr
    assert "liu2020: " in planned.stderr and "jha" not in planned.stderr
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "tests/unit"],
        cwd=fresh.folder,
        env=fresh.environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    skipped = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert " passed" in done.stdout and all("was taken out" in line for line in skipped)

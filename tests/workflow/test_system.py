"""A study that was measured before an upgrade: nothing is pooled, nothing is lost, and a message says what to do."""

import json
import subprocess
import sys

from tests.project import BARE_AND_DOCKER, RUNS

SETTINGS = ("profile=ci", "repetitions=1", BARE_AND_DOCKER)


def test_runs_before_and_after_an_upgrade_are_kept_apart(fresh):
    fresh.keep_three_cells()
    done = fresh.snakemake("measurements", config=SETTINGS)
    assert done.returncode == 0, done.stderr
    before = {path: (fresh.folder / path).read_text() for path in fresh.files(RUNS)}
    note = fresh.folder / "results/liu2020/system.json"
    noted = json.loads(note.read_text())
    assert {json.loads(text)["system"] for text in before.values()} == set(noted["identities"].values())

    # As if the kernel had been upgraded after the measurements.
    noted["parts"]["this host"]["kernel"] = "5.0 of last year"
    noted["seen"]["boot"] = "last year"
    note.write_text(json.dumps(noted))
    deleted, *kept = before
    (fresh.folder / deleted).unlink()
    done = fresh.snakemake("measurements", config=SETTINGS)
    assert done.returncode == 1
    assert "plimsoll: liu2020 was measured on another system (kernel: 5.0 of last year then, " in done.stderr
    assert "./plimsoll new-system" in done.stderr
    assert {path: (fresh.folder / path).read_text() for path in fresh.files(RUNS)} == {path: before[path] for path in kept}

    told = subprocess.run(
        [sys.executable, "-m", "plimsoll.cli", "new-system"],
        cwd=fresh.folder,
        env=fresh.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    (aside,) = (fresh.folder / "results/systems").glob("*/liu2020")
    assert f"What liu2020 has measured is now in {aside.relative_to(fresh.folder)}." in told.stdout
    done = fresh.snakemake("measurements", config=SETTINGS)
    assert done.returncode == 0, done.stderr
    assert len(fresh.files(RUNS)) == len(before)
    for path in kept:
        assert (aside / path.removeprefix("results/liu2020/")).read_text() == before[path]
        assert (fresh.folder / path).read_text() != before[path]

"""Only what is missing is measured: what a dry run of amaral2015 would do when records are there, and when one is deleted."""

import json
import re

import pytest

from tests.conftest import built

STUDY = "amaral2015"
# Machines are looked for by booting one, which is not for a test that measures nothing.
CONFIG = (f"studies={STUDY}", "profile=ci", "runtimes={vm: off, vm-emulated: off, docker-open-vswitch: off}")
DELETED = "creation/docker-nested/1/1"


@pytest.fixture
def measured(fresh):
    """A project with a record of each run, and the plan."""
    built(STUDY)
    done = fresh.snakemake(f"results/{STUDY}/plan.json", config=CONFIG)
    assert done.returncode == 0, done.stderr
    plan = json.loads((fresh.folder / f"results/{STUDY}/plan.json").read_text())
    for cell, repetition in plan["order"]:
        found = {"format": 1, "study": STUDY, "cell": {}, "repetition": repetition, "status": "valid", "attempts": 1}
        found["fingerprint"] = plan["cells"][cell]["fingerprint"]
        path = fresh.folder / f"results/{STUDY}/runs/{cell}/{repetition}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1) + "\n")
    return fresh, plan


def test_a_deleted_record_is_the_only_run_that_is_measured_again(measured):
    project, plan = measured
    assert len(plan["order"]) > 20 and [DELETED, 1] in plan["order"]
    assert "measure" not in project.jobs("all", config=CONFIG)
    (project.folder / f"results/{STUDY}/runs/{DELETED}/1.json").unlink()
    # Without the profile's wish, Snakemake names each job.
    done = project.snakemake("--dry-run", "all", "--quiet", "host", config=CONFIG)
    assert done.returncode == 0, done.stderr
    runs = re.findall(rf"wildcards: study={STUDY}, run=(\S+)", done.stdout + done.stderr)
    assert runs == [f"{DELETED}/1"]

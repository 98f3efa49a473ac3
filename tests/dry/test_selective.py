"""Only missing runs are measured: a dry run of amaral2015 when all records are there, and when one is deleted."""

import json
import re

import pytest

from tests.conftest import built

STUDY = "amaral2015"
# To find out if virtual machines work, one is booted. A test that measures nothing should not do that.
CONFIG = (f"studies={STUDY}", "profile=ci", "runtimes={vm: off, vm-emulated: off, docker-open-vswitch: off}")
DELETED = "creation/docker-nested/1/1"


@pytest.fixture
def measured(fresh):
    """Return a project with a record of each run, and the plan."""
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
    # The profile silences the list of jobs. This option has Snakemake name each job.
    done = project.snakemake("--dry-run", "all", "--quiet", "host", config=CONFIG)
    assert done.returncode == 0, done.stderr
    runs = re.findall(rf"wildcards: study={STUDY}, run=(\S+)", done.stdout + done.stderr)
    assert runs == [f"{DELETED}/1"]

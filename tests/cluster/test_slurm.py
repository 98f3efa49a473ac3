"""Two nodes of a real Slurm: one job each, which goes on where the first stopped and leaves nothing behind when it dies."""

import json
import os
import signal
import subprocess
import time

import pandas as pd
import pytest

from tests import pages
from tests.cluster import slurm
from tests.cluster.conftest import JUDGED, left_behind

# Slurm without a database knows of a job's end by squeue alone. Both nodes are this machine, so they take turns.
BY_SLURM = (
    *("--profile", "profiles/slurm", "--jobs", "1"),
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2"),
)


@pytest.fixture(scope="module")
def measured(cluster, known):
    """Both nodes, measured by one submission."""
    cluster.configure(hosts=list(slurm.NODES), minutes=60, compare=False)
    code, said = cluster.submit(*BY_SLURM, known=known)
    assert code == 0, (said, *map(cluster.log, slurm.NODES))
    return said


def test_each_host_is_one_job_that_has_its_whole_node(cluster, known, measured):
    for node in slurm.NODES:
        found = json.loads((cluster.folder / f"hosts/{node}/done.json").read_text())
        (start,) = found["starts"]
        assert found["host"] == start["node"] == node and found["studies"] == ["liu2020"]
        shown = subprocess.run(["scontrol", "show", "job", start["job"]], env=known, capture_output=True, text=True).stdout
        assert f"NodeList={node}\n" in shown and "JobState=COMPLETED" in shown
        assert f"NumCPUs={slurm.CPUS} " in shown and "OverSubscribe=NO" in shown
        assert cluster.records(node) and (cluster.folder / f"hosts/{node}/{JUDGED}").exists()
    # The images are written once, and nothing of a host lies in another folder.
    assert measured.count("images: writing") == 1
    assert not (cluster.folder / "results/liu2020").exists()


def test_the_job_s_environment_is_not_the_measurement_s(cluster, known, measured):
    """Every command line and every rank's own report: no launcher or slot of Slurm's."""
    for node in slurm.NODES:
        for path in (cluster.folder / f"hosts/{node}/results/liu2020/raw").rglob("*"):
            if path.is_file() and path.suffix in (".json", ".txt", ".log"):
                assert "SLURM_" not in path.read_text(errors="replace"), path


def test_the_findings_of_the_hosts_stand_beside_each_other(cluster, measured):
    page = pages.check((cluster.folder / "hosts/findings.html").read_text(), cluster.folder / "hosts")
    heads = [head.get_text() for head in page.find(id="liu2020").find_next("table").thead.find_all("th")]
    assert heads == ["finding", "the paper", "reference", *slurm.NODES]
    assert set(pd.read_csv(cluster.folder / "hosts/findings.csv")["host"]) == {"reference", *slurm.NODES}


def test_a_second_submission_has_nothing_to_do(cluster, known, measured):
    code, said = cluster.submit(*BY_SLURM, known=known)
    assert code == 0 and "Nothing to be done" in said and not slurm.jobs(known)


@pytest.fixture
def measuring(cluster, known, measured):
    """n1 is submitted again without most of its records, and has begun to measure: the records that stayed, and the number of
    the job."""
    assert left_behind() == []
    (cluster.folder / "hosts/n1/done.json").unlink()
    there = sorted(cluster.records("n1"))
    for name in there[len(there) // 4 :]:
        (cluster.folder / "hosts/n1" / name).unlink()
    kept = cluster.records("n1")
    submitted = cluster.start(*BY_SLURM, "hosts/n1/done.json", known=known)
    try:
        end = time.monotonic() + 600
        while len(cluster.records("n1")) == len(kept):
            assert time.monotonic() < end and submitted.poll() is None, cluster.log("n1")
            time.sleep(0.1)
        (job,) = slurm.jobs(known)
        yield kept, job
    finally:
        # As if the login node had gone: Slurm's jobs do not end with it.
        os.killpg(submitted.pid, signal.SIGKILL)
        submitted.communicate()


def ends_and_goes_on(cluster, known, kept: dict[str, int]) -> None:
    """The job is over and has left nothing; the next submission ends what was begun, and measures nothing again."""
    slurm.wait_until_over(known)
    assert left_behind() == [] and not (cluster.folder / "hosts/n1/done.json").exists()
    there = cluster.records("n1")
    code, said = cluster.submit(*BY_SLURM, "hosts/n1/done.json", known=known)
    assert code == 0, (said, cluster.log("n1"))
    after = cluster.records("n1")
    assert len(after) > len(there) >= len(kept) and {name: after[name] for name in there} == there
    assert left_behind() == []


@pytest.mark.parametrize("how", [(), ("--full", "--signal=KILL")])
def test_a_cancelled_job_leaves_nothing_behind_and_is_gone_on_with(cluster, known, measuring, how):
    kept, job = measuring
    subprocess.run(["scancel", *how, job], env=known, check=True)
    ends_and_goes_on(cluster, known, kept)
    assert "n1: ended from outside; what was measured is kept." in cluster.log("n1")


def test_a_killed_measurement_leaves_nothing_behind_and_is_gone_on_with(cluster, known, measuring):
    """SIGKILL for what measures, as by the kernel for want of memory: what is left of the job sweeps after it."""
    kept, _ = measuring
    mine = f"\0--directory\0{cluster.folder}/hosts/n1\0".encode()
    inner = [int(number) for number in os.listdir("/proc") if number.isdigit() and mine in command_of(number)]
    assert inner
    for number in inner:
        os.killpg(number, signal.SIGKILL)
    ends_and_goes_on(cluster, known, kept)


def command_of(number: str) -> bytes:
    try:
        with open(f"/proc/{number}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""

"""Two nodes of a real Slurm, one job each: a job goes on where the first one stopped, and leaves nothing when it is killed."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from tests import pages
from tests.cluster import slurm
from tests.cluster.conftest import JUDGED, Cluster, containers, left_behind, settings
from tests.project import PLUGIN, PROJECT

# Without a database, Slurm shows the end of a job only by squeue. Both nodes are this machine, so they take turns.
BY_SLURM = (
    *("--profile", "profiles/slurm", "--jobs", "1"),
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2"),
)

ENDED = "n1: ended from outside; what was measured is kept.\n"


def as_usual(cluster) -> None:
    cluster.configure(hosts=list(slurm.NODES), settings=settings("docker"), minutes=60)


@pytest.fixture(scope="module")
def measured(cluster, known):
    """Measure both nodes by one submission, and return its output."""
    as_usual(cluster)
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
    """No command line and no rank's own report has a launcher or a slot of Slurm."""
    for node in slurm.NODES:
        for path in (cluster.folder / f"hosts/{node}/results/liu2020/raw").rglob("*"):
            if path.is_file() and path.suffix in (".json", ".txt", ".log"):
                assert "SLURM_" not in path.read_text(errors="replace"), path


def test_the_findings_of_the_hosts_stand_beside_each_other(cluster, measured):
    page = pages.check((cluster.folder / "hosts/findings.html").read_text(), cluster.folder / "hosts")
    heads = [head.get_text() for head in page.find(id="liu2020").find_next("table").thead.find_all("th")]
    assert heads == ["claim", "the paper", "reference", *slurm.NODES]
    # The hosts are also compared cell by cell, and the page leads there.
    (link,) = page.select('a[href^="compare/"]')
    assert (cluster.folder / "hosts" / link["href"]).is_file() and link["href"] == "compare/n1--n2/compare.html"
    assert set(pd.read_csv(cluster.folder / "hosts/findings.csv")["host"]) == {"reference", *slurm.NODES}


def test_a_second_submission_has_nothing_to_do(cluster, known, measured):
    code, said = cluster.submit(*BY_SLURM, known=known)
    assert code == 0 and "Nothing to be done" in said and not slurm.jobs(known)


def test_one_node_is_measured_by_a_job_that_a_user_submits(cluster, known, measured):
    """The command is that of docs/how-to/cluster.md, with the images and the settings of this cluster. All runs are there."""
    (line,) = re.findall(r"^sbatch .*$", (PROJECT / "docs/how-to/cluster.md").read_text(), re.MULTILINE)
    program, *options, script = shlex.split(line)
    here = {
        "plimsoll-images.tar.gz": "hosts/images.tar.gz",
        "--hours 1 studies=liu2020": shlex.join(["--target", JUDGED, *settings("docker")]),
    }
    for usual, own in here.items():
        assert usual in script
        script = script.replace(usual, own)
    mark, before = cluster.folder / "hosts/n1/done.json", cluster.records("n1")
    mark.unlink()
    environment = {**known, "PATH": f"{Path(sys.executable).parent}:{known['PATH']}"}
    submitted = [program, "--wait", "--output", "submitted.log", *options, script]
    done = subprocess.run(submitted, cwd=cluster.folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (done.stderr, (cluster.folder / "submitted.log").read_text())
    assert mark.exists() and cluster.records("n1") == before


@pytest.fixture
def measuring(cluster, known, measured):
    """Submit n1 again without most of its records, and wait until it measures.

    Return the records that stayed, and the number of the job.
    """
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
    finally:
        # As if the login node were gone, so that it does not hold the folder. Slurm's jobs do not end with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(submitted.pid, signal.SIGKILL)
        submitted.communicate()
    return kept, job


def ends(cluster, known, left: bool = False) -> None:
    """Wait until the job is over. Check that it left nothing, or containers if `left`."""
    slurm.wait_until_over(known)
    assert bool(containers()) == bool(left_behind()) == left
    assert not (cluster.folder / "hosts/n1/done.json").exists()


def goes_on(cluster, known, kept: dict[str, int]) -> None:
    """Check that the next submission completes what was begun, and measures nothing again."""
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
    ends(cluster, known)
    assert ENDED in cluster.log("n1")
    goes_on(cluster, known, kept)


def test_a_killed_measurement_leaves_nothing_behind_and_is_gone_on_with(cluster, known, measuring):
    """The measuring processes get SIGKILL, as from the kernel for lack of memory. The rest of the job sweeps after them."""
    kept, _ = measuring
    mine = f"\0--directory\0{cluster.folder}/hosts/n1\0".encode()
    inner = [int(number) for number in os.listdir("/proc") if number.isdigit() and mine in command_of(number)]
    assert inner
    for number in inner:
        os.killpg(number, signal.SIGKILL)
    ends(cluster, known)
    goes_on(cluster, known, kept)


@pytest.mark.parametrize("swept", [True, False], ids=["swept by Slurm", "swept by the next job"])
def test_containers_of_a_job_that_was_killed_at_once_are_removed(cluster, known, measuring, swept):
    """All processes of a job are killed at once, so no part of it can clean up.

    The containers are removed by the script that the docs have for Slurm's Epilog, and otherwise by the next job.
    """
    kept, job = measuring
    place = Path(known["SLURM_CONF"]).parent
    if swept:
        slurm.at_each_end(place, of_the_docs(cluster.folder, place))
    try:
        while not containers():
            assert slurm.jobs(known), cluster.log("n1")
        killed = slurm.processes(job)
        assert killed
        for number in killed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGSTOP)
        assert containers()
        for number in killed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        ends(cluster, known, left=not swept)
        goes_on(cluster, known, kept)
    finally:
        slurm.at_each_end(place, slurm.NOTHING)


def test_a_job_whose_time_is_over_leaves_nothing_behind_and_is_gone_on_with(cluster, known, measured):
    """The job requests four minutes, and Slurm signals it two or three minutes before they are over."""
    (cluster.folder / "hosts/n1/done.json").unlink()
    before = cluster.log("n1").count(ENDED)
    try:
        cluster.configure(hosts=list(slurm.NODES), settings=settings("docker", repetitions=200), minutes=4)
        code, said = cluster.submit(*BY_SLURM, "hosts/n1/done.json", known=known)
        assert code != 0 and "Traceback" not in said, said
        ends(cluster, known)
        assert cluster.log("n1").count(ENDED) == before + 1, cluster.log("n1")
        kept = cluster.records("n1")
        more = 1 + max(int(Path(name).stem) for name in kept)
        cluster.configure(hosts=list(slurm.NODES), settings=settings("docker", repetitions=more), minutes=60)
        goes_on(cluster, known, kept)
    finally:
        as_usual(cluster)


@pytest.fixture
def of_a_user(new_user, known):
    """(cluster, environment variables) of a user of the group docker, with an empty home and the user's own Python
    environment."""
    user = new_user("slurm", "docker", prepared=False)
    folder = user.home / "cluster"
    cluster = Cluster(folder, tuple(user.become), str(folder / ".venv/bin/python"))
    shutil.copytree(PLUGIN, user.home / "plugin")
    cluster.configure(hosts=["n1"], settings=settings("docker", "singularity"), minutes=60)
    user.own(user.home)
    programs = {"PATH": f"{folder}/.venv/bin:{known['PATH']}", "PYTHONPATH": str(user.home / "plugin")}
    given = {**user.environment, **programs, "SLURM_CONF": known["SLURM_CONF"]}
    set_up = [*user.become, "bash", "scripts/setup/python.sh"]
    done = subprocess.run(set_up, cwd=folder, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return cluster, given


def test_a_user_without_root_measures_by_a_job(of_a_user, cluster, measured):
    own, known = of_a_user
    code, said = own.submit(*BY_SLURM, known=known)
    assert code == 0, (said, own.log("n1"))
    found = json.loads((own.folder / "hosts/n1/done.json").read_text())
    assert found["host"] == found["starts"][0]["node"] == "n1" and (own.folder / f"hosts/n1/{JUDGED}").exists()
    records = [json.loads((own.folder / "hosts/n1" / name).read_text()) for name in own.records("n1")]
    # The user has measured what root did, and more.
    assert set(own.records("n1")) > set(cluster.records("n1"))
    assert {one["status"] for one in records} == {"valid"}, [one["reason"] for one in records]
    assert {one["cell"]["runtime"] for one in records} == {"bare", "docker", "singularity"}
    assert {path.owner() for path in (own.folder / "hosts").rglob("*")} == {own.folder.owner()}
    assert containers() == []


def of_the_docs(folder: Path, place: Path) -> str:
    """Return the Epilog of docs/how-to/cluster.md for the project in `folder` and this Python. It keeps things in `place`."""
    (script,) = re.findall(
        r"```sh\n(#!/bin/sh\n# slurm.conf: Epilog=.*?)```", (PROJECT / "docs/how-to/cluster.md").read_text(), re.DOTALL
    )
    usual = {
        "/path/to/plimsoll/.venv/bin/python": f"env PYTHONPATH={folder / 'scripts'} {sys.executable}",
        "/var/tmp/plimsoll": str(place / "swept"),
    }
    for old, new in usual.items():
        assert old in script
        script = script.replace(old, new)
    return script


def command_of(number: str) -> bytes:
    try:
        with open(f"/proc/{number}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""

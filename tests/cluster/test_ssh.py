"""A machine that ssh reaches: the project goes there, the results come back, and a broken connection is made again."""

import hashlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pandas as pd
import psutil
import pytest
from plimsoll.host import machine_lock

from tests.cluster.conftest import JUDGED, containers, left_behind, settings
from tests.conftest import PROJECT
from tests.containers import another

NAME, OTHER = "far", "farther"


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """Environment variables with an `ssh` that reaches the other machine."""
    if os.geteuid():
        pytest.skip("a namespace of its own needs root")
    if reason := another.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("ssh")
    with another.another(folder) as words:
        (folder / "bin").mkdir()
        (folder / "bin/ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} {" ".join(words[1:])} "$@"\n')
        (folder / "bin/ssh").chmod(0o755)
        yield {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def there(tmp_path_factory) -> Path:
    """Folder that holds the folders of both hosts. Each has a Python environment that is set up already."""
    folder = tmp_path_factory.mktemp("there")
    stamp = b"".join((PROJECT / name).read_bytes() for name in ("requirements.lock", "pyproject.toml"))
    for host in (NAME, OTHER):
        environment = folder / host / "project/.venv"
        environment.mkdir(parents=True)
        for name in ("bin", "lib", "pyvenv.cfg"):
            (environment / name).symlink_to(Path(sys.prefix) / name)
        (environment / ".plimsoll-lock").write_text(f"{hashlib.sha256(stamp).hexdigest()}\n")
    return folder


def host(there: Path, name: str) -> dict[str, str]:
    """Return the configuration of a host."""
    return {"name": name, "ssh": another.NAME, "folder": str(there)}


def measuring(cluster, known, runs: Path, count: int = 1):
    """Start a measurement, wait until the host has `count` records of runs, and return the caller's process."""
    process = cluster.start("--cores", "1", known=known)
    end = time.monotonic() + 600
    while len(list(runs.rglob("*.json"))) < count:
        assert time.monotonic() < end and process.poll() is None, (cluster.log(NAME), process.poll())
        time.sleep(0.1)
    return process


def sessions() -> list[int]:
    """Return the processes that hold connections to the server there: each of its children is one connection."""
    servers = {one.pid for one in psutil.process_iter(["cmdline"]) if serves(one.info["cmdline"])}
    return [one.pid for one in psutil.process_iter(["ppid"]) if one.info["ppid"] in servers]


def serves(words: list[str] | None) -> bool:
    return bool(words) and words[0].endswith("dropbear") and words[-1].endswith(f":{another.PORT}")


@pytest.fixture
def alone():
    """Hold the lock of this machine. The other machine is the same one, but has a lock of its own."""
    with machine_lock.hold(lambda holder: None):
        yield


def test_a_broken_connection_is_taken_up_again(cluster, known, there, alone):
    cluster.configure(hosts=[host(there, NAME)], settings=settings("docker"))
    runs = there / NAME / "work/results/liu2020/runs"
    process = measuring(cluster, known, runs)
    try:
        first = {path: path.stat().st_mtime_ns for path in runs.rglob("*.json")}
        for number in sessions():
            os.kill(number, signal.SIGKILL)
        said, _ = process.communicate(timeout=1500)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, (said, cluster.log(NAME))
    log = cluster.log(NAME)
    assert f"plimsoll: The connection to {NAME} broke. Trying again.\n" in log
    # Earlier records are unchanged, all records are here, and nothing is left on the machine.
    assert {path: path.stat().st_mtime_ns for path in first} == first
    assert set(cluster.records(NAME)) == {str(path.relative_to(there / NAME / "work")) for path in runs.rglob("*.json")}
    found = json.loads((cluster.folder / f"hosts/{NAME}/done.json").read_text())
    assert len(found["starts"]) == 2 and found["studies"] == ["liu2020"]
    assert (cluster.folder / f"hosts/{NAME}/{JUDGED}").exists() and (cluster.folder / "hosts/findings.html").exists()
    assert left_behind() == []


def test_a_second_start_has_nothing_to_do(cluster, known):
    code, said = cluster.submit("--cores", "1", known=known)
    assert code == 0 and "Nothing to be done" in said


def test_a_host_whose_caller_was_killed_ends_within_a_minute_and_is_gone_on_with(cluster, known, there, alone):
    runs = there / NAME / "work/results/liu2020/runs"
    before = len(list(runs.rglob("*.json")))
    (cluster.folder / f"hosts/{NAME}/done.json").unlink()
    cluster.configure(hosts=[host(there, NAME)], settings=settings("docker", repetitions=40))
    process = measuring(cluster, known, runs, before + 1)
    end = time.monotonic() + 60
    while not containers():
        assert time.monotonic() < end and process.poll() is None, cluster.log(NAME)
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    killed = time.monotonic()
    process.communicate()
    while left_behind() or sessions():
        assert time.monotonic() - killed < 90, (left_behind(), sessions())
        time.sleep(0.5)
    # The host heard nothing for a minute, or noticed that the connection was gone. Then it ended what it had begun.
    kept = {path: path.stat().st_mtime_ns for path in runs.rglob("*.json")}
    more = 1 + max(int(path.stem) for path in kept)
    assert more < 40
    cluster.configure(hosts=[host(there, NAME)], settings=settings("docker", repetitions=more))
    code, said = cluster.submit("--cores", "1", known=known)
    assert code == 0, (said, cluster.log(NAME))
    assert {path: path.stat().st_mtime_ns for path in kept} == kept and len(list(runs.rglob("*.json"))) > len(kept)
    assert left_behind() == []


def test_two_hosts_are_measured_by_one_call_and_stand_beside_each_other(cluster, known, there, alone):
    """Both hosts are one machine, whose lock lets one of them measure at a time."""
    shutil.rmtree(cluster.folder / "hosts")
    for name in (NAME, OTHER):
        shutil.rmtree(there / name / "work", ignore_errors=True)
    cluster.configure(hosts=[host(there, name) for name in (NAME, OTHER)], settings=settings("docker", repetitions=2))
    code, said = cluster.submit("--cores", "2", known=known)
    assert code == 0, (said, cluster.log(NAME), cluster.log(OTHER))
    assert set(cluster.records(NAME)) == set(cluster.records(OTHER)) != set()
    records = [json.loads((cluster.folder / "hosts" / NAME / name).read_text()) for name in cluster.records(NAME)]
    assert {one["cell"]["runtime"] for one in records} == {"bare", "docker"}
    waited = [name for name in (NAME, OTHER) if "another workflow is measuring on this machine" in cluster.log(name)]
    assert waited, (cluster.log(NAME), cluster.log(OTHER))
    assert set(pd.read_csv(cluster.folder / "hosts/findings.csv")["host"]) == {"reference", NAME, OTHER}
    assert (cluster.folder / f"hosts/compare/{NAME}--{OTHER}/compare.html").exists()
    assert left_behind() == []

"""A machine that ssh reaches: the project goes there, the results come back, and a broken connection is taken up again."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
from plimsoll.host import machine_lock

from tests.cluster.conftest import JUDGED, left_behind
from tests.conftest import PROJECT
from tests.containers import another

NAME = "far"


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The environment of an ssh that reaches it, and its folder there."""
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
    """The host's folder, with a Python that is set up already."""
    folder = tmp_path_factory.mktemp("there")
    environment = folder / NAME / "project/.venv"
    environment.mkdir(parents=True)
    for name in ("bin", "lib", "pyvenv.cfg"):
        (environment / name).symlink_to(Path(sys.prefix) / name)
    stamp = b"".join((PROJECT / name).read_bytes() for name in ("requirements.lock", "pyproject.toml"))
    (environment / ".plimsoll-lock").write_text(f"{hashlib.sha256(stamp).hexdigest()}\n")
    return folder


def sessions() -> list[int]:
    """What holds the connections to the server there: its children, each of which is one connection."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"dropbear") and parent_of(int(folder.name)) in servers():
                found.append(int(folder.name))
    return found


def servers() -> set[int]:
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"dropbear") and f"{another.THERE}:{another.PORT}".encode() in words:
                found.add(int(folder.name))
    return found


def parent_of(number: int) -> int:
    return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.fixture
def alone():
    """The lock of this machine, which the other one is: it has a lock of its own."""
    with machine_lock.held(lambda holder: None):
        yield


def test_a_broken_connection_is_taken_up_again(cluster, known, there, alone):
    cluster.configure(hosts=[{"name": NAME, "ssh": another.NAME, "folder": str(there)}])
    runs = there / NAME / "work/results/liu2020/runs"
    process = cluster.start("--cores", "1", known=known)
    try:
        end = time.monotonic() + 600
        while not list(runs.rglob("*.json")):
            assert time.monotonic() < end and process.poll() is None, (cluster.log(NAME), process.poll())
            time.sleep(0.1)
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
    # What was measured before is what is here, and nothing is left on the machine.
    assert {path: path.stat().st_mtime_ns for path in first} == first
    assert set(cluster.records(NAME)) == {str(path.relative_to(there / NAME / "work")) for path in runs.rglob("*.json")}
    found = json.loads((cluster.folder / f"hosts/{NAME}/done.json").read_text())
    assert len(found["starts"]) == 2 and found["studies"] == ["liu2020"]
    assert (cluster.folder / f"hosts/{NAME}/{JUDGED}").exists() and (cluster.folder / "hosts/findings.html").exists()
    assert left_behind() == []


def test_a_second_start_has_nothing_to_do(cluster, known):
    code, said = cluster.submit("--cores", "1", known=known)
    assert code == 0 and "Nothing to be done" in said

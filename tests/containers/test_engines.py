"""Engines with settings that other sites have: second engines on a machine within this one, and Podman as `docker`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from plimsoll import runtimes
from plimsoll.errors import Unavailable
from plimsoll.host import cgroup
from plimsoll.runtimes import docker
from plimsoll.runtimes.base import LABEL, Spec

from tests.conftest import PROJECT
from tests.containers import engines
from tests.workflow import machine

# Settings of a site: one cgroup for all containers, its own limits, and no logs in the engine.
SITE = {
    "cgroup-parent": "/plimsoll-test/site/containers",
    "default-ulimits": {"nofile": {"Name": "nofile", "Soft": 1024, "Hard": 4096}},
    "log-driver": "none",
    "no-new-privileges": True,
    "icc": False,
}
MAPPED = {"userns-remap": engines.MAPPED.partition(":")[0]}
# Tries runtimes, and prints the results by name.
TRIES = """
import json, sys
from plimsoll.runtimes import isolation
wishes = dict.fromkeys(sys.argv[2:], "optional")
trying = isolation.Trying(json.load(open(sys.argv[1])), lambda image: None, lambda name: {}, lambda environment: {})
print(json.dumps(isolation.try_all(wishes, trying)))
"""
RUNTIMES = ("docker", "docker-host-network", "docker-shared")


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A machine within this one that has its own engine."""
    if reason := machine.missing():
        pytest.skip(reason)
    host = engines.Machine(tmp_path_factory.mktemp("machine"))
    try:
        yield host
    finally:
        host.remove()
        cgroup.remove("plimsoll-test")


def tried(host, workspace) -> dict[str, dict]:
    """Try RUNTIMES there, and return the results by name."""
    done = host.python("-c", TRIES, str(workspace.image_path), *RUNTIMES)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return json.loads(done.stdout)


def measured(host, workspace, runtime: str) -> dict:
    """Measure a run over two containers there, and return its record. The time limit is long, as this machine may be busy."""
    path = f"uma/exact/E2/{runtime}/any/default/standard/plain/beff"
    workspace.plan["limits"].update(attempts=1)
    workspace.plan["cells"][path]["time_limit_seconds"] = 300.0
    (workspace.folder / "plan.json").write_text(json.dumps(workspace.plan))
    return host.measure(workspace.folder, workspace.image_path, path)


def is_its_own(found: dict) -> bool:
    """Return whether the ranks' processor time counted as the run's. The ranks take some seconds, the launcher 0.2."""
    return found["noise"]["during"]["own_seconds"] > 1.0


@pytest.mark.parametrize(
    "settings", [pytest.param(SITE, marks=pytest.mark.long), MAPPED], ids=["cgroup-parent", "userns-remap"]
)
def test_an_engine_with_a_site_s_settings_is_measured_like_any_other(host, workspace, image, settings):
    with host.engine(image, **settings):
        seen = tried(host, workspace)
        assert [name for name, one in seen.items() if not one["works"]] == [], seen
        labelled = ["userns-remap" in one["version"] for one in seen.values()]
        assert labelled == [settings is MAPPED] * len(RUNTIMES)
        found = measured(host, workspace, RUNTIMES[0])
        assert found["status"] == "valid", found["reason"]
        assert is_its_own(found)
        assert host.run("docker", "ps", "--all", "--quiet") == ""


def test_what_a_killed_run_left_below_a_cgroup_parent_is_removed(host, workspace, image):
    """After a container's shim was killed, only a sweep removes the container's cgroups."""
    started = [
        "run",
        "--detach",
        "--label",
        f"{LABEL}={os.geteuid()}",
        "--name",
        f"{LABEL}-left-c0",
        image["id"],
        "sleep",
        "99",
    ]
    with host.engine(image, **SITE):
        identity = host.run("docker", *started).strip()
        assert len(groups_of(identity)) == len(cgroup.hierarchies())
        # The shim has the identity of its container in its command line.
        host.run("pkill", "-KILL", "--full", f"^[^ ]*containerd-shim.*{identity}")
        sweeps = "from plimsoll import runtimes; runtimes.find('docker').sweep()"
        assert host.python("-c", sweeps).returncode == 0
        assert groups_of(identity) == [] and host.run("docker", "ps", "--all", "--quiet") == ""


def groups_of(identity: str) -> list[Path]:
    return [path for root in cgroup.hierarchies() for path in cgroup.groups_named(identity, root)]


def test_a_container_that_is_no_process_of_this_host_is_refused(image, working, tmp_path, monkeypatch):
    """Docker Desktop has such containers, and so has an engine on another machine. Here the cgroup is looked for in a
    wrong place."""
    working("docker")
    monkeypatch.setattr(cgroup, "mounts", lambda: {"unified": tmp_path})
    with pytest.raises(Unavailable, match="no cgroup of this host is that of its container .*on another machine"):
        runtimes.find("docker").start([Spec("apart", f"{LABEL}-apart-c0", image, tmp_path)])
    assert runtimes.find("docker").left() == []


# The script of Debian's package podman-docker.
PODMAN_DOCKER = """#!/bin/sh
[ -e /etc/containers/nodocker ] || \\
echo "Emulate Docker CLI using podman. Create /etc/containers/nodocker to quiet msg." >&2
exec {podman} "$@"
"""


@pytest.fixture
def podman_as_docker(working, tmp_path_factory, monkeypatch) -> Path:
    """Make `docker` be Podman. Its folder is not the test's usual one, because PATH is split at colons."""
    working("podman")
    client = tmp_path_factory.mktemp("podman") / "bin/docker"
    client.parent.mkdir()
    client.write_text(PODMAN_DOCKER.format(podman="/usr/bin/podman"))
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(client.parent), prepend=os.pathsep)
    return client


def test_podman_that_is_called_docker_is_named(podman_as_docker):
    sentence = "this `docker` is Podman; use the runtime podman"
    for name in ("docker", "docker-host-network", "docker-nested"):
        with pytest.raises(Unavailable) as refused:
            runtimes.find(name).check()
        assert str(refused.value) == sentence
    # Set-up does not start Docker's engine instead.
    assert not docker.is_ours()
    done = subprocess.run(["bash", str(PROJECT / "scripts/setup/docker.sh")], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("setup: this `docker` is Podman: use the runtime podman")
    # Images are built by Podman under its own name.
    words = "from plimsoll.images import client; print(*client.command())"
    path = {**os.environ, "PYTHONPATH": str(PROJECT / "scripts")}
    assert subprocess.run([sys.executable, "-c", words], env=path, capture_output=True, text=True).stdout.startswith("podman ")


def test_podman_s_service_behind_docker_s_client_is_named(working, tmp_path_factory, monkeypatch):
    working("docker", "podman")
    # An address must have no blanks, so the test's usual folder cannot be used.
    tmp_path = tmp_path_factory.mktemp("podman")
    where = f"unix://{tmp_path}/podman.sock"
    service = subprocess.Popen(["podman", "system", "service", "--time", "0", where])
    try:
        subprocess.run(["sh", "-c", f"until [ -S {tmp_path}/podman.sock ]; do sleep 0.05; done"], timeout=20, check=True)
        monkeypatch.setenv("DOCKER_HOST", where)
        with pytest.raises(Unavailable, match="this `docker` is Podman; use the runtime podman"):
            runtimes.find("docker").check()
    finally:
        service.terminate()
        service.wait()

"""Environment variables of a run: of the user's, only those that say where things are."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from plimsoll import paths, run_repair
from plimsoll.errors import Outage
from plimsoll.host import variables
from plimsoll.measuring import lock
from plimsoll.measuring.attempt import Run
from plimsoll.runtimes import docker, mounts

CONTEXT = {
    "Name": "own",
    "Metadata": {},
    "Endpoints": {"docker": {"Host": "unix:///run/user/7/docker.sock", "SkipTLSVerify": False}},
}
needs_docker = pytest.mark.skipif(not shutil.which("docker"), reason="docker is not installed")


@pytest.fixture
def configuration(tmp_path):
    """Return the folder of a configuration of Docker's client that has a context, and uses it."""
    noted = tmp_path / ".docker/contexts/meta" / hashlib.sha256(b"own").hexdigest() / "meta.json"
    noted.parent.mkdir(parents=True)
    noted.write_text(json.dumps(CONTEXT))
    (tmp_path / ".docker/config.json").write_text(json.dumps({"currentContext": "own"}))
    return tmp_path / ".docker"


def test_a_run_s_variables_are_made_from_nothing(tmp_path):
    given = {
        "HOME": "/home/me",
        "OMPI_MCA_btl": "tcp",
        "APPTAINER_BIND": "/x",
        "LANG": "de_DE",
        "PATH": "/bin",
        "SSH_AUTH_SOCK": "/s",
    }
    assert variables.of_run(given | {"PLIMSOLL_PREFIX": "/p"}, tmp_path) == {
        "HOME": str(tmp_path / "home"),
        "LANG": "C.UTF-8",
        "PATH": "/bin",
        "PLIMSOLL_IMAGES": str(paths.image_store()),
        "PLIMSOLL_PREFIX": "/p",
        "SSH_AUTH_SOCK": "/s",
    }


def test_what_a_run_starts_has_them_and_nothing_else_and_what_comes_later_has_the_user_s(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANTED", "x")
    before = dict(os.environ)
    with lock.run("a", tmp_path):
        said = subprocess.run(["env", "--null"], capture_output=True, text=True, check=True).stdout
        seen = dict(entry.split("=", 1) for entry in said.split("\0") if entry)
        home = Path(seen["HOME"])
        assert list(home.iterdir()) == []
        (home / ".left").touch()
    # Readline, which pytest loads, sets these two without Python's knowledge.
    assert seen.keys() - {"COLUMNS", "LINES"} == {*variables.of_run(before, tmp_path), lock.VARIABLE}
    assert dict(os.environ) == before and not home.exists()


def test_the_store_stays_where_it_is_in_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for name in ("PLIMSOLL_IMAGES", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    before = paths.image_store()
    with lock.run("a", tmp_path):
        assert paths.image_store() == before


@pytest.mark.parametrize(
    ("given", "host"),
    [
        ({}, ""),
        ({"DOCKER_HOST": "tcp://one:2375", "DOCKER_CONTEXT": "own"}, "tcp://one:2375"),
        ({"DOCKER_CONTEXT": "default"}, ""),
        pytest.param({"DOCKER_CONTEXT": "own"}, "unix:///run/user/7/docker.sock", marks=needs_docker),
        pytest.param({"HOME": "configured"}, "unix:///run/user/7/docker.sock", marks=needs_docker),
        pytest.param(
            {"DOCKER_CONFIG": "configured/.docker", "HOME": "/nowhere"}, "unix:///run/user/7/docker.sock", marks=needs_docker
        ),
        pytest.param({"HOME": "configured", "DOCKER_CONTEXT": "unknown"}, "", marks=needs_docker),
    ],
)
def test_the_engine_is_the_one_that_the_user_has_chosen(configuration, given, host):
    home = str(configuration.parent)
    given = {name: value.replace("configured", home) for name, value in given.items()}
    if given.get("DOCKER_CONTEXT") == "own":
        given["HOME"] = home
    assert variables.docker_host({"PATH": os.environ["PATH"], **given}) == host
    assert variables.of_run(given, configuration).get("DOCKER_HOST", "") == host


@needs_docker
def test_an_engine_that_a_context_names_is_not_ours_to_start(configuration, monkeypatch):
    monkeypatch.setattr(docker.os, "geteuid", lambda: 0)
    monkeypatch.setattr(docker.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("HOME", "/nowhere")
    assert docker.is_ours()
    monkeypatch.setenv("HOME", str(configuration.parent))
    assert not docker.is_ours()


def test_a_mount_takes_any_path():
    assert mounts.bind("/a", "/b", "readonly") == ["--mount", "type=bind,source=/a,target=/b,readonly"]
    assert mounts.bind('/a, "b":c', "/d") == ["--mount", 'type=bind,"source=/a, ""b"":c",target=/d']


def test_what_a_run_needs_is_examined_without_the_user_s_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_DEFAULT_PLATFORM", "linux/planted")
    monkeypatch.setattr(run_repair, "examine", lambda run: seen.append(dict(os.environ)))
    monkeypatch.setattr(run_repair.lock, "sweep", lambda runtimes: None)
    monkeypatch.setattr(run_repair.system, "note", lambda folder, runtimes: None)
    monkeypatch.setattr(run_repair, "resources_of", lambda run: [])
    seen = []
    run_repair.repair(Run({}, {}, 1, tmp_path, {}), Outage("a container ended", "find out what stopped it"))
    assert len(seen) == 1 and "DOCKER_DEFAULT_PLATFORM" not in seen[0] and seen[0]["HOME"] == str(tmp_path / "home")
    assert os.environ["DOCKER_DEFAULT_PLATFORM"] == "linux/planted"

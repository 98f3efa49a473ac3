"""Containers get no more than their runtimes say: options of the engines, and the table for readers."""

import ast
from itertools import pairwise

import pytest
from plimsoll import runtimes
from plimsoll.runtimes import docker_nested
from plimsoll.runtimes.docker_nested import PARENTS
from plimsoll.runtimes.engine import Engine
from plimsoll.runtimes.privileges import ENGINES as DEFAULTS

from tests.conftest import PROJECT
from tests.privileges import ROWS, table

# Options by which an engine gives a container more than by default.
SHARED_WITH_HOST = [(option, "host") for option in ("--ipc", "--pid", "--uts", "--userns", "--cgroupns")]
ENGINES = [name for name, one in runtimes.known().items() if isinstance(one, Engine) and not one.nested]


def test_the_page_has_the_table():
    page = "docs/explanation/security.md"
    assert table() in (PROJECT / page).read_text(), f"{page} should have:\n{table()}"


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_asked_for_nothing_more(name):
    runtime, said = runtimes.find(name), ROWS[name]
    assert [f"CAP_{one}" for one in runtime.capabilities] == list(said.added)
    # Podman's options depend on the limits of this machine, so they are not evaluated.
    options = type(runtime).__dict__.get("options", ()) if name.startswith("podman") else runtime.options
    words = list(options) if isinstance(options, tuple) else []
    shared = {option.lstrip("-").removesuffix("ns") for option, value in pairwise(words) if (option, value) in SHARED_WITH_HOST}
    if runtime.network.name == "host":
        shared.add("net")
    assert shared == set(said.shares) - ({"user"} if name.startswith("podman") else set())
    assert not {"--security-opt", "--volume", "--device", "--mount"} & set(words)


def test_a_parent_is_asked_for_what_is_said():
    said = ROWS["docker-nested (parent)"]
    assert {f"CAP_{one}" for one in PARENTS.capabilities} == set(said.added)
    assert docker_nested.GIVEN["capabilities"] == set(said.added)
    assert "seccomp=unconfined" in PARENTS.options and not said.seccomp
    assert ("apparmor=unconfined" in PARENTS.options) != said.apparmor
    assert not docker_nested.USUAL["capabilities"] and docker_nested.USUAL["seccomp"] == "on"
    volumes = {value.rpartition(":")[2] for option, value in pairwise(PARENTS.options) if option == "--volume"}
    assert volumes == set(said.mounts) - {"FOLDER"}
    held = {*DEFAULTS["docker"], *said.added}
    assert held == set(docker_nested.CAPABILITIES.values())


def test_no_container_is_privileged_or_has_a_device():
    for path in sorted((PROJECT / "scripts/plimsoll").rglob("*.py")):
        words = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
        assert not [word for word in words if isinstance(word, str) and word.split("=")[0] in ("--privileged", "--device")], (
            path
        )

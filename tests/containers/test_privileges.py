"""The privileges of a running node, seen from inside, are those that its runtime says.

test_nested.py looks at the engine in a container and its children. A virtual machine has its own kernel.
"""

import os
import shutil

import pytest
from plimsoll import runtimes
from plimsoll.measuring import lock
from plimsoll.runtimes.base import LABEL, Spec
from plimsoll.runtimes.commands import output

from tests.privileges import LOOKING, ROWS, compare, told

# Rootless Podman is for users other than root: tests/users runs it.
NAMES = [name for name in ROWS if name in runtimes.known() and not name.startswith("vm") and name != "podman-rootless"]


@pytest.fixture
def seen(image, working):
    """Return a function that gives what a runtime's node sees, what this process sees, and the node's folder."""

    def look(name: str):
        working(name)
        runtime, identity = runtimes.find(name), f"may{os.getpid()}"
        folder = lock.temporary_folder(identity)
        try:
            with lock.run(identity, folder):
                nodes = runtime.start([Spec(identity, f"{LABEL}-{identity}-c0", image, folder)])
                try:
                    inside = told(output(nodes[0].inside(["sh", "-c", LOOKING])))
                finally:
                    runtime.stop(nodes)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return inside, told(output(["sh", "-c", LOOKING])), str(folder)

    return look


@pytest.mark.skipif(os.geteuid() != 0, reason="the table is root's")
@pytest.mark.parametrize("name", NAMES)
def test_a_node_may_do_what_the_table_says_and_no_more(seen, name):
    inside, host, folder = seen(name)
    compare(name, inside, host, {"FOLDER": folder, "CWD": os.getcwd()})


@pytest.mark.parametrize("runtime", ["docker", "podman"])
def test_a_run_needs_no_capability_and_no_gain(workspace, working, monkeypatch, runtime):
    """By default an engine gives a container more than that."""
    working(runtime)
    found, without = runtimes.find(runtime), ("--cap-drop", "ALL", "--security-opt", "no-new-privileges")
    monkeypatch.setattr(found, "options", (*found.options, *without))
    found = workspace.run(f"uma/exact/E2/{runtime}/any/default/standard/plain/beff")
    assert found["status"] == "valid", found["reason"]

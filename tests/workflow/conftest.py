"""The workflow as a user runs it, with real containers. It measures, so one test runs after the other."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from plimsoll.images import builder, store

from tests.project import BARE_AND_DOCKER, RUNS
from tests.workflow import machine

SETTINGS = ("profile=ci", "repetitions=3", BARE_AND_DOCKER)


class Study:
    """A small study in a copy of the project, on its own machine."""

    def __init__(self, project, host: machine.Machine, tag: str):
        self.project, self.host, self.tag, self.settings = project, host, tag, SETTINGS
        project.keep_three_cells()

    def start(self, *more: str, **environment: str) -> subprocess.Popen:
        return subprocess.Popen(
            self.host.enter(*self.project.command("measurements", *more, config=self.settings), folder=self.project.folder),
            env={**self.project.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def make(self, target: str) -> subprocess.CompletedProcess:
        """Make a target, and wait for its end; all output is in `stdout`."""
        return self.run(*self.project.command(target, "--cores", "all", config=self.settings)[1:])

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        """Run this Python with these arguments, and wait for its end; all output is in `stdout`."""
        return subprocess.run(
            self.host.enter(sys.executable, *arguments, folder=self.project.folder),
            env=self.project.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=400,
        )

    def records(self) -> list[dict]:
        return [json.loads((self.project.folder / path).read_text()) for path in self.project.files(RUNS)]

    def wait_for(self, count: int, process: subprocess.Popen) -> None:
        """Wait until there are `count` records and another run has containers up."""
        end = time.monotonic() + 240
        while len(self.project.files(RUNS)) < count:
            assert time.monotonic() < end and process.poll() is None, process.stdout.read()
            time.sleep(0.02)
        self.host.wait_for_container()

    def planned(self) -> int:
        return len(json.loads((self.project.folder / "results/liu2020/plan.json").read_text())["order"])


@pytest.fixture(scope="session")
def apart(tmp_path_factory):
    """A machine within this one, for the tests of a session."""
    if reason := machine.missing():
        pytest.skip(reason)
    host = machine.Machine(tmp_path_factory.mktemp("machine"))
    try:
        yield host
    finally:
        host.remove()


@pytest.fixture
def study(fresh, apart):
    """A small study on its own machine. Whatever happened to its engine, it answers, runs no container and has the image."""
    image = builder.build("hpcc", "bootstrap")
    apart.ask("pkill", "-CONT", "-x", "dockerd")
    apart.start_engine()
    apart.run("sh", "-c", "docker ps --all --quiet | xargs --no-run-if-empty docker rm --force")
    if apart.ask("docker", "image", "inspect", image["id"]).returncode:
        apart.run("docker", "load", "--quiet", "--input", str(store.folder_of(image) / store.ARCHIVE))
    return Study(fresh, apart, image["tag"])


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.workflow)

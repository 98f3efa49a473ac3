"""Real containers: the runtimes that work here, the image, and runs of a tiny HPC Challenge through the workflow's own code."""

import contextlib
import copy
import functools
import json
import os
import pickle
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from plimsoll import environments, measure
from plimsoll.config import studies
from plimsoll.designs.splitting.factors import SplittingRecord
from plimsoll.environments.base import LABEL
from plimsoll.errors import Unavailable
from plimsoll.host import cgroup, inventory, machine_lock, processes
from plimsoll.images import builder
from plimsoll.interchange import Image
from plimsoll.measuring import lock, record
from plimsoll.planning import planner

from tests.conftest import PROJECT, built, commands, unlike

# What is left in the host's shared memory of ranks of ours that were killed, and of containers that several shared.
SEGMENTS = (f"vader_segment.{LABEL}-*", "sharens_instance_*")


# For so long a program is stopped (s): longer than the time between two looks.
STOPPED_SECONDS = 2.0
# A shell's words that start something which stays, and then what follows.
LEAVES = ("/bin/sh", "-c", 'setsid sleep 3000 >/dev/null 2>&1 & exec "$@"', "sh")


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.containers)


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A folder as people have them: programs that are measured, and what starts them, split paths at these signs."""
    folder = tmp_path / "études d'été, a:b; $c %d"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def image() -> Image:
    built = builder.build("hpcc", "bootstrap")
    assert unlike(built, Image) == set()
    return built


@functools.cache
def problem(name: str) -> str | None:
    """Why a runtime does not work here. It is asked once: one that stops working under the tests is no reason to skip any."""
    try:
        environments.find(name).check()
    except Unavailable as reason:
        return str(reason)
    return None


@pytest.fixture
def working():
    """Skips a test, with the reason, where one of its runtimes does not work."""

    def working(*names):
        for name in names:
            if reason := problem(name):
                pytest.skip(f"{name} does not work here: {reason}")

    return working


@functools.cache
def _here() -> dict:
    return inventory.here()


@pytest.fixture
def here() -> dict:
    """This machine. It is looked at once, as perf tries each counter."""
    return copy.deepcopy(_here())


@pytest.fixture(scope="session")
def planned() -> bytes:
    """liu2020's plan of the ci profile with all runtimes, without the cells that this machine cannot measure. It is pickled: it
    is made once, and each test has one of its own."""
    config = yaml.safe_load((PROJECT / "config/config.yaml").read_text())
    every = {"profile": "ci", "runtimes": dict.fromkeys(environments.known(), "required")}
    plan = planner.make(built("liu2020"), studies.profile("ci"), _here(), {**config, **every}, {})
    plan["cells"] = {path: cell for path, cell in plan["cells"].items() if cell["reason"] is None}
    return pickle.dumps(plan)


@pytest.fixture
def workspace(tmp_path, image, planned):
    """A study's results folder with the plan of the ci profile; `run` measures one run in it."""

    class Workspace:
        folder = tmp_path / "results/liu2020"
        image_path = tmp_path / "image.json"

        def __init__(self):
            self.folder.mkdir(parents=True)
            self.image_path.write_text(json.dumps(image))
            self.plan = pickle.loads(planned)

        def run(self, path, repetition=1, **changes):
            cell = self.plan["cells"][path]
            cell.update(changes)
            (self.folder / "plan.json").write_text(json.dumps(self.plan))
            target = record.path_of(self.folder / "runs", path, repetition)
            found = measure.measure(self.folder / "plan.json", path, repetition, target, self.image_path)
            assert unlike(found, SplittingRecord) == set()
            return found

    return Workspace()


@pytest.fixture(scope="session")
def others(swept) -> list[str]:
    """Return what looks like leftovers and is others': nothing removes it."""
    with alone():
        return leftovers()


@pytest.fixture(autouse=True)
def nothing_left(others):
    """After every test the machine is as it was: no container, instance, cgroup or process of ours."""
    home = own_group()
    yield
    if home:
        # A measurement ends with its process; here the process goes on, and what it starts is not the run's.
        (home / "cgroup.procs").write_text(str(os.getpid()))
    assert lock.VARIABLE not in os.environ
    with alone():
        assert set(leftovers()) - set(others) == set()


def in_the_run(name: str, act: Callable[[str], None]) -> threading.Thread:
    """Does something once, half a second after there is a process of that name, which it is given."""

    def wait():
        end = time.monotonic() + 120
        while time.monotonic() < end and not called(name):
            time.sleep(0.01)
        time.sleep(0.5)
        act(name)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def called(name: str) -> list[int]:
    """The processes of that name, others' too; on bare metal they are begun by the image's loader."""
    loaders = processes.named(["ld-linux-x86-64", "ld-linux-aarch64"[:15]])
    return [*processes.named([name]), *(number for number in loaders if processes.name(number) == name)]


# What a record says of a container that somebody has paused.
PAUSED = r"a container \(cgroup [0-9a-f]{12}\) was paused during the run"


def stopped(name: str) -> str:
    """The pattern of what a record says of a program of that name that somebody has stopped."""
    return rf"{name} \(process \d+\) was stopped during the run"


def stop(name: str) -> None:
    """Stops a process of that name for a while; there is always one, or soon another one."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for number in called(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGSTOP)
                time.sleep(0.05)
                # One that has just ended is there, and does not stop.
                if processes.stopped([number]):
                    time.sleep(STOPPED_SECONDS)
                    os.kill(number, signal.SIGCONT)
                    return
        time.sleep(0.01)


def pause(engine: str) -> Callable[[str], None]:
    """Has an engine pause the second container of the run for a while."""

    def paused(name: str) -> None:
        container = container_of_the_run()
        subprocess.run([engine, "pause", container], capture_output=True, check=True)
        time.sleep(STOPPED_SECONDS)
        subprocess.run([engine, "unpause", container], capture_output=True, check=True)

    return paused


def container_of_the_run() -> str:
    """Name of the second container of the run that this process measures; of none, if it measures none."""
    return f"{LABEL}-{os.environ.get(lock.VARIABLE, 'none')}-c1"


@contextlib.contextmanager
def alone():
    """With the machine's lock held nothing is there of another workflow's runs; nothing is swept."""
    with machine_lock.held(lambda holder: None):
        yield


def own_group() -> Path | None:
    """The version 2 cgroup that this process is in."""
    root = cgroup.mounts().get("unified")
    return root and root / Path("/proc/self/cgroup").read_text().rpartition("0::")[2].strip().lstrip("/")


def alike(method: str, *attributes: str) -> list:
    """One environment of each kind: of those that have the same method and command, and attributes of the same class."""
    kinds = {}
    for environment in environments.known().values():
        classes = [type(getattr(environment, name, None)) for name in attributes]
        kinds[(getattr(type(environment), method), getattr(environment, "command", None), *classes)] = environment
    return list(kinds.values())


def leftovers() -> list[str]:
    found = []
    # Those of one engine list the same containers.
    for environment in alike("left"):
        with contextlib.suppress(Unavailable):
            found += environment.left()
    root = cgroup.cpu_root(cgroup.mounts())
    if root and (root / LABEL).is_dir():
        found += [str(path) for path in (root / LABEL).iterdir() if path.is_dir()]
    found += [str(path) for name in SEGMENTS for path in Path("/dev/shm").glob(name)]
    # In no order: the kernel and the engines have their own.
    return sorted([*found, *(name for name in commands(lock.of_runs()) if "pytest" not in name)])

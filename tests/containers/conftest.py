"""Fixtures for real containers: the working runtimes, the image, and runs of a tiny HPC Challenge by the workflow's own
code."""

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
from plimsoll import measure, runtimes
from plimsoll.config import studies
from plimsoll.designs.splitting.factors import SplittingRecord
from plimsoll.errors import Unavailable
from plimsoll.host import cgroup, inventory, machine_lock, processes
from plimsoll.images import builder
from plimsoll.interchange import Image
from plimsoll.measuring import lock, record
from plimsoll.planning import planner
from plimsoll.runtimes.base import LABEL

from tests.conftest import PROJECT, built, commands, unlike

# Leftovers in the host's shared memory: of killed ranks of ours, and of containers that several ranks shared.
SEGMENTS = (f"vader_segment.{LABEL}-*", "sharens_instance_*")


# How long a program is stopped (s): longer than the time between two looks.
STOPPED_SECONDS = 2.0
# Starts a background process that keeps running, and then executes the command that follows.
LEAVES = ("/bin/sh", "-c", 'setsid sleep 3000 >/dev/null 2>&1 & exec "$@"', "sh")


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.containers)


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A folder with a name as users have: measured programs, and programs that start them, split paths at these characters."""
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
    """Return why a runtime does not work here; None if it works.

    Each runtime is checked once. If it stops working during the tests, no test is skipped for that.
    """
    try:
        runtimes.find(name).check()
    except Unavailable as reason:
        return str(reason)
    return None


@pytest.fixture
def working():
    """Return a function that skips a test, with the reason, if one of the named runtimes does not work here."""

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
    """Description of this machine. It is made only once, because perf tries each counter."""
    return copy.deepcopy(_here())


@pytest.fixture(scope="session")
def planned() -> bytes:
    """Plan of liu2020 on the ci profile with all runtimes, without the cells that are unavailable here.

    It is made once, and pickled so that each test has its own copy.
    """
    config = yaml.safe_load((PROJECT / "config/config.yaml").read_text())
    every = {"profile": "ci", "runtimes": dict.fromkeys(runtimes.known(), "required")}
    plan = planner.make(built("liu2020"), studies.profile("ci"), _here(), {**config, **every}, {})
    plan["cells"] = {path: cell for path, cell in plan["cells"].items() if cell["reason"] is None}
    return pickle.dumps(plan)


@pytest.fixture
def workspace(tmp_path, image, planned):
    """Results folder of liu2020 with the plan of the ci profile; `run` measures one run in it."""

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
    """Things that look like leftovers and belong to others: no sweep removes them."""
    with alone():
        return leftovers()


@pytest.fixture(autouse=True)
def nothing_left(others):
    """Check after every test that the machine is as before: no container, instance, cgroup or process of ours is left."""
    home = own_group()
    yield
    if home:
        # Normally a measurement ends with its process. Here the process goes on, and what it starts must not count as
        # the run's.
        (home / "cgroup.procs").write_text(str(os.getpid()))
    assert lock.VARIABLE not in os.environ
    with alone():
        assert set(leftovers()) - set(others) == set()


def in_the_run(name: str, act: Callable[[str], None]) -> threading.Thread:
    """Start a thread that calls `act` with a process name once, half a second after a process of that name is there."""

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
    """Return the numbers of all processes with a name, also those of others. On bare metal the image's loader starts them."""
    loaders = processes.pids_by_name(["ld-linux-x86-64", "ld-linux-aarch64"[:15]])
    return [*processes.pids_by_name([name]), *(number for number in loaders if processes.name(number) == name)]


# Reason in a record whose container was paused.
PAUSED = r"a container \(cgroup [0-9a-f]{12}\) was paused during the run"


def stopped(name: str) -> str:
    """Return the pattern of the reason in a record whose program of this name was stopped."""
    return rf"{name} \(process \d+\) was stopped during the run"


def stop(name: str) -> None:
    """Stop one process of this name for STOPPED_SECONDS. Processes come and go, so wait up to 30 s for one."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for number in called(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGSTOP)
                time.sleep(0.05)
                # A process that has just ended is still listed, but does not stop.
                if processes.stopped_pids([number]):
                    time.sleep(STOPPED_SECONDS)
                    os.kill(number, signal.SIGCONT)
                    return
        time.sleep(0.01)


def pause(engine: str) -> Callable[[str], None]:
    """Return a function that lets an engine pause the second container of the run for STOPPED_SECONDS.

    A cgroup of version 1 freezes only when none of its processes waits for a disk or for memory. The engine gives up after a
    second, so this tries again for 5 s.
    """

    def paused(name: str) -> None:
        container = container_of_the_run()
        end = time.monotonic() + 5
        while (asked := subprocess.run([engine, "pause", container], capture_output=True, text=True)).returncode:
            assert time.monotonic() < end, asked.stderr
            time.sleep(0.1)
        time.sleep(STOPPED_SECONDS)
        subprocess.run([engine, "unpause", container], capture_output=True, check=True)

    return paused


def container_of_the_run() -> str:
    """Return the name of the second container of the run that this process measures, or a name that no container has."""
    return f"{LABEL}-{os.environ.get(lock.VARIABLE, 'none')}-c1"


@contextlib.contextmanager
def alone():
    """Hold the machine's lock, so that nothing of another workflow's runs is there. Nothing is swept."""
    with machine_lock.hold(lambda holder: None):
        yield


def own_group() -> Path | None:
    """Return the version 2 cgroup of this process; None without a file system for version 2."""
    root = cgroup.mounts().get("unified")
    return root and root / Path("/proc/self/cgroup").read_text().rpartition("0::")[2].strip().lstrip("/")


def alike(method: str, *attributes: str) -> list:
    """Return one runtime of each kind. Runtimes of a kind have the same method and command, and attributes of the same
    classes."""
    kinds = {}
    for runtime in runtimes.known().values():
        classes = [type(getattr(runtime, name, None)) for name in attributes]
        kinds[(getattr(type(runtime), method), getattr(runtime, "command", None), *classes)] = runtime
    return list(kinds.values())


def leftovers() -> list[str]:
    found = []
    # Runtimes of one engine list the same containers.
    for runtime in alike("left"):
        with contextlib.suppress(Unavailable):
            found += runtime.left()
    root = cgroup.cpu_root(cgroup.mounts())
    if root and (root / LABEL).is_dir():
        found += [str(path) for path in (root / LABEL).iterdir() if path.is_dir()]
    found += [str(path) for name in SEGMENTS for path in Path("/dev/shm").glob(name)]
    # Sorted, because the kernel and the engines list things in orders of their own.
    return sorted([*found, *(name for name in commands(lock.of_runs()) if "pytest" not in name)])

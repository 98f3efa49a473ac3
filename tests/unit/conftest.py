"""Nothing here waits for the disk, and `make test-units` leaves out what is slow."""

import os
import time
from pathlib import Path

import pytest
from plimsoll import runtimes
from plimsoll.images import client
from plimsoll.runtimes import apptainer
from plimsoll.runtimes.guests import kvm

# Test functions that take more than a second of processor time, all parameters together: `file::function`, one a line.
SLOW = frozenset((Path(__file__).parent / "slow.txt").read_text().split())
REAL = os.fsync


@pytest.fixture(scope="session", autouse=True)
def unsynced():
    """Make `os.fsync` return at once. Tests write thousands of made-up records, and waited ten times as long for the disk
    as they computed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda number: None)
        yield


@pytest.fixture
def synced(monkeypatch):
    """Make `os.fsync` wait for the disk, for tests that look at it."""
    monkeypatch.setattr(os, "fsync", REAL)


@pytest.fixture(autouse=True)
def nothing_known_of_the_machine():
    """Clear what an earlier test learned of programs and engines, which may be those of this machine."""
    for answer in (apptainer.executable, apptainer.is_privileged, client.command, kvm._problem):
        answer.cache_clear()
    for runtime in runtimes.known().values():
        runtime.__dict__.pop("_facts", None)


def pytest_addoption(parser):
    parser.addoption("--most-seconds", type=float, help="fail tests that are not slow and take more processor time than this")


def pytest_collection_modifyitems(items):
    for item in items:
        if f"{item.path.name}::{item.function.__name__}" in SLOW:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def in_time(request):
    """Fail a test that is not slow and takes more processor time than `--most-seconds`."""
    most, begun = request.config.getoption("--most-seconds", None), time.process_time()
    yield
    if most and not request.node.get_closest_marker("slow") and (taken := time.process_time() - begun) > most:
        pytest.fail(f"it took {taken:.1f} s of processor time: shorten it, or name it in tests/unit/slow.txt")

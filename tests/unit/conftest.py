"""Nothing here waits for the disk, and `make test-units` leaves out what is slow."""

import os
import time
from pathlib import Path

import pytest

# Test functions that take more than a second of processor time in all, by file. `--most-seconds 1` finds those that lack.
SLOW = {
    tuple(line.split("::"))
    for line in (Path(__file__).parent / "slow.txt").read_text().splitlines()
    if not line.startswith("#")
}


@pytest.fixture(scope="session", autouse=True)
def unsynced():
    """Make `os.fsync` return at once. Tests write thousands of made-up records, and waited ten times as long for the disk
    as they computed. What must be on the disk first is tested by the calls themselves (test_record.py)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda number: None)
        yield


def pytest_addoption(parser):
    parser.addoption(
        "--most-seconds", type=float, help="a test that is not slow fails if it takes more processor time than this"
    )


def pytest_collection_modifyitems(items):
    here = [item for item in items if Path(__file__).parent == item.path.parent]
    known = {(item.path.name, item.function.__name__) for item in here}
    for item in here:
        if (item.path.name, item.function.__name__) in SLOW:
            item.add_marker(pytest.mark.slow)
    files = {file for file, _ in known}
    if not any("::" in word for word in here[0].config.args if here) and (
        gone := {one for one in SLOW if one[0] in files} - known
    ):
        raise pytest.UsageError(f"tests/unit/slow.txt names tests that are not there: {sorted(gone)}")


@pytest.fixture(autouse=True)
def quick(request):
    """Fail a test that is not slow and takes more processor time than `--most-seconds`."""
    most, begun = request.config.getoption("--most-seconds", None), time.process_time()
    yield
    if most and not request.node.get_closest_marker("slow") and (taken := time.process_time() - begun) > most:
        pytest.fail(f"it took {taken:.1f} s of processor time: shorten it, or name it in tests/unit/slow.txt")

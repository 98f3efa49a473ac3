"""Nothing here waits for the disk."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def unsynced():
    """Make `os.fsync` return at once. Tests write thousands of made-up records, and waited ten times as long for the disk
    as they computed. What is on the disk before what is tested by the calls themselves (test_record.py)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda number: None)
        yield

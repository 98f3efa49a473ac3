"""Memory that Open MPI's ranks share, and what a killed rank leaves of it."""

import mmap
import os

import pytest
from plimsoll.runtimes import segments


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "SHARED_MEMORY", tmp_path)
    for name in (f"vader_segment.{os.uname().nodename}.0.7d4c0001.0", "vader_segment.plimsoll-1-c0.0.1.0", "another"):
        (tmp_path / name).write_bytes(bytes(mmap.PAGESIZE))
    return tmp_path


def test_what_nobody_has_mapped_is_removed(place):
    (own,) = place.glob(f"vader_segment.{os.uname().nodename}*")
    with open(own, "r+b") as file, mmap.mmap(file.fileno(), 0):
        segments.remove_unused()
        assert own.exists()
    segments.remove_unused()
    assert sorted(path.name for path in place.iterdir()) == ["another", "vader_segment.plimsoll-1-c0.0.1.0"]


def test_those_of_containers_that_are_gone_are_removed_by_their_names(place):
    segments.remove(["plimsoll-1-c0", "plimsoll-2-c0"])
    assert len(list(place.iterdir())) == 2 and not list(place.glob("*plimsoll*"))

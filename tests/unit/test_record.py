import json
import os
from pathlib import Path

import pytest
from plimsoll.measuring import record

RECORD = {
    "format": 1,
    "study": "s",
    "cell": {},
    "repetition": 1,
    "fingerprint": "f",
    "status": "valid",
    "attempts": 1,
}


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "a/b/1.json"
    record.write(path, RECORD)
    assert record.read(path) == RECORD
    assert [p.name for p in path.parent.iterdir()] == ["1.json"]


@pytest.mark.parametrize("length", [0, 1, 50, 100])
def test_a_truncated_record_is_damaged(tmp_path, length):
    path = tmp_path / "1.json"
    path.write_text(json.dumps(RECORD)[:length])
    with pytest.raises(record.Damaged, match="no complete JSON"):
        record.read(path)


@pytest.mark.parametrize("key", record.REQUIRED)
def test_a_record_without_a_key_is_damaged(tmp_path, key):
    path = tmp_path / "1.json"
    path.write_text(json.dumps({k: v for k, v in RECORD.items() if k != key}))
    with pytest.raises(record.Damaged, match="lacks keys"):
        record.read(path)


def test_a_record_of_another_format_is_damaged(tmp_path):
    path = tmp_path / "1.json"
    path.write_text(json.dumps({**RECORD, "format": 2}))
    with pytest.raises(record.Damaged, match="has the format 2"):
        record.read(path)


def test_setting_aside_overwrites_nothing(tmp_path):
    for content in ("first", "second"):
        path = tmp_path / "1.json"
        path.write_text(content)
        record.set_aside(path, tmp_path / "archive")
    assert sorted(p.read_text() for p in (tmp_path / "archive").iterdir()) == ["first", "second"]


def test_what_a_kill_has_left_of_a_record_is_overwritten_and_no_file_stays(tmp_path):
    path = tmp_path / "1.json"
    (tmp_path / ".1.json.new").write_text("{")
    record.write(path, RECORD)
    assert record.read(path) == RECORD
    assert [p.name for p in tmp_path.iterdir()] == ["1.json"]


def test_a_record_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """A file that is renamed before it is written out may be empty after a power failure."""
    path, order = tmp_path / "1.json", []
    synced, renamed = os.fsync, Path.rename

    def sync(descriptor):
        order.append((Path(os.readlink(f"/proc/self/fd/{descriptor}")).name, path.exists()))
        synced(descriptor)

    monkeypatch.setattr(record.os, "fsync", sync)
    monkeypatch.setattr(Path, "rename", lambda self, other: order.append("renamed") or renamed(self, other))
    record.write(path, RECORD)
    assert order == [(".1.json.new", False), "renamed"] and record.read(path) == RECORD

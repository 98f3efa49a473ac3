import json
import os
from pathlib import Path

import pytest
from plimsoll.measuring import record, staleness

from tests.conftest import DATA

RECORD = json.loads((DATA / "records/amaral2015.json").read_text())
REQUIRED = sorted(record.Record.__required_keys__)


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "a/b/1.json"
    record.write(path, RECORD)
    assert record.read(path) == RECORD
    record.keep(path, RECORD)
    assert record.read(path) == RECORD
    assert [p.name for p in path.parent.iterdir()] == ["1.json"]


@pytest.mark.parametrize("length", [0, 1, 50, 1000])
def test_a_truncated_record_is_damaged(tmp_path, length):
    path = tmp_path / "1.json"
    path.write_text(json.dumps(RECORD)[:length])
    with pytest.raises(record.DamagedFile, match="no complete JSON"):
        record.read(path)


@pytest.mark.parametrize("key", REQUIRED)
def test_a_record_without_a_key_is_damaged(tmp_path, key):
    path = tmp_path / "1.json"
    path.write_text(json.dumps({k: v for k, v in RECORD.items() if k != key}))
    with pytest.raises(record.DamagedFile, match=f"it lacks '{key}'"):
        record.read(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"attempts": "2"}, "attempts: it is '2', and should be a whole number"),
        ({"attempts": 10**30}, "attempts: it is 1000000000000000000000000000000, and should be a whole number"),
        ({"seconds": {"run": None}}, "seconds.run: it is None, and should be a number"),
        ({"noise": {"before": {"busy_share": True}}}, "noise.before.busy_share: it is True"),
        ({"invalid_attempts": [{"status": "failed"}]}, "invalid_attempts.0: it lacks 'noise'"),
        ({"cell": []}, "cell: it is a list, and should be keys with values"),
        ({"status": "vali"}, "there is no status 'vali'"),
        ({"reason": "\ud800"}, "reason: it has a character that cannot be written"),
        ({"each": json.loads("[" * 100 + "]" * 100)}, "it is nested too deeply"),
        # These become the name of a folder, and the address of a link.
        ({"fingerprint": "../../x"}, "its fingerprint is not valid"),
        ({"fingerprint": "x\n"}, "its fingerprint is not valid"),
        ({"raw": "raw/../../x"}, "its raw output is in no folder of raw/"),
        ({"raw": "javascript:alert(1)//"}, "its raw output is in no folder of raw/"),
        ({"raw": "/etc"}, "its raw output is in no folder of raw/"),
    ],
)
def test_a_record_that_holds_something_else_is_damaged(tmp_path, change, words):
    path = tmp_path / "1.json"
    path.write_text(json.dumps({**RECORD, **change}))
    with pytest.raises(record.DamagedFile) as damage:
        record.read(path)
    assert words in str(damage.value)


def test_a_number_that_was_changed_in_the_file_is_seen(tmp_path):
    path = tmp_path / "1.json"
    record.keep(path, RECORD)
    text = path.read_text()
    number = str(RECORD["values"]["execution_time"])
    assert text.count(number) == 1
    path.write_text(text.replace(number, number[:-3]))
    with pytest.raises(record.DamagedFile, match="it was changed since it was written"):
        record.read(path)
    # Older versions wrote no checksum, so that nothing is known of their numbers.
    path.write_text(json.dumps(RECORD, indent=1) + "\n")
    assert record.read(path) == RECORD


def test_what_is_no_text_or_nested_without_end_is_damaged(tmp_path):
    path = tmp_path / "1.json"
    for content in (b"\xff\xfe", b"[" * 100_000, b"1" * 5000, b"\x00" * 512, b"[]", b"null"):
        path.write_bytes(content)
        with pytest.raises(record.DamagedFile):
            record.read(path)


def test_a_record_of_another_format_is_damaged(tmp_path):
    path = tmp_path / "1.json"
    path.write_text(json.dumps({**RECORD, "format": 2}))
    with pytest.raises(record.DamagedFile, match="has the format 2"):
        record.read(path)


def test_a_record_that_ends_after_a_part_of_it_is_not_taken_for_a_whole_one(tmp_path):
    path = tmp_path / "1.json"
    record.keep(path, RECORD)
    text = path.read_text()
    assert record.glance(path)["status"] == "valid"
    # Each of these texts ends where an object of the document ends.
    for place in (place for place in range(len(text) - 2) if text[place : place + 2] == "}\n"):
        path.write_text(text[: place + 2])
        assert staleness.look(path) == staleness.Look(True)


def test_a_number_of_starts_that_is_none_is_damage_and_no_error(tmp_path):
    path = tmp_path / "1.json"
    for starts in ("x", None, -1.5, [1]):
        record.write(path, {**RECORD, "starts": starts})
        assert staleness.look(path).starts in (0, 1)
    record.write(path, {**RECORD, "starts": 3})
    assert staleness.look(path).starts == 3


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
    assert order == [(".1.json.new", False), "renamed", (tmp_path.name, True)] and record.read(path) == RECORD

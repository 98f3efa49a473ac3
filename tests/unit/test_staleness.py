"""Which runs are measured: for the first time, again, or not at all."""

import os

import pytest
from plimsoll import measure
from plimsoll.measuring import plan_file, record, staleness, status

from tests.conftest import recorded, tried

PATH = "uma/exact/E1/bare/any/beff"
CELL = {"path": PATH, "fingerprint": "new", "reason": None}


def old_record(fingerprint="new", found="valid", **more):
    return recorded(fingerprint=fingerprint, status=found, precious=True, **more)


@pytest.fixture
def target(tmp_path):
    return record.path_of(tmp_path / "runs", PATH, 1)


def asked(target, fingerprint="new", starts=3):
    """Return (whether a run is measured, text that Snakemake compares), with what the target holds now."""
    seen = staleness.look(target)
    return staleness.to_measure(seen, fingerprint, starts), staleness.asked_for(seen, fingerprint, starts)


def test_a_run_without_a_record_is_measured(target):
    assert asked(target) == (True, "new")


@pytest.mark.parametrize("found", status.COUNTED)
def test_a_run_that_counts_is_not_measured_again(target, found):
    record.write(target, old_record(found=found))
    assert asked(target) == (False, "new")


@pytest.mark.parametrize("found", ["disturbed", "invalid", "failed", "timeout"])
def test_a_run_that_does_not_count_is_tried_by_so_many_starts_and_no_more(target, found):
    noted = asked(target)[1]
    for start in range(1, 4):
        record.write(target, old_record(found=found, **({"starts": start} if start > 1 else {})))
        again, told = asked(target)
        # Snakemake runs the job again if this text differs from the one of its last run.
        assert again == (told != noted) == (start < 3)
        noted = told


def test_a_run_that_counts_in_the_end_is_left_alone(target):
    record.write(target, old_record(found="failed"))
    noted = asked(target)[1]
    assert noted == "new,start=2"
    record.write(target, old_record(starts=2))
    assert asked(target) == (False, noted)


def test_with_one_start_nothing_is_tried_again(target):
    record.write(target, old_record(found="failed"))
    assert asked(target, starts=1) == (False, "new")


def test_more_starts_than_before_try_a_run_again(target):
    record.write(target, old_record(found="failed", starts=3))
    assert asked(target, starts=3) == (False, "new,start=3")
    assert asked(target, starts=4) == (True, "new,start=4")


def test_a_record_of_other_parameters_is_measured_whatever_became_of_it(target):
    for found in ("valid", "failed"):
        record.write(target, old_record("old", found, starts=3))
        assert asked(target) == (True, "new")


def test_a_damaged_record_stays_until_it_is_deleted(target):
    target.parent.mkdir(parents=True)
    target.write_text('{"format": 1, "tru')
    assert asked(target) == (False, "new")


def test_a_record_of_the_plan_is_kept(tmp_path, target, monkeypatch):
    record.write(target, old_record())
    plan = {"study": "s", "limits": {"starts": 2}, "cells": {PATH: CELL}, "design": "splitting"}
    # The plan has only the keys that this test needs.
    monkeypatch.setattr(plan_file, "of_run", lambda *_: plan)
    monkeypatch.setattr(plan_file, "refuse_misfits", lambda *_: None)
    kept = measure.measure(tmp_path / "plan.json", PATH, 1, target, tmp_path / "image.json")
    assert kept["precious"]
    assert record.read(target) == old_record()


def test_a_record_that_is_tried_again_stays_until_there_is_another(tmp_path, target):
    record.write(target, old_record(found="failed"))
    kept, before = staleness.usable_record(tmp_path, CELL, 1, target, 2)
    assert kept is None and before == old_record(found="failed") == record.read(target)
    record.write(target, old_record(found="failed", starts=2))
    kept, before = staleness.usable_record(tmp_path, CELL, 1, target, 2)
    assert kept["starts"] == 2 and before is None


def test_every_attempt_of_a_record_is_there_and_nothing_of_the_run_in_it():
    first = {"status": "disturbed", "reason": "x", "raw": "raw/1-1"}
    found = old_record(found="failed", invalid_attempts=[first], starts=2, profile="ci", seed=1)
    assert staleness.attempts_of(found) == [first, {**tried(status="failed"), "precious": True}]


def test_a_record_of_another_profile_goes_to_the_archive_and_comes_back(tmp_path, target):
    record.write(target, old_record("quick"))
    assert staleness.usable_record(tmp_path, {**CELL, "fingerprint": "paper"}, 1, target, 2) == (None, None)
    assert not target.exists()
    assert [record.read(p)["precious"] for p in (tmp_path / "archive/quick").iterdir()] == [True]
    (archived,) = (tmp_path / "archive/quick").iterdir()
    os.utime(archived, ns=(1, 1))
    assert staleness.usable_record(tmp_path, {**CELL, "fingerprint": "quick"}, 1, target, 2)[0]["precious"]
    assert record.read(target) == old_record("quick")
    assert target.stat().st_mtime_ns > 1, "what was made without it is older"


def test_what_did_not_count_does_not_come_back_from_the_archive(tmp_path, target):
    record.write(tmp_path / "archive/new/1-1.json", old_record(found="failed"))
    assert staleness.usable_record(tmp_path, CELL, 1, target, 2) == (None, None)
    assert not target.exists()


def test_a_damaged_record_is_set_aside(tmp_path, target, capsys):
    target.parent.mkdir(parents=True)
    target.write_text('{"format": 1, "tru')
    assert staleness.usable_record(tmp_path, CELL, 1, target, 2) == (None, None)
    assert [p.read_text() for p in (tmp_path / "archive/damaged").iterdir()] == ['{"format": 1, "tru']
    assert "put aside and measured again" in capsys.readouterr().err

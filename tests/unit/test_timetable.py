"""What a command takes in all: foretold from what is there, kept by the second stage, and compared at the end."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from plimsoll import __main__ as stages
from plimsoll import designs, paths
from plimsoll.config import studies
from plimsoll.features.time_budget import several_studies, two_stages
from plimsoll.planning import timetable

from tests.conftest import PROJECT


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """A bare machine with two processors, and a command that has begun ten seconds ago."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(timetable, "FORETOLD", tmp_path / "timetable.json")
    monkeypatch.setattr(timetable, "processors", lambda: 2)
    monkeypatch.setattr(timetable, "_lacks_engines", lambda: True)
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path / "images"))
    monkeypatch.setenv(timetable.START, str(time.time_ns() - 10 * 10**9))
    return tmp_path


def image(machine, name="hpcc"):
    (machine / f"images/{name}-0123").mkdir(parents=True)
    (machine / f"images/{name}-0123/image.json").write_text("{}")


def spent(machine, study="liu2020", stage="done", **noted):
    folder = machine / "results" / study
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "repetitions.json").write_text(json.dumps({"hours": {"stage": stage, **noted}}))


@pytest.mark.parametrize("name", studies.names(studies.STUDIES))
def test_a_study_is_read_without_libraries_as_with_them(name):
    loaded = studies.load(name, designs.known())
    factors = loaded.design.factors
    assert timetable.study(name) == (loaded["image"], len(loaded["figures"]), factors.USUAL_HOURS, factors.STAGES)


def test_the_parts_of_a_command_are_what_is_asked_for():
    parts = timetable.foretell(["liu2020"], minutes=12)
    assert list(parts) == list(timetable.PARTS) and sum(parts.values()) == pytest.approx(720)
    assert (parts["setup"], parts["images"]) == (38, 112) and parts["pages"] == pytest.approx(44 + 19 * 1.5)
    assert timetable.foretell(["liu2020"], hours=0.15)["measuring"] == pytest.approx(0.15 * 3600 * 0.92 + 50)
    # Each design has hours of its own.
    assert timetable.foretell(["liu2020"])["measuring"] == timetable.seconds_of(1.0)
    assert timetable.foretell(["jha2018"])["measuring"] == 0


def test_what_is_there_takes_no_time(machine, monkeypatch):
    image(machine)
    assert timetable.foretell(["liu2020"], minutes=12)["setup"] == timetable.ENGINES
    assert timetable.foretell(["liu2020"], minutes=12)["images"] == 0
    assert timetable.foretell(["jha2018", "jha2021"], minutes=12)["images"] == timetable.IMAGE
    monkeypatch.setenv("IMAGE", "images.tar.gz")
    assert timetable.foretell(["jha2018"], minutes=12)["images"] == 0
    spent(machine, given=[0.5, 0.25])
    assert timetable.foretell(["liu2020"])["measuring"] == timetable.seconds_of(0.25)
    assert timetable.foretell(["liu2020"], hours=0.75)["measuring"] == 0
    spent(machine, given=[0.2], minutes=12)
    assert sum(timetable.foretell(["liu2020"], minutes=30).values()) == pytest.approx(18 * 60)


def test_times_that_this_machine_took_are_taken_next_time():
    timetable.note_image("hpcc", 60.0)
    assert timetable.foretell(["liu2020"], minutes=12)["images"] == 60
    # It was there already.
    timetable.note_image("hpcc", 0.3)
    assert timetable.foretell(["liu2020"], minutes=12)["images"] == 60


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"hours": 3}', '{"image hpcc": "x", "hours": {"stage": "done", "given": "x"}}']
)
def test_damaged_notes_are_none(machine, content):
    for path in (machine / "images/.times.json", timetable.FORETOLD, machine / "results/liu2020/repetitions.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert timetable.foretell(["liu2020"], hours=0.15)["images"] == timetable.IMAGE
    assert timetable.summary(38) == "" and timetable.read_note() == {}


def test_it_is_foretold_once_in_one_line_and_compared_at_the_end(capsys):
    parts = timetable.foretell(["liu2020"], minutes=12)
    for _ in range(2):
        timetable.say(parts)
    assert capsys.readouterr().out == "plimsoll: About 12 min: set-up 0:38, images 1:52, measuring 8:18, pages 1:12.\n"
    for part, seconds in (("setup", 2.0), ("images", 3.0), ("measuring", 4.0)):
        timetable.note(part, seconds)
    assert timetable.summary(38) == (
        "0:10 in all, 12:00 were forecast (\N{MINUS SIGN}99 %): set-up 0:02, images 0:03, measuring 0:04, pages 0:01."
    )


def test_another_command_compares_nothing(monkeypatch):
    timetable.say(timetable.foretell(["liu2020"], minutes=12))
    monkeypatch.setenv(timetable.START, str(time.time_ns()))
    timetable.note("setup", 5.0)
    assert timetable.summary(38) == "" and timetable.read_note()["taken"] == {}


FACTORS = "scripts/plimsoll/designs/splitting/factors.py"


def test_it_is_foretold_without_libraries(machine):
    """Set-up calls it, also for a folder with results of its own."""
    needed = ("scripts/plimsoll/__init__.py", "scripts/plimsoll/paths.py", "scripts/plimsoll/planning/__init__.py")
    files = (*needed, "scripts/plimsoll/planning/timetable.py", "config/config.yaml", "config/studies/liu2020.yaml", FACTORS)
    for name in files:
        (machine / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, machine / name)
    spent(machine / "elsewhere", given=[0.1])
    given = {"HOURS": "0.15", "DIRECTORY": str(machine / "elsewhere"), "PYTHONPATH": str(machine / "scripts")}
    command = [sys.executable, "-S", "-m", "plimsoll.planning.timetable"]
    said = subprocess.run(command, env={**os.environ, **given}, cwd=machine, capture_output=True, text=True)
    assert said.stderr == "" and "measuring 3:36" in said.stdout and len(said.stdout.splitlines()) == 1
    # What this command has taken until then, for the Python environment, is a part of set-up and of the minutes in all.
    begun = str(time.time_ns() - 100 * 10**9)
    asked = {**given, "HOURS": "", "MINUTES": "12", "DIRECTORY": str(machine / "nothing"), timetable.START: begun}
    said = subprocess.run(command, env={**os.environ, **asked}, cwd=machine, capture_output=True, text=True)
    seconds = [60 * int(minutes) + int(rest) for minutes, rest in re.findall(r" (\d+):(\d\d)", said.stdout)]
    assert said.stdout.startswith("plimsoll: About 12 min: set-up ") and seconds[0] >= 100 and abs(sum(seconds) - 720) <= 2


class Spending:
    """Notes the calls of the stages of measuring, and measures nothing."""

    def __init__(self, monkeypatch):
        self.asked = []
        monkeypatch.setattr(two_stages, "spend", lambda *given: self.asked.append(given))


def test_minutes_in_all_leave_the_rest_for_measuring(monkeypatch, capsys):
    spending = Spending(monkeypatch)
    assert stages.main(["hours", "--minutes", "12", "studies=liu2020"]) == 0
    [(study, given, _, until)] = spending.asked
    # Set-up has taken ten seconds, and not seventy.
    left = 720 - 10 - 112 - 72.5
    assert study == "liu2020" and given == pytest.approx(timetable.hours_of(left), rel=0.02)
    assert until.minutes == 12 and until.moment == pytest.approx(time.time() + 720 - 10 - 72.5, abs=5)
    assert "About 12 min" in capsys.readouterr().out


def test_several_studies_share_the_minutes(monkeypatch):
    spending = Spending(monkeypatch)
    several_studies.spend(["liu2020", "jha2018"], 60, [])
    first, second = spending.asked
    assert first[1] == pytest.approx(second[1], rel=0.1) or first[3].moment < second[3].moment
    assert second[3].moment - first[3].moment == pytest.approx(first[3].moment - time.time() - 224, rel=0.1)


def test_minutes_that_are_spent_are_not_spent_again(machine, monkeypatch, capsys):
    spending = Spending(monkeypatch)
    spent(machine, given=[0.1], minutes=12)
    several_studies.spend(["liu2020"], 12, [])
    assert spending.asked == [] and "the 12 minutes are used up, and nothing more was measured" in capsys.readouterr().out
    several_studies.spend(["liu2020"], 30, [])
    assert spending.asked[0][1] > 0.1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--minutes", "3"], "--minutes 3 is too short: set-up, images, pages and the starts of the workflow take 5 minutes"),
        (["--minutes", "soon"], "--minutes soon is not a number"),
        (["--minutes", "12", "studies=li2018"], "and not for li2018, li2018-hadoop"),
    ],
)
def test_minutes_that_cannot_be_kept_are_refused(words, said, monkeypatch, capsys):
    spending = Spending(monkeypatch)
    assert stages.main(["hours", *words]) == 1
    assert said in capsys.readouterr().err and spending.asked == []


def test_the_second_stage_ends_when_it_should(monkeypatch):
    used = SimpleNamespace(seconds=lambda blocks: 300.0)
    monkeypatch.setattr(two_stages.costs, "of_plan", lambda plan, runs: used)
    judged = SimpleNamespace(plan={"cells": {}}, runs=None)
    given = two_stages._given_until(time.time() + 130, judged, 100.0)
    assert given * 3600 * two_stages.FOR_MEASURING == pytest.approx(200 + 130 - timetable.STAGE, abs=1)
    # Nothing is left.
    assert two_stages._given_until(time.time() - 5, judged, 100.0) * 3600 * two_stages.FOR_MEASURING == pytest.approx(
        200, abs=1
    )


def test_hours_and_their_seconds_belong_to_each_other():
    assert timetable.MEASURED == two_stages.FOR_MEASURING
    assert timetable.hours_of(timetable.seconds_of(0.4)) == pytest.approx(0.4)
    assert paths.PROJECT / ".cache" == PROJECT / ".cache"

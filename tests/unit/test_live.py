"""The display of a workflow, fed with Snakemake's events, lines of jobs and progress files. There is no terminal."""

import json
import logging
import os
import time
from types import SimpleNamespace

import pytest
import snakemake_logger_plugin_plimsoll as plugin
from plimsoll.measuring import failing_groups, progress
from plimsoll.planning import repetitions, timetable
from plimsoll.terminal import interruption
from plimsoll.terminal.live import call, words
from plimsoll.terminal.live.display import Display, Now, line
from plimsoll.terminal.live.events import Events
from plimsoll.terminal.live.jobs import Jobs
from plimsoll.terminal.live.runs import MOST_ALIKE, OfStudy, Queue
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent

from tests.conftest import recorded, tried

WORDS = {"a": "two Docker containers, b_eff", "b": "bare metal, b_eff"}
WHAT = "two Docker containers, b_eff, exactly subscribed, any processor, UMA"
NOW = Now("measuring", WHAT, 212, 411, False, 250, 320, 3)


@pytest.mark.parametrize(
    ("width", "said"),
    [
        (77, "measuring 212/411  two Docker containers, b_eff, exac…  4:10 left  3 repeated"),
        (200, f"measuring 212/411  {WHAT}  4:10 left (total 9:30)  3 repeated"),
        (40, "measuring 212/411  4:10 left  3 repeated"),
    ],
)
def test_a_narrow_terminal_gets_less_of_the_line(width, said):
    assert line(NOW, width).plain == said and len(said) <= width


@pytest.mark.parametrize("width", range(1, 130, 7))
def test_no_line_is_wider_than_its_terminal(width):
    assert len(line(NOW, width).plain) <= width


def test_what_is_not_known_is_not_shown():
    assert line(NOW._replace(all=0, left=None, repeated=0, what=""), 80).plain == "measuring  5:20"
    assert " 212/~411  " in line(NOW._replace(estimated=True), 200).plain


def test_a_cell_is_called_by_where_it_runs_and_its_section(liu2020):
    path = "uma/exact/E2/docker/any/default/standard/plain/beff"
    assert words.of_cell(liu2020, {"path": path, "section": "beff"}).startswith(
        "two Docker containers, b_eff, exactly subscribed"
    )


def test_a_cell_without_sections_has_the_name_that_pages_give_it(jha2021):
    path = "2/stream+stream/docker/free"
    assert words.of_cell(jha2021, {"path": path}) == jha2021.design.report.cell_label(path, {})


def test_a_rule_of_a_module_is_known_and_an_unknown_one_is_called_by_its_name():
    assert [words.own(rule) for rule in ("measure", "plimsoll_measure", "plimsoll_write_plan", "mine")] == [
        "measure",
        "measure",
        "write_plan",
        "mine",
    ]
    assert words.of_job("figure", {"figure": "fig05", "study": "liu2020"}) == "fig05 of liu2020"
    assert words.of_job("my_rule", {"x": "1"}) == "my rule 1"


def test_jobs_are_counted_without_runs_and_bundles():
    jobs = Jobs()
    jobs.plan({"measure": 9, "bundle": 4, "all": 1, "figure": 2, "report": 1, "total": 17})
    assert (jobs.done, jobs.all) == (0, 3) and jobs.left == 2 * words.STAGES["figure"].seconds + words.STAGES["report"].seconds
    jobs.start(1, "measure", {}, [])
    jobs.start(2, "figure", {"figure": "f", "study": "s"}, ["f.log"])
    assert jobs.current.rule == "measure"
    assert jobs.end(1).rule == "measure" and jobs.current.words == "f of s"
    assert jobs.end(2).log == "f.log" and jobs.end(2) is None
    assert (jobs.done, jobs.all) == (1, 3)
    # One was quick, so the other should be too.
    assert jobs.left < words.STAGES["report"].seconds + 1


def queue(folder, runs):
    progress.begin(folder / "progress", runs)
    return Queue(folder, runs, {"a": 2.0, "b": 4.0}, WORDS.get)


def crossed_off(folder, *rows):
    with open(folder / "progress" / progress.DONE, "a") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)


def test_runs_are_counted_as_they_are_crossed_off(tmp_path):
    runs = OfStudy(queue(tmp_path / "s", ["a/1", "b/1", "a/2", "b/2"]))
    assert runs.left == 12 and runs.update() == []
    crossed_off(tmp_path / "s", ["a/1", 4.0, 104.0, "valid", 2])
    with open(tmp_path / "s/progress" / progress.DONE, "a") as file:
        file.write('["b/1", 8.0, 11')
        file.flush()
        assert runs.update() == [] and [row[0] for row in runs.done] == ["a/1"]
        file.write('2.0, "valid", 1]\n')
    assert runs.update() == [] and [row[0] for row in runs.done] == ["a/1", "b/1"]
    assert runs.repeated == 1 and 10 < runs.left <= 12


def test_a_queue_is_made_of_a_plan_in_which_some_cells_cannot_be_measured(jha2021, planned):
    path, other = list(planned["cells"])[:2]
    planned["cells"][other] = {key: value for key, value in planned["cells"][other].items() if key != "expected_seconds"}
    planned["cells"][other]["reason"] = "it is not here"
    made = Queue.of(jha2021, planned, [f"{path}/1"])
    assert made.seconds[path] > 0 and other not in made.seconds
    assert str(made.folder) == "results/jha2021" and made.words(path) == jha2021.design.report.cell_label(path, {})


def test_a_cell_of_which_nothing_is_measured_is_expected_to_differ_from_its_plan_as_the_others():
    done = [["a/1", 4.0, 104.0, "valid", 1]]
    expected = {"a": 2.0, "b": 4.0}
    assert progress.remaining(["a/1", "b/1"], [], expected) == 6
    assert progress.remaining(["a/1", "a/2"], done, expected) == 4
    # The first runs say less about others than many do.
    assert progress.remaining(["a/1", "b/1"], done, expected) == pytest.approx(4 * 24 / 22)
    many = [[f"a/{number}", 4.0, 104.0 + 4 * number, "valid", 1] for number in range(100)]
    assert progress.remaining([*(row[0] for row in many), "b/1"], many, expected) == pytest.approx(8, rel=0.1)
    # Nothing is known about c.
    assert progress.remaining(["a/1", "c/1"], done, expected) == 4


def test_a_run_that_does_not_count_is_told_in_full_with_what_that_means_and_many_alike_are_not(tmp_path):
    folder = tmp_path / "s"
    names = [f"a/{number}" for number in range(MOST_ALIKE + 2)]
    runs = OfStudy(queue(folder, names))
    reason = "others used 2.31 s of processor time, which is " + "more than the profile allows, " * 5
    for number, name in enumerate(names):
        (folder / f"runs/{name}.json").parent.mkdir(parents=True, exist_ok=True)
        found = recorded(**tried(status="disturbed", reason=reason.replace("2.31", f"2.3{number}")))
        (folder / f"runs/{name}.json").write_text(json.dumps(found))
        crossed_off(folder, [name, 1.0, 100.0 + number, "disturbed", 3])
    told = runs.update()
    assert len(told) == MOST_ALIKE and told[-1].endswith("More runs like it are only counted.")
    assert told[0].startswith("disturbed after 3 attempts: two Docker containers, b_eff (repetition 0): others used 2.30 s")
    assert reason.replace("2.31", "2.30").strip() in told[0] and "It gives no value. The next start tries it again" in told[0]


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(failing_groups.VARIABLE, "one")
    monkeypatch.delenv(call.FOLLOWED, raising=False)
    monkeypatch.setattr(interruption, "write", interruption.to_stream)
    return tmp_path / "results"


def event(kind, message="", **more):
    level = logging.ERROR if kind in (LogEvent.ERROR, LogEvent.JOB_ERROR) else logging.INFO
    return logging.makeLogRecord({"msg": message, "levelno": level, "event": kind, **more})


def begun(results):
    """Return (a display that has begun, what takes its events) for a study with two runs and a figure."""
    shown = Display()
    events = Events(shown)
    assert events.begin()
    shown.expect([queue(results / "s", ["a/1", "b/1"])], call.Later())
    events.take(event(LogEvent.RUN_INFO, stats={"measure": 2, "figure": 1, "total": 3}), "Job stats:")
    return shown, events


def started(events, number, rule, log, **wildcards):
    events.take(event(LogEvent.JOB_INFO, jobid=number, rule_name=rule, wildcards=wildcards, log=[log]), f"rule {rule}")


def test_a_workflow_is_one_line_and_everything_else_is_in_the_log(results, capfd):
    shown, events = begun(results)
    started(events, 1, "measure", "a.log", study="s", run="a/1")
    assert shown.now()[:5] == ("measuring", WORDS["a"], 0, 3, False)
    crossed_off(results / "s", ["a/1", 1.0, 100.0, "valid", 2])
    os.write(2, b"image hpcc: building it\nplimsoll: the engine does not answer; it is started again.\n")
    events.take(event(LogEvent.JOB_FINISHED, job_id=1), "Finished jobid: 1")
    started(events, 2, "figure", "f.log", study="s", figure="fig05")
    shown._look()
    assert shown.now()[:3] == ("writing", "fig05 of s", 1) and shown.now().repeated == 1
    events.close()
    said = capfd.readouterr().err.splitlines()
    assert said == [
        "plimsoll: the engine does not answer; it is started again.",
        "s: 1 valid, 1 repeated",
        "The log of all steps: results/logs/workflow.log",
    ]
    log = (results / "logs/workflow.log").read_text()
    assert all(f" {text}\n" in log for text in ("image hpcc: building it", "Job stats:", "rule figure", said[0], said[1]))
    assert "rule measure" not in log and "Finished jobid" not in log


def test_workflows_that_take_turns_say_so_once_above_the_line_and_then_in_it(results, capfd):
    shown, events = begun(results)
    started(events, 1, "measure", "a.log", study="s", run="a/1")
    waits = "plimsoll: another workflow is measuring on this machine (root, process {}); waiting for it."
    for number in (7, 8):
        os.write(2, f"{waits.format(number)}\n".encode())
        shown._look()
        assert shown.now().phase == "waiting"
        os.write(2, f"[{number}/9] valid\n".encode())
        shown._look()
        assert shown.now().phase == "measuring"
    events.close()
    assert [line for line in capfd.readouterr().err.splitlines() if "waiting" in line] == [waits.format(7)]
    assert waits.format(8) in (results / "logs/workflow.log").read_text()


def test_after_the_end_the_streams_are_those_of_before(results, capfd):
    _, events = begun(results)
    os.write(1, b"to the log\n")
    events.close()
    os.write(1, b"to the screen\n")
    captured = capfd.readouterr()
    assert captured.out == "to the screen\n" and "to the log" in (results / "logs/workflow.log").read_text()


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            "Traceback:\n  File x\nKeyError: 'x'\n",
            "plimsoll: fig05 of s failed (KeyError: 'x'). What was measured is kept, and ",
        ),
        ("", "plimsoll: fig05 of s failed (it printed nothing). What was measured is kept"),
        ("plimsoll: config.yaml has no such key.\n", None),
    ],
)
def test_a_job_that_fails_is_told_once_without_the_command_of_the_shell(results, capfd, log, said):
    _, events = begun(results)
    (results / "f.log").write_text(log)
    started(events, 1, "figure", "results/f.log", study="s", figure="fig05")
    os.write(2, log.encode())
    failed = {"jobid": 1, "shellcmd": "set -euo pipefail; python"}
    events.take(event(LogEvent.ERROR, exception="RuleException"), "RuleException:\nCalledProcessError in file x, line 3:")
    events.take(event(LogEvent.JOB_ERROR, **failed), "Error in rule figure:\n    shell:\n        set -euo pipefail; python")
    events.take(
        event(LogEvent.ERROR, exception="WorkflowError"), "WorkflowError:\nAt least one job did not complete successfully."
    )
    events.close()
    told = [text for text in capfd.readouterr().err.splitlines() if not text.startswith("The log of all steps")]
    (only,) = told
    assert only.startswith(said or log.strip())
    assert said is None or only.endswith("that do not need this. results/f.log says more.")
    assert "set -euo pipefail" in (results / "logs/workflow.log").read_text()


def test_what_snakemake_refuses_is_told(results, capfd):
    _, events = begun(results)
    no_rule = (
        "MissingRuleException:\nNo rule to produce results/x (if you use input functions make sure that they don't raise)."
    )
    events.take(event(LogEvent.ERROR, exception="MissingRuleException"), no_rule)
    events.take(event(LogEvent.ERROR, exception="CyclicGraphException"), "CyclicGraphException in rule a")
    events.close()
    said = capfd.readouterr().err
    assert "plimsoll: No rule to produce results/x, and nothing was done. `./plimsoll list` lists what can be made.\n" in said
    assert "CyclicGraphException in rule a\n" in said


def test_nothing_to_be_done_is_told(results, capfd):
    _, events = begun(results)
    events.take(event(None), "Nothing to be done (all requested files are present and up to date).")
    events.close()
    assert capfd.readouterr().err.startswith("Nothing to be done: all results are there already.\n")


def test_after_ctrl_c_only_its_line_is_shown(results, capfd, monkeypatch):
    _, events = begun(results)
    monkeypatch.setattr(interruption.happened, "is_set", lambda: True)
    interruption.write(b"plimsoll: interrupted.\n")
    started(events, 1, "measure", "results/a.log", study="s", run="a/1")
    os.write(2, b"plimsoll: a job was ended\n")
    events.take(event(LogEvent.JOB_ERROR, jobid=1), "Error in rule measure")
    events.close()
    assert capfd.readouterr().err == "plimsoll: interrupted.\n"
    assert "plimsoll: a job was ended" in (results / "logs/workflow.log").read_text()


def test_workflows_of_one_command_are_counted_together_and_have_one_log(results, capfd, monkeypatch):
    monkeypatch.setenv(call.FOLLOWED, "1")
    _, events = begun(results)
    crossed_off(results / "s", ["a/1", 1.0, 100.0, "valid", 2], ["b/1", 1.0, 101.0, "valid", 1])
    events.close()
    # The log is named at the end of the command.
    assert capfd.readouterr().err == "s: 2 valid, 1 repeated\n"
    monkeypatch.delenv(call.FOLLOWED)
    shown, events = begun(results)
    assert (shown.now().done, shown.now().all, shown.now().repeated) == (2, 5, 1)
    events.close()
    log = (results / "logs/workflow.log").read_text()
    assert log.count("Job stats:") == 2
    # Another command begins its own, and the one before is kept.
    monkeypatch.setenv(failing_groups.VARIABLE, "two")
    shown, events = begun(results)
    assert shown.now().done == 0
    events.close()
    assert (results / "logs/workflow.log").read_text().count("Job stats:") == 1
    assert (results / "logs/workflow.before.log").read_text() == log


def test_a_first_stage_expects_what_the_second_takes_of_the_time(tmp_path, planned, jha2021, monkeypatch):
    monkeypatch.setenv(call.FOLLOWED, "1")
    seconds = sum(planned["cells"][cell]["expected_seconds"] for cell, _ in planned["order"])
    hours = {"stage": "first", "given": [2 * seconds / 3600 / call.SHARE], "before": 0.0}
    studies, plans, folder = {"jha2021": jha2021}, {"jha2021": planned}, tmp_path / "jha2021"
    folder.mkdir()
    repetitions.ask(folder, planned["profile"], repetitions.RequestedRepetitions({}, exact=True, hours=hours))
    later = call.later(tmp_path, "jha2021", studies, plans)
    pages = len(words.PAGES) + len(jha2021["figures"]) + len(jha2021["tables"])
    assert later.runs == pytest.approx(len(planned["order"]), abs=1) and later.steps == later.runs + pages
    assert later.seconds > seconds
    # A study after it takes as long.
    both = call.later(tmp_path, "jha2021", {**studies, "other": jha2021}, {**plans, "other": planned})
    assert both.steps == pytest.approx(later.steps + pages + 2 * len(planned["order"]), abs=2)
    assert call.later(tmp_path, "jha2021", {"other": jha2021, **studies}, {**plans, "other": planned}).runs == later.runs
    repetitions.ask(
        folder, planned["profile"], repetitions.RequestedRepetitions({}, exact=True, hours={**hours, "stage": "second"})
    )
    assert call.later(tmp_path, "jha2021", studies, plans).steps == pages
    monkeypatch.delenv(call.FOLLOWED)
    assert call.later(tmp_path, "jha2021", studies, plans) == call.Later()


def test_the_total_is_the_time_that_was_given(tmp_path, planned, jha2021, monkeypatch):
    monkeypatch.setenv(call.FOLLOWED, "1")
    monkeypatch.setattr(timetable, "FORETOLD", tmp_path / "timetable.json")
    monkeypatch.setenv(timetable.START, str(int((time.time() - 100) * 1e9)))
    timetable.say({"setup": 0.0, "images": 0.0, "measuring": 600.0, "pages": 60.0})
    folder = tmp_path / "jha2021"
    folder.mkdir()
    hours = {"stage": "first", "given": [0.2], "before": 0.0}
    repetitions.ask(folder, planned["profile"], repetitions.RequestedRepetitions({}, exact=True, hours=hours))
    later = call.later(tmp_path, "jha2021", {"jha2021": jha2021}, {"jha2021": planned})
    assert later.ends == pytest.approx(time.time() + 500, abs=1)
    pages = later.seconds - later.measuring
    # Runs of the first stage that take long are time that the second one does not have.
    for needed in (10.0, 499.0, 5000.0):
        left = min(500, needed + later.measuring)
        assert later.left(needed, later.ends - 500) == pytest.approx(left + pages)
    assert later.left(300.0, later.ends + 60) == pages
    assert later._replace(ends=None).left(300.0, 0.0) == 300 + later.seconds


def handler(**settings):
    usual = {"dryrun": False, "verbose": False, "stdout": False, "quiet": None, "debug_dag": False, "printshellcmds": False}
    return plugin.LogHandler(SimpleNamespace(**{**usual, **settings}), None)


def test_a_workflow_of_another_project_sees_snakemake_s_lines(capsys, monkeypatch):
    monkeypatch.delenv(plugin.VERBOSE, raising=False)
    made = handler()
    made.emit(event(None, "Assuming something"))
    assert capsys.readouterr().err == ""
    made.emit(event(LogEvent.WORKFLOW_STARTED, "Workflow has started!"))
    made.emit(event(None, "Building DAG of jobs..."))
    assert capsys.readouterr().err == "Assuming something\nWorkflow has started!\nBuilding DAG of jobs...\n"


def test_what_was_kept_is_shown_where_no_workflow_starts(capsys, monkeypatch):
    monkeypatch.delenv(plugin.VERBOSE, raising=False)
    made = handler()
    made.taker = SimpleNamespace(close=lambda: None)
    made.emit(event(None, "Congratulations"))
    made.close()
    assert capsys.readouterr().err == "Congratulations\n"


@pytest.mark.parametrize("settings", [{"dryrun": True, "stdout": True}, {"verbose": True}])
def test_a_dry_run_and_a_verbose_one_show_snakemake_s_lines(capsys, settings):
    made = handler(**settings)
    assert made.is_plain
    made.emit(event(None, "Job stats:"))
    shown = capsys.readouterr()
    assert (shown.out if settings.get("stdout") else shown.err) == "Job stats:\n"


def test_a_variable_makes_it_verbose(monkeypatch):
    monkeypatch.setenv(plugin.VERBOSE, "1")
    assert handler().is_plain
    monkeypatch.setenv(plugin.VERBOSE, "0")
    assert not handler().is_plain and not handler(quiet={Quietness.RULES}).is_plain


def test_who_wants_to_see_nothing_sees_no_line(capsys):
    made = handler(quiet={Quietness.ALL})
    made.emit(event(None, "Building DAG of jobs..."))
    assert made.is_plain and capsys.readouterr() == ("", "")

"""The outer attempt of runs that keep services up: each way in which one can end, and what is removed after it."""

from types import SimpleNamespace

import pytest
from plimsoll.designs.interference import attempts as interference
from plimsoll.designs.nesting import cpu, creation, network
from plimsoll.designs.overhead import attempts as overhead
from plimsoll.designs.tuning import attempts as tuning
from plimsoll.errors import Outage, Unavailable
from plimsoll.measuring import noise, status
from plimsoll.services.attempts import Run, ServiceAttempts
from plimsoll.workloads.base import InvalidOutput

QUIET = {"disturbed": False}


class Made(Run):
    """A run that measures a value, or fails as the test wants."""

    spans, counted = [], True

    def __init__(self, fails=None, why=None):
        self.fails, self.why, self.removed = fails, why, 0

    def measure(self):
        if self.fails:
            raise self.fails
        return {"value": 1}

    def take_down(self):
        self.removed += 1

    def found(self):
        return {"value": None}

    def problem(self, measured):
        return self.why if measured["value"] == 1 else None


def attempted(run: Made, during: dict = QUIET, cannot_start: Exception | None = None) -> tuple[dict, dict]:
    """Return the record's part of an attempt at a run, and the attempt's notes."""

    class Attempts(ServiceAttempts):
        def start(self, attempt):
            if cannot_start:
                raise cannot_start
            return run

    notes = {"seconds": {}, "noise": {}}
    image = {"files": {"/opt/x": {"sha256": "aa"}}}
    run.attempt = attempt = SimpleNamespace(notes=notes, image=image, cell={"path": "c"}, beside=lambda spans, apart: during)
    found = Attempts().launch(attempt)
    return found["c"], notes


def test_a_run_that_ends_well_is_valid_and_removed():
    run = Made()
    found, notes = attempted(run)
    assert found == {"value": 1, "bits": {"/opt/x": "aa"}, "status": status.VALID, "reason": None}
    assert run.removed == 1 and set(notes["seconds"]) == {"run", "remove"} and notes["noise"]["during"] is QUIET


@pytest.mark.parametrize(
    ("problem", "ends"), [(InvalidOutput("no number"), status.INVALID), (Unavailable("no room"), status.FAILED)]
)
def test_a_run_that_fails_keeps_what_is_known_of_it_and_is_removed(problem, ends):
    run = Made(problem)
    found, notes = attempted(run)
    assert found == {"value": None, "status": ends, "reason": str(problem)}
    assert run.removed == 1 and "remove" in notes["seconds"] and "during" not in notes["noise"]


def test_what_is_read_after_a_run_was_removed_may_show_that_it_does_not_count():
    class Cut(Made):
        def read(self):
            assert self.removed == 1
            raise InvalidOutput("its log is cut")

    found, notes = attempted(Cut(why="it lost a node"))
    assert found == {"value": None, "status": status.INVALID, "reason": "its log is cut"}
    assert notes["noise"]["during"] is QUIET


def test_a_run_adds_what_it_reads_to_what_it_measured():
    class Reading(Made):
        def read(self):
            return {"log": [self.removed], **super().read()}

    found, _ = attempted(Reading())
    assert list(found) == ["value", "log", "bits", "status", "reason"] and found["log"] == [1]


def test_a_run_that_has_a_problem_does_not_count_even_if_it_was_disturbed():
    found, _ = attempted(Made(why="it lost a node"), {"disturbed": True})
    assert (found["status"], found["reason"], found["value"]) == (status.INVALID, "it lost a node", 1)


def test_a_disturbed_run_keeps_what_it_has_measured(monkeypatch):
    monkeypatch.setattr(noise, "disturbance", lambda during: {"status": status.DISTURBED, "reason": "neighbours"})
    found, _ = attempted(Made(), {"disturbed": True})
    assert found == {"value": 1, "bits": {"/opt/x": "aa"}, "status": status.DISTURBED, "reason": "neighbours"}


def test_a_run_that_cannot_be_started_has_nothing_to_remove():
    run = Made()
    found, notes = attempted(run, cannot_start=Unavailable("no such runtime"))
    assert found == {"status": status.FAILED, "reason": "no such runtime"} and run.removed == 0 and not notes["seconds"]


def test_an_outage_is_no_status_and_the_run_is_removed():
    run = Made(Outage("the disk is full", "free some"))
    with pytest.raises(Outage):
        attempted(run)
    assert run.removed == 1


def test_the_runs_of_designs_are_complete():
    for kind in (interference._Run, overhead._Run, tuning._Run, cpu.Task, creation.Task, network.Task):
        assert issubclass(kind, Run) and not kind.__abstractmethods__ and isinstance(kind.counted, property)

"""The list of what can be made: states from plans and records, and text that fits the terminal."""

import pytest
from plimsoll.config import studies
from plimsoll.planning import availability, planner
from plimsoll.planning.repetitions import RequestedRepetitions
from plimsoll.terminal import listing, machine

STUDY = "liu2020"


@pytest.fixture
def plan(liu2020, config, small_host) -> dict:
    """Plan of liu2020 on a host with two cores, on the quick profile."""
    return planner.make(liu2020, studies.profile("quick"), small_host, config, {})


def rows(sections, kind: str) -> dict[str, tuple[str, ...]]:
    """Return the rows of a section by name."""
    section = next(section for section in sections if section.head[0] == kind)
    return {row[0]: row[1:] for row in section.rows}


def fig09(plan, liu2020) -> list[tuple[str, int]]:
    return availability.figure_runs(plan, liu2020, "fig09")


def test_states_of_cells():
    """A cell is measured if it has a run that counts. Cells are counted, and runs only while some are left."""
    cells = [{"path": "a", "reason": None}, {"path": "b", "reason": None}, {"path": "c", "reason": "not here"}]
    runs = [("a", 1), ("a", 2), ("b", 1)]

    def told(there: dict) -> str:
        return listing.state(cells, runs, there).words

    assert told({}) == told({("a", 1): "stale"}) == "missing"
    assert told({("a", 1): "valid"}) == told({("a", 1): "valid", ("a", 2): "stale"}) == "1 of 2 cells"
    assert told({("a", 1): "valid", ("a", 2): "failed"}) == "1 of 2 cells, 1 invalid"
    assert told({("a", 1): "valid", ("b", 1): "valid"}) == "2 of 3 runs"
    assert told({("a", 1): "valid", ("a", 2): "censored", ("b", 1): "valid"}) == "measured"
    assert told(dict.fromkeys(runs, "disturbed")) == "0 of 2 cells, 3 invalid"
    # No run is planned of a cell that the time is too short for, and it is not measured.
    assert listing.state(cells, runs[:2], dict.fromkeys(runs, "valid")).words == "1 of 2 cells"


def test_a_figure_is_missing_partly_measured_measured_and_drawn(plan, liu2020):
    runs = fig09(plan, liu2020)
    command = "results/liu2020/figures/fig09.pdf"

    def told(there, made=()):
        return rows(listing.of_study(liu2020, plan, there, set(made)), "figures")["fig09"]

    assert told({}) == ("missing", told({})[1], command)
    some, here = len({cell for cell, _ in runs[:7]}), len({cell for cell, _ in runs})
    assert told(dict.fromkeys(runs[:7], "valid"))[0] == f"{some} of {here} cells"
    assert told(dict.fromkeys(runs, "valid"))[0] == "measured, not made"
    assert told(dict.fromkeys(runs, "valid"), ["figures/fig09.pdf"])[0] == "measured"


def test_what_the_time_is_too_short_for_is_told_beside_what_was_measured(liu2020, config, small_host):
    """A study is not simply measured if some cells have all of their runs and most have none."""
    whole = planner.make(liu2020, studies.profile("quick"), small_host, config, {})
    chosen = [cell for cell, _ in fig09(whole, liu2020)[:1]]
    asked = RequestedRepetitions(dict.fromkeys(chosen, 4), exact=True)
    plan = planner.make(liu2020, studies.profile("quick"), small_host, config, {}, asked)
    there = dict.fromkeys(plan["order"], "valid")
    here = sum(cell["reason"] is None for cell in plan["cells"].values())
    (study,) = listing.of_studies({STUDY: plan}, {STUDY: there}, "quick").rows
    assert study[1] == f"1 of {here} cells"
    sections = listing.of_study(liu2020, plan, there, {"figures/fig09.pdf"})
    shown = [cell for cell in availability.shown_cells(plan, liu2020, "fig09") if cell["reason"] is None]
    assert rows(sections, "figures")["fig09"][0] == f"1 of {len(shown)} cells"
    assert rows(sections, "experiments")["granularity"][0].startswith("1 of ")


def test_what_cannot_be_measured_here_has_its_reason_and_no_command(plan, liu2020):
    sections = listing.of_study(liu2020, plan, {}, set())
    state, mark, command = rows(sections, "figures")["fig16"]
    assert (state, command) == ("left out", "")
    assert rows(sections, "why")[mark][0].startswith("the numa setting needs 2 sockets")
    # For a figure that can be measured in part, the list shows how many of its cells cannot.
    shown = availability.shown_cells(plan, liu2020, "fig09")
    lacking = [cell for cell in shown if cell["reason"]]
    assert 0 < len(lacking) < len(shown)
    assert rows(sections, "figures")["fig09"][1] == f"{len(lacking)} {mark}"
    used = {row[2] for kind in ("experiments", "instruments", "figures", "tables") for row in map(tuple, pairs(sections, kind))}
    numbers = {number for mark in used if mark for number in mark.partition("[")[2].rstrip("]").split(",")}
    assert numbers == {name.strip("[]") for name in rows(sections, "why")}


def test_what_there_was_no_time_for_is_counted_with_its_reason(plan, liu2020):
    cells = {path: {**cell, "repetitions": 0} if cell["scheme"] == "E2" else cell for path, cell in plan["cells"].items()}
    there = [run for run in plan["order"] if cells[run[0]]["repetitions"]]
    sections = listing.of_study(liu2020, {**plan, "cells": cells, "order": there}, {}, set())
    reasons = rows(sections, "why")
    (number,) = [mark.strip("[]") for mark, (reason,) in reasons.items() if reason == availability.TOO_SHORT]
    _, mark, _ = rows(sections, "figures")["fig09"]
    assert number in mark.partition("[")[2].rstrip("]").split(",")


def pairs(sections, kind: str):
    return [(name, *row) for name, row in rows(sections, kind).items()]


def test_drawings_of_the_design_and_tables_of_the_host_need_no_runs(plan, liu2020):
    sections = listing.of_study(liu2020, plan, {}, {"figures/fig04.pdf", "tables/table02.csv"})
    assert rows(sections, "figures")["fig04"][:2] == ("made", "")
    assert rows(sections, "figures")["fig30"][:2] == ("missing", "")
    assert rows(sections, "tables")["table02"] == ("made", "", "results/liu2020/tables/table02.csv")
    assert rows(sections, "tables")["table01"][0] == "missing"


def test_everything_of_every_study_is_listed(plan, liu2020, planned, jha2021):
    for study, made in ((liu2020, plan), (jha2021, planned)):
        sections = listing.of_study(study, made, {}, set())
        assert set(rows(sections, "experiments")) == set(study["experiments"])
        assert set(rows(sections, "figures")) == set(study["figures"])
        assert set(rows(sections, "tables")) >= set(study["tables"])
    assert set(rows(listing.of_study(liu2020, plan, {}, set()), "instruments")) == {"plain", "mpi", "events"}
    # Tables that need no run can be made on any machine.
    assert rows(listing.of_study(jha2021, planned, {}, set()), "tables")["table01"][0] == "missing"


def test_studies_say_what_is_left_and_how_it_is_made(planned):
    runs = planned["order"]
    (row,) = listing.of_studies({"jha2021": planned}, {"jha2021": dict.fromkeys(runs[:300], "valid")}, "quick").rows
    assert row[:2] == ("jha2021", "300 of 700 runs") and row[2].startswith("about ")
    assert row[3] == "./plimsoll reproduce jha2021"
    (row,) = listing.of_studies({"jha2021": planned}, {"jha2021": dict.fromkeys(runs, "valid")}, "paper").rows
    assert row[1:] == ("measured", "", "./plimsoll reproduce jha2021 --profile paper")


def test_runtimes_say_whether_they_work_and_how_far_they_are_measured(plan, planned):
    plans, runs = {STUDY: plan, "jha2021": planned}, [run for run in plan["order"] if "/docker/" in run[0]]
    runtimes = {
        "docker": listing.Runtime("required", version="Docker 20"),
        "singularity": listing.Runtime("optional", reason="apptainer is not installed"),
        "podman": listing.Runtime("off"),
    }
    there = {STUDY: dict.fromkeys(runs, "valid"), "jha2021": {}}
    told = {row[0]: row[1:] for row in listing.of_runtimes(plans, there, runtimes).rows}
    here = [
        cell for one in plans.values() for cell in one["cells"].values() if cell["runtime"] == "docker" and not cell["reason"]
    ]
    assert told["docker"] == (f"{len({cell for cell, _ in runs})} of {len(here)} cells", "Docker 20")
    assert told["singularity"][0] == "missing" and "does not work: apptainer is not installed" in told["singularity"][1]
    assert told["podman"] == ("off", "./plimsoll add podman")


def test_runtimes_that_are_off_and_other_studies_are_a_sentence_each(plan, liu2020, tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    known = {"docker": listing.Runtime("required", version="Docker 20"), "podman": listing.Runtime("off")}
    found = machine.Machine("quick", {STUDY: liu2020}, {STUDY: plan}, {STUDY: {}}, {**known, "vm": listing.Runtime("off")})
    told = machine.text(found, [], 80)
    assert "Off: podman, vm. ./plimsoll add NAME turns one on." in told and "add podman" not in told
    others = [name for name in studies.names(studies.STUDIES) if name != STUDY]
    assert f"Other studies: {', '.join(others)}. ./plimsoll list all lists everything." in " ".join(told.split())
    assert max(map(len, told.splitlines())) <= 80


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_text_fits_the_terminal(plan, liu2020, width):
    sections = [listing.of_studies({STUDY: plan}, {STUDY: {}}, "paper"), *listing.of_study(liu2020, plan, {}, set())]
    lines = listing.text(sections, width).splitlines()
    assert max(map(len, lines)) <= width
    if width >= 80:
        (line,) = [line for line in lines if line.startswith("  fig09 ")]
        assert line.endswith("results/liu2020/figures/fig09.pdf")
        # Columns are aligned: the commands of all figures start in the same column.
        commands = {line.index("results/") for line in lines if "/figures/fig" in line}
        assert len(commands) == 1

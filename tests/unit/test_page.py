"""Numbers and sentences for readers, and the content of single parts of the pages."""

import inspect
import re

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from plimsoll.cli.precise import precise
from plimsoll.config import configuration
from plimsoll.measuring import record
from plimsoll.pages import cards, comparison_rows, figure_list, formats, report, run_list, wording
from plimsoll.planning import precision

from tests.conftest import recorded, tried

NAN = float("nan")


@pytest.mark.parametrize(("value", "text"), [(0, "< 1e-300"), (0.012345, "0.0123"), (NAN, ""), (None, ""), ("", "")])
def test_a_p_is_never_zero(value, text):
    assert formats.p_value(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1234.5, "1,230"),
        (-0.5, "−0.5"),
        (2.5e8, "2.5e+08"),
        (0.0012, "0.0012"),
        (1.5e-5, "1.5e-05"),
        (NAN, ""),
        (None, ""),
    ],
)
def test_other_numbers_may_be_zero_and_have_no_exponent_in_between(value, text):
    assert formats.significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "+50 %"), (-0.034, "−3.4 %"), (0.0012, "+0.12 %"), (3.0, "+300 %"), (9.0, "×10"), (None, ""), (NAN, "")],
)
def test_a_relative_difference(value, text):
    assert formats.percent(value) == text


@pytest.mark.parametrize(("value", "text"), [(1.0, "1.00"), (0.717, "0.72"), (0.0379, "0.038"), (12.34, "12.3"), (NAN, "")])
def test_a_ratio(value, text):
    assert formats.ratio(value) == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("87.0% of its time, 1 % of 3", "87.0 % of its time, 1 % of 3"),
        ("this host has 1 socket(s) and 2 memory node(s)", "this host has 1 socket and 2 memory nodes"),
        (None, ""),
    ],
)
def test_texts_are_printed_in_one_way(text, printed):
    assert formats.prose(text) == printed


def test_the_navigation_has_every_section_in_order():
    found = formats.sections('<h2 id="a">One</h2><h3 id="x">not this</h3><h2 id="b">Two &amp; three</h2>')
    assert [(anchor, str(heading)) for anchor, heading in found] == [("a", "One"), ("b", "Two &amp; three")]


def rows(*effects: tuple[str, float]) -> list[dict]:
    return [{"label": label, "effect": effect} for label, effect in effects]


@pytest.mark.parametrize(
    ("quantity", "compared", "text"),
    [
        (None, rows(("b_eff", -0.2), ("b_eff", 0.5)), "difference: −20 % to +50 %"),
        (None, rows(("b_eff", -0.96), ("b_eff", 81.8)), "difference: ×0.04 to ×82.8"),
        (None, rows(("b_eff", 11.2), ("b_eff", 3879.0)), "difference: ×12.2 to more than ×100"),
        (None, rows(("band", 99.0), ("latency", 100.0)), "difference: band ×100; latency more than ×100"),
        (None, rows(("band", -0.2), ("latency", 9.0)), "difference: band −20 %; latency ×10"),
        ("relative loss", rows(("G-FFT", -1.04), ("G-FFT", 0.027)), "difference of losses: −104 to +2.7 points"),
        ("transport", rows(("share of the runs", 0.0), ("share of the runs", 1.0)), "share of the runs that agree: 0 to 1"),
        ("printed value", rows(("in MPI", -0.051), ("in MPI", 0.12)), "difference from the printed value: −5.1 to +12 points"),
        ("dispersion", rows(("seeks", 0.5)), "difference of spread: +50 %"),
        (None, rows(("b_eff", NAN)), "no effect could be estimated"),
    ],
)
def test_effects_are_said_metric_by_metric_on_one_scale(quantity, compared, text):
    assert wording.effects({"quantity": quantity}, compared) == text


def test_effects_of_parts_are_each_of_the_quantity_of_their_part():
    claim = {"quantity": None, "parts": [{"quantity": "relative loss"}, {"quantity": "count"}, {"quantity": None}]}
    compared = [{"label": "m", "effect": effect, "part": part} for effect, part in ((-0.72, 1), (1.0, 2), (0.5, 3))]
    said = "difference of losses: −72 points; share of the runs that agree: 1; difference: +50 %"
    assert wording.effects(claim, compared) == said
    found = {
        **dict.fromkeys(("low", "high", "detectable", "cell_a", "cell_b")),
        **open_row(metric="m", margin=0.05, expected="lower"),
    }
    shown = [comparison_rows.row(claim, {**found, **one}, {"metrics": {}}, None) for one in compared]
    # Only a relative difference can be drawn on a strip.
    assert [(row["effect"], row["strip"] is None) for row in shown] == [("−72 points", True), ("1", True), ("+50 %", False)]


def open_claim(needed, undecidable="", **given) -> dict:
    decide = {"undecidable": undecidable, "repetitions": needed, "cells": 2, "runs": 14, "seconds": 100.0, "profile": "quick"}
    decide |= {"all_seconds": 9000.0, "width": 0.1}
    base = {"verdict": "inconclusive", "quantity": None, "needed": needed, "n_most": 5, "decide": decide, "study": "liu2020"}
    return {**base, "holds": "each", "whole": None, "parts": [], **given}


def open_row(**given) -> dict:
    base = {"verdict": "inconclusive", "n": 5, "detectable": 0.22, "margin": 0.05, "needed": 12, "test": "paired t", "part": 1}
    return {**base, **given}


@pytest.mark.parametrize(
    ("claim", "row", "could", "would"),
    [
        (
            open_claim(12),
            {},
            "5 runs of each side can find differences of 22 %, and the margin is 5.0 %",
            r"^About 12 repetitions should decide it: 14 more runs of its 2 cells, which take about 2 minutes\..* 2\.5 hours:$",
        ),
        (open_claim(3), {}, "22 %", "though as many as were made should have been enough"),
        (
            open_claim(4000, "it would take 4,000"),
            {"needed": 4000},
            "22 %",
            r"^Undecidable here: it would take 4,000\. 4,000 repetitions are 14 more runs of its 2 cells, [^.]* 2 minutes\.$",
        ),
        (open_claim(8), {"detectable": 0.02}, "the interval reaches over the margin of 5.0 %", "About 8"),
        (open_claim(None, "x"), {"detectable": NAN, "test": "Brown-Forsythe"}, "for this test none can be excluded", "x"),
        (open_claim(None, "x"), {"detectable": NAN, "test": "none: too few blocks"}, "fewer than 3 runs of a side", "x"),
    ],
)
def test_an_undecided_claim_says_what_could_have_been_found_and_what_would_decide_it(claim, row, could, would):
    found, *take = wording.decision_hints(claim, [open_row(**row), {**open_row(), "verdict": "reproduced", "detectable": 0.9}])
    assert found.startswith("Not decided by these runs: ") and could in found
    assert re.search(would, " ".join(take))


def test_what_several_claims_share_is_a_sentence_of_its_own():
    common = "Undecidable here: it would take too many."
    rows = [open_row(), open_row(needed=400)]
    _, first, *own = wording.decision_hints(open_claim(400, "it would take too many"), rows)
    assert first == common and own == [
        "400 repetitions are 14 more runs of its 2 cells, which take about 2 minutes.",
        "./plimsoll precise would decide 1 of the 2 open comparisons.",
    ]
    told = [
        {"undecided": wording.decision_hints(open_claim(number, "it would take too many"), [open_row(needed=number)])}
        for number in (400, 500)
    ]
    assert report.said_of_many(told)[common] == 2
    assert not any("precise would decide" in sentence for one in told for sentence in one["undecided"])


def test_an_open_claim_with_a_small_difference_says_so_first():
    said = "There is no difference of 5.0 % or more here (two one-sided tests, 5 %). A smaller one is not excluded."
    assert (
        wording.decision_hints(open_claim(12, alike=0.05), [open_row()])[0]
        == wording.small_difference(open_claim(12, alike=0.05))
        == said
    )
    assert (
        wording.small_difference(open_claim(12))
        == wording.small_difference(open_claim(12, verdict="reproduced", alike=0.05))
        == ""
    )


def test_a_decided_claim_says_nothing_of_the_kind():
    assert wording.decision_hints(open_claim(12, verdict="reproduced"), [open_row()]) == []


def test_the_command_is_one_that_can_be_typed():
    made = wording.command(open_claim(12))
    assert made == "./plimsoll precise liu2020 --maximum 12"
    finer = open_claim(12)
    finer["decide"] |= {"width": 0.04, "profile": "paper"}
    assert wording.command(finer) == "./plimsoll precise liu2020 --profile paper --width 0.04 --maximum 12"
    assert wording.command(open_claim(400, "too many")) == ""
    # What the command leaves out is the default.
    defaults = inspect.signature(precise).parameters
    assert (defaults["maximum"].default, defaults["width"].default) == (str(precision.MAXIMUM), str(precision.WIDTH))
    assert configuration.read([])["profile"] == wording.USUAL_PROFILE


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 second"), (40, "40 seconds"), (89, "89 seconds"), (720, "12 minutes"), (9000, "2.5 hours"), (90000, "25 hours")],
)
def test_a_time_for_people(seconds, text):
    assert formats.duration(seconds) == text


@pytest.mark.parametrize(
    ("verdict", "size", "text"),
    [
        ("reproduced", "larger", "The direction only: the paper says +37 %; ours is larger."),
        ("reproduced", "as large", "The paper says +37 %; ours is as large (between half and twice of it)."),
        ("reproduced", "of unclear size", "The direction only: the paper says +37 %; ours is of unclear size."),
        ("contradicted", "opposite", "The paper says +37 %; ours is of the other sign."),
        ("reproduced", "", ""),
    ],
)
def test_a_claim_that_holds_in_direction_only_says_so(verdict, size, text):
    paper = {"low": 0.37, "high": 0.37, "of": "time"}
    assert wording.size({"verdict": verdict, "paper_magnitude": paper, "size": size}) == text


def test_contradicted_comparisons_come_first_and_large_effects_before_small_ones():
    table = pd.DataFrame(
        {
            "claim": "c",
            "verdict": ["reproduced", "inconclusive", "contradicted", "inconclusive"],
            "effect": [9.0, 0.1, -0.2, -0.5],
        }
    )
    found = [(row["verdict"], row["effect"]) for row in wording.by_claim(table)["c"]]
    assert found == [("contradicted", -0.2), ("inconclusive", -0.5), ("inconclusive", 0.1), ("reproduced", 9.0)]


def compared(effect: float, low: float, high: float) -> dict:
    return {"effect": effect, "low": low, "high": high, "margin": 0.05}


def test_what_is_off_the_strip_is_an_arrow_with_its_number_and_no_dot_at_the_end():
    far = comparison_rows.strip(compared(132.0, 41.0, 415.0))
    assert (far["arrow"], far["beyond"], far["interval"]) == (1, "×133", None)
    low = comparison_rows.strip(compared(-0.96, -0.97, -0.95))
    assert (low["arrow"], low["beyond"], low["interval"]) == (-1, "−96 %", None)
    near = comparison_rows.strip(compared(1.0, 0.0, 3.0))
    assert near["arrow"] == 0 and near["interval"][0] == 60 and near["at"] == pytest.approx(60 + 55 / 3, abs=0.1)
    # An interval that goes beyond an end is drawn up to the end.
    over = comparison_rows.strip(compared(5.0, 0.0, 40.0))
    assert over["interval"] == (60, 115) and over["over"] == (False, True) and near["over"] == (False, False)
    assert comparison_rows.strip(compared(NAN, NAN, NAN)) is None


def test_of_the_other_side_only_what_differs_is_named():
    name = "two Docker containers, exactly subscribed, any processor, UMA"
    assert comparison_rows.differing(name, "bare metal, exactly subscribed, any processor, UMA") == "bare metal"
    assert comparison_rows.differing(name, name) == "the same"


def write(folder, path: str, repetition: int, status: str, reason, attempts: list[dict]) -> dict:
    """Write a record below a folder, and return its row of the table of runs."""
    raw = f"raw/{path}/{repetition}-{len(attempts) + 1}"
    of_attempts = {"attempts": len(attempts) + 1, "invalid_attempts": attempts}
    found = recorded(raw=raw, repetition=repetition, status=status, reason=reason, **of_attempts)
    record.write(record.path_of(folder / "runs", path, repetition), found)
    case, pair = path.split("/")
    keys = ("repetition", "status", "attempts", "reason", "raw")
    return {"case": case, "pair": pair, **{key: found[key] for key in keys}}


def test_each_run_that_did_not_count_or_was_repeated_leads_to_its_record_and_raw_output(tmp_path):
    plan = {"factors": ["case", "pair"]}
    disturbed = tried(status="disturbed", reason="others used 0.15 s", raw="raw/1/linpack/2-1")
    table = [
        write(tmp_path, "1/linpack", 1, "valid", None, []),
        write(tmp_path, "1/linpack", 2, "valid", None, [disturbed]),
        write(tmp_path, "2/linpack", 1, "failed", "it ended with 1", []),
        {"case": "3a", "pair": "linpack", "repetition": 1, "status": "damaged", "reason": "no complete JSON file"},
    ]
    (tmp_path / "runs/3a/linpack").mkdir(parents=True)
    (tmp_path / "runs/3a/linpack/1.json").write_text("{")
    runs = pd.DataFrame(table)
    repeated, failed, damaged = run_list.rows_of(runs, plan, tmp_path / "runs")
    assert (repeated["record"], repeated["status"]) == ("runs/1/linpack/2.json", "valid")
    assert [(one["status"], one["reason"], one["raw"]) for one in repeated["attempts"]] == [
        ("disturbed", "others used 0.15 s", "raw/1/linpack/2-1"),
        ("valid", None, "raw/1/linpack/2-2"),
    ]
    assert failed["attempts"] == [{"status": "failed", "reason": "it ended with 1", "raw": "raw/2/linpack/1-1"}]
    assert damaged["record"] == "runs/3a/linpack/1.json" and damaged["attempts"][0]["reason"] == "no complete JSON file"
    assert run_list.quiet(runs, plan) == [
        {"cell": "1/linpack", "runs": [{"repetition": 1, "record": "runs/1/linpack/1.json"}], "raw": "raw/1/linpack"}
    ]
    assert run_list.by_status(runs)[0] == {"status": "valid", "runs": 2, "repeated": 1}
    # A record that a user deleted has no link, but its reason stays.
    (tmp_path / "runs/3a/linpack/1.json").unlink()
    assert run_list.rows_of(runs, plan, tmp_path / "runs")[2]["record"] is None


def test_where_nothing_ran_there_is_no_list_of_runs(tmp_path):
    runs = pd.DataFrame({key: [] for key in ("case", "pair", "repetition", "status", "attempts", "reason", "raw")})
    assert run_list.rows_of(runs, {"factors": ["case", "pair"]}, tmp_path) == run_list.quiet(runs, {"factors": ["case"]}) == []


def test_only_figures_that_most_decided_claims_are_about_are_printed_in_a_summary():
    decided = {"verdict": "reproduced"}
    figures = [{"name": f"fig{number:02}", "claims": [decided] * (number % 9)} for number in range(12)]
    chosen = figure_list.main(figures)
    assert chosen == {"fig08", "fig07", "fig06", "fig05", "fig04", "fig03"}
    open_ones = [{"name": name, "claims": [{"verdict": "inconclusive"}]} for name in ("a", "b")]
    assert figure_list.main(open_ones) == {"a", "b"}


def test_a_cell_of_a_table_is_labelled_by_its_column_s_head():
    table = (
        '<table><thead><tr><th>cell</th><th class="number">ratio<br>[95 %]</th><th>a "quoted" &lt;head&gt;</th></tr></thead>'
        '<tbody><tr><th scope="row">one</th><td class="number">1</td><td>2</td></tr>'
        '<tr><th scope="row">two</th><td colspan="2">no run</td></tr></tbody></table><p>after</p>'
    )
    page = BeautifulSoup(cards.labelled(table), "html.parser")
    labels = [[cell.get("data-label") for cell in row.find_all(["th", "td"])] for row in page.tbody.find_all("tr")]
    assert labels == [["cell", "ratio", 'a "quoted" <head>'], ["cell", None]]
    assert [head.attrs for head in page.thead.find_all("th")] == [{}, {"class": ["number"]}, {}]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((0.021, 0.003, 0.04), "+2.1 % [+0.30 %, +4.0 %]"),
        ((0.021, NAN, NAN), "+2.1 %"),
        ((0.59, -0.99, 440.0), "too few runs to tell"),
        ((NAN, NAN, NAN), ""),
        (("", "", ""), ""),
    ],
)
def test_a_change_whose_interval_says_nothing_is_not_shown(given, text):
    assert formats.change(*given) == text


def test_a_difference_that_is_too_large_to_be_of_use_has_a_bound():
    assert [formats.detectable(value) for value in (0.2, 64.8, None)] == ["+20 %", "> ×10", ""]
    found, _ = wording.decision_hints(open_claim(12), [open_row(), open_row(detectable=336.0)])
    assert "can find differences of ×1.22 to ×11 and more, depending on the comparison" in found


def test_a_claim_that_only_another_study_s_cells_answer_has_no_repetitions_of_its_own():
    assert wording.decision_hints({**open_claim(12), "decide": None}, []) == []

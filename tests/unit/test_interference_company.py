"""Which iterations of a pair count as interfered."""

import pytest
from plimsoll.designs.interference import partner_overlap
from plimsoll.workloads.loop import read

from tests.conftest import DATA


def loop(*times, failed=()):
    """Return iterations as a loop logs them. Those whose number is in `failed` have no values."""
    return [
        {
            "iteration": number,
            "begin": begin,
            "end": end,
            "values": None if number in failed else {"x": 1.0},
            "reason": "it ended with 1" if number in failed else None,
        }
        for number, (begin, end) in enumerate(times, start=1)
    ]


def test_only_iterations_wholly_inside_the_partner_s_time_count():
    partner = loop((10, 20), (20.01, 30), (30.02, 41))
    mine = loop((5, 9), (8, 12), (10, 15), (19, 22), (29, 40), (35, 41), (39, 42), (50, 51))
    assert partner_overlap.under_interference(mine, partner) == [False, False, True, True, True, True, False, False]


def test_members_that_begin_together_both_count():
    # They were to start at the same moment, and started milliseconds apart.
    a, b = loop((100.0, 101.0)), loop((100.02, 101.03))
    assert partner_overlap.under_interference(a, b) == [True] and partner_overlap.under_interference(b, a) == [True]


def test_a_pause_of_the_partner_is_no_company():
    partner = loop((0, 10), (25, 35))
    assert partner_overlap.under_interference(loop((2, 8), (8, 27), (12, 20), (26, 30)), partner) == [True, False, False, True]
    assert partner_overlap.under_interference(loop((2, 8)), []) == [False]


def test_a_partner_that_fails_invalidates_its_interval_and_no_more():
    partner = loop((0, 10), (10.01, 12), (12.2, 20), (20.01, 30), failed=(2,))
    mine = loop((1, 9), (9.5, 10.5), (11, 13), (13, 19), (19, 29))
    assert partner_overlap.under_interference(mine, partner) == [True, False, False, True, True]


def test_a_partner_that_was_stopped_in_the_middle_was_company_until_then():
    partner = loop((0, 10), (10.01, 20))
    assert partner_overlap.under_interference(loop((15, 24)), partner) == [False]
    assert partner_overlap.under_interference(loop((15, 24)), partner, stopped=24.5) == [True]
    # If the last iteration of a loop failed, nothing is known of its next one, so it does not count as running.
    assert partner_overlap.under_interference(loop((15, 24)), loop((0, 10), (10.01, 20), failed=(2,)), stopped=24.5) == [False]


def test_what_does_not_count_says_why():
    a, b = loop((0, 4), (4, 8), (8, 12), (12, 16), failed=(2,)), loop((0, 4), (4, 8), (8, 12), (12, 16))
    partner_overlap.mark([a, b], end=10, stopped=(16, 16))
    assert [iteration["counts"] for iteration in a] == [True, False, True, False]
    assert [iteration["why_not"] for iteration in a] == [None, "it ended with 1", None, "it began after the window"]
    assert [iteration["why_not"] for iteration in b][:2] == [None, "its partner was not running all the time"]


def test_alone_every_good_iteration_counts():
    a = loop((0, 4), (50, 54), (90, 94), failed=(3,))
    partner_overlap.mark([a])
    assert [iteration["counts"] for iteration in a] == [True, True, False]


@pytest.mark.parametrize("length", [0, 30])
def test_a_line_that_is_being_written_is_left_out(tmp_path, length):
    log = tmp_path / "log.jsonl"
    whole = (DATA / "outputs/loop_once.jsonl").read_text()
    log.write_text(whole + whole[:length])
    assert [iteration["iteration"] for iteration in read(log)] == [1]
    assert read(tmp_path / "none") == []

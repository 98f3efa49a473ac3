"""What designs share in finding what a claim compares: pairs, trends, printed values, and one side alone."""

import pytest
from plimsoll.claims.matching import Matcher
from plimsoll.claims.sides import Contrast, PrintedSide, Side

LEVELS = [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2"), ("b", "4")]


class Cells(Matcher):
    """Cells of two factors, of which claims call the second one `size`. All have every metric."""

    factors = ("kind", "number")

    def of(self, metric, wanted):
        cells = [{"path": f"{kind}{number}", "kind": kind, "number": number, "size": number} for kind, number in LEVELS]
        return [cell for cell in cells if all(self.has(cell, factor, levels) for factor, levels in wanted.items())]

    def factor(self, named):
        return "number" if named == "size" else named


def compared(claim: dict) -> list:
    return Cells().comparisons({"metrics": ["time"], **claim})


def of(path: str, metric: str = "time") -> Side:
    return Side(metric, path)


def test_each_cell_is_compared_with_those_that_are_like_it_where_nothing_varies():
    sides = {"a": {"kind": ["a"]}, "b": {"kind": ["b"]}}
    assert compared(sides) == [Contrast(of("a1"), of("b1")), Contrast(of("a2"), of("b2"))]
    assert compared({**sides, "except": {"number": ["1"]}}) == [Contrast(of("a2"), of("b2"))]
    assert compared({**sides, "except_b": {"number": ["2"], "metric": ["time"]}}) == [Contrast(of("a1"), of("b1"))]
    assert compared({**sides, "except_b": {"number": ["2"], "metric": ["rate"]}}) == compared(sides)


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_claim_that_names_no_other_side_compares_nothing(side):
    assert compared({side: {"kind": ["a"]}}) == [] == compared({"scope": {"kind": ["a"]}})


def test_one_side_is_compared_with_itself_without_the_exceptions():
    claim = {"quantity": "variation", "a": {"kind": ["b"]}, "scope": {"number": ["1", "4"]}, "except": {"number": ["4"]}}
    assert compared(claim) == [Contrast(of("b1"), of("b1"))]


def test_a_printed_value_is_of_each_cell_and_metric_of_the_side():
    claim = {"quantity": "printed value", "a": {"kind": ["a"]}, "values": {"x": 0.5}, "metrics": ["time", "rate"]}
    wanted = [PrintedSide(metric, cell, value=0.5) for metric in ("time", "rate") for cell in ("a1", "a2")]
    assert compared(claim) == wanted


def test_a_trend_has_a_side_for_each_step_and_counts_a_cell_once():
    along = {"factor": "size", "levels": ["4", "2", "2", "1"], "direction": "decreasing"}
    assert compared({"along": along}) == [[of("b4"), of("b2"), of("b1")], [of("a2"), of("a1")]]
    assert compared({"along": along, "scope": {"kind": ["a"]}}) == [[of("a2"), of("a1")]]


def test_a_trend_without_a_side_is_left_out(monkeypatch):
    monkeypatch.setattr(Cells, "sides", lambda self, claim, metric, cell: [] if cell["kind"] == "a" else [of(cell["path"])])
    assert compared({"along": {"factor": "size", "levels": ["1", "2"], "direction": "increasing"}}) == [[of("b1"), of("b2")]]

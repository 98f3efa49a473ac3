import pytest
from hypothesis import given
from hypothesis import strategies as st
from plimsoll.host import cpulist


@given(st.sets(st.integers(0, 300)))
def test_formatting_and_parsing_are_inverse(numbers):
    assert cpulist.parse(cpulist.format(numbers)) == sorted(numbers)


def test_the_paper_s_cores():
    assert cpulist.format([*range(8), *range(18, 26)]) == "0-7,18-25"
    assert cpulist.parse("0-3,18-21") == [0, 1, 2, 3, 18, 19, 20, 21]


def test_other_text_is_refused():
    with pytest.raises(ValueError):
        cpulist.parse("0-x")

import json

import pytest
from plimsoll import remembered


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(remembered, "FOLDER", tmp_path / "remembered")
    return tmp_path / "remembered"


def once(value):
    """Return a function that may be called once."""
    waiting = [value]
    return waiting.pop


def test_a_value_is_made_once_for_the_same_input(folder):
    make = once({"a": [1, 0.1, None, "é"]})
    first = remembered.remembered("x", [b"1", b"2"], make)
    assert remembered.remembered("x", [b"1", b"2"], make) == first == {"a": [1, 0.1, None, "é"]}


@pytest.mark.parametrize("other", [[b"1"], [b"12"], [b"1", b"3"], [b"2", b"1"], []])
def test_another_input_has_a_value_of_its_own(folder, other):
    remembered.remembered("x", [b"1", b"2"], once("old"))
    assert remembered.remembered("x", other, once("new")) == "new"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": 1}', '"x"'])
def test_a_damaged_file_is_made_again(folder, text):
    remembered.remembered("x", [b"1"], once("old"))
    (folder / "x.json").write_text(text)
    assert remembered.remembered("x", [b"1"], once("new")) == "new"
    assert json.loads((folder / "x.json").read_text())["value"] == "new"


def test_a_folder_that_cannot_be_written_is_no_error(folder):
    folder.write_text("a file")
    assert [remembered.remembered("x", [b"1"], once(number)) for number in (1, 2)] == [1, 2]


def test_what_raises_an_error_is_not_remembered(folder):
    with pytest.raises(ZeroDivisionError):
        remembered.remembered("x", [b"1"], lambda: 1 / 0)
    assert remembered.remembered("x", [b"1"], once(3)) == 3

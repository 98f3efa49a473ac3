"""Cells and levels of an interference study as people call them."""

import pytest
from plimsoll.designs.interference import report


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("1/linpack/docker", "Linpack, running alone"),
        ("2/linpack+stream/docker", "Linpack beside STREAM, one shared container"),
        ("3b/linpack+linpack/docker", "Linpack beside Linpack, two containers with limits"),
    ],
)
def test_a_pair_in_words(path, name):
    assert report.short(path, {"benchmark": "linpack"}) == name


def test_every_level_of_the_study_has_words(jha2021):
    for case in jha2021["experiments"]["interference"]["case"]:
        assert report.level("case", case) != case
    for name in jha2021["experiments"]["interference"]["benchmark"]:
        assert report.level("co_runner", name).startswith("beside ") and report.level("benchmark", name) != name

"""Cells and levels of an interference study in words."""

import pytest
from plimsoll import designs

DESIGN = designs.find("interference")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("1/linpack/docker/free", "Linpack, running alone"),
        ("2/linpack+stream/docker/free", "Linpack beside STREAM, one shared container"),
        (
            "2/linpack+netperf_tcp_rr/docker/same-core",
            "Linpack beside Netperf TCP_RR, one shared container, client and server on one core",
        ),
        ("3b/linpack+linpack/docker/free", "Linpack beside Linpack, two containers with limits"),
    ],
)
def test_a_pair_in_words(path, name):
    assert DESIGN.report.cell_label(path, {"benchmark": "linpack"}) == name


def test_every_level_of_the_study_has_words(jha2021):
    for case in jha2021["experiments"]["interference"]["case"]:
        assert DESIGN.report.level("case", case) != case
    for name in jha2021["experiments"]["interference"]["benchmark"]:
        assert DESIGN.report.level("co_runner", name).startswith("beside ") and DESIGN.report.level("benchmark", name) != name

"""Cells and levels of a splitting study, in words."""

import pytest
from plimsoll import designs

REPORT = designs.find("splitting").report


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (
            "uma/exact/E2/docker/any/default/standard/plain/fft",
            "two Docker containers, exactly subscribed, any processor, UMA",
        ),
        (
            "numa/over/O5/singularity/cpumem/enabled/standard/plain/fft",
            "sixteen Singularity containers, over-subscribed, each container on cores and memory of its own, NUMA",
        ),
        (
            "uma/over/O1/bare/pin/disabled/yielding/mpi/fft",
            "bare metal, over-subscribed, each rank on a core of its own, UMA, without yielding, watched by the MPI profile",
        ),
        (
            "uma/exact/S1/bare/any/default/standard/plain/fft",
            "one rank alone, bare metal, exactly subscribed, any processor, UMA",
        ),
    ],
)
def test_a_deployment_in_words(path, name):
    assert REPORT.cell_label(path, {}) == name


def test_every_level_of_the_study_has_words(liu2020):
    for factor, levels in liu2020["factors"].items():
        for name in levels if factor != "processes" else ():
            assert REPORT.level(factor, name) not in (name, "")

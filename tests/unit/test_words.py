"""Cells and levels as people call them."""

import pytest
from plimsoll import designs

SPLITTING, PAIRS = (designs.find(name).report for name in ("splitting", "interference"))


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
    assert SPLITTING.short(path, {}) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("1/linpack/docker", "Linpack, running alone"),
        ("2/linpack+stream/docker", "Linpack beside STREAM, one shared container"),
        ("3b/linpack+linpack/docker", "Linpack beside Linpack, two containers with limits"),
    ],
)
def test_a_pair_in_words(path, name):
    assert PAIRS.short(path, {"benchmark": "linpack"}) == name


def test_every_level_of_the_studies_has_words(liu2020, jha2021):
    for factor, levels in liu2020["factors"].items():
        for name in levels if factor != "processes" else ():
            assert SPLITTING.level(factor, name) not in (name, "")
    for case in jha2021["experiments"]["interference"]["case"]:
        assert PAIRS.level("case", case) != case
    for name in jha2021["experiments"]["interference"]["benchmark"]:
        assert PAIRS.level("co_runner", name).startswith("beside ") and PAIRS.level("benchmark", name) != name

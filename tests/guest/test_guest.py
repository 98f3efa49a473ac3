"""Tests that need another machine: two sockets and two memory nodes, and a kernel that switches for Open vSwitch.

They use the project's own deployment code, containers and HPC Challenge.
"""

import json
from pathlib import Path

import pytest
from plimsoll import designs
from plimsoll.config import studies
from plimsoll.images import builder

from tests.guest import guest

# Limit (s). Emulation takes three minutes on a quiet machine, and four beside the unit tests.
SECONDS = 1200
# The part of the experiments that is planned.
SHORT = {"sections": ["dgemm"], "runtime": ["bare", "docker", "singularity"]}
EXPERIMENTS = dict.fromkeys(("granularity", "cgroup-scheduling", "affinity"), SHORT)
CELLS = (
    *(f"numa/exact/E2/docker/{level}/default/standard/plain/dgemm" for level in ("pin", "cpu", "cpumem", "cpumempin")),
    *(f"numa/exact/E2/singularity/{level}/default/standard/plain/dgemm" for level in ("cpumem", "cpumempin")),
    "numa/exact/E1/bare/any/default/standard/plain/dgemm",
    "numa/exact/E1/bare/pin/default/standard/plain/dgemm",
    "numa/over/O2/bare/cpumem/enabled/standard/plain/dgemm",
    "uma/exact/E1/docker/any/default/standard/plain/dgemm",
    "uma/exact/E1/bare/any/default/standard/plain/dgemm",
)
# Cores and memory nodes of each rank, worked out by hand for nodes 0 (cores 0, 1) and 1 (cores 2, 3).
WANTED = {
    "any": [("0-3", "0-1")] * 4,
    "pin": [("0", "0-1"), ("1", "0-1"), ("2", "0-1"), ("3", "0-1")],
    "cpu": [("0,2", "0-1")] * 2 + [("1,3", "0-1")] * 2,
    "cpumem": [("0-1", "0")] * 2 + [("2-3", "1")] * 2,
    "cpumempin": [("0", "0"), ("1", "0"), ("2", "1"), ("3", "1")],
}


@pytest.fixture(scope="module")
def booted(tmp_path_factory):
    if reason := guest.missing():
        pytest.skip(reason)
    import yaml

    config = yaml.safe_load(Path(studies.STUDIES.parent / "config.yaml").read_text())
    inputs = {
        "study": studies.load("liu2020", designs.known()),
        "profile": studies.profile("ci"),
        "config": {**config, "profile": "ci"},
        "image": builder.build("hpcc", "bootstrap"),
        "experiments": EXPERIMENTS,
        "cells": CELLS,
    }
    accelerator, nodes, records, switch = guest.run(tmp_path_factory.mktemp("guest"), inputs, SECONDS)
    print(f"accelerator {accelerator}, {len(records)} records")
    return nodes, {record["path"]: record for record in records}, switch


def test_the_guest_has_two_nodes(booted):
    assert booted[0] == [{"cpus": [0, 1], "distances": [10, 21]}, {"cpus": [2, 3], "distances": [21, 10]}]


@pytest.mark.parametrize("path", CELLS)
def test_ranks_are_where_the_design_says(booted, path):
    found = booted[1][path]
    assert found["status"] == "valid", json.dumps(found)
    hardware, _, _, _, level, *_ = path.split("/")
    wanted = WANTED[level] if hardware == "numa" else [("0-1", "0")] * 2
    if "/over/" in path:
        wanted = [place for place in wanted for _ in range(2)]
    assert [tuple(rank) for rank in found["ranks"]] == wanted


def test_a_switch_in_the_kernel_goes_with_its_run_and_after_a_kill(booted):
    switch = booted[2]
    assert switch["in_kernel"] and switch["offloads"]
    assert switch["made"] == ["ovs-system", "plimsoll-ovs"] == switch["after the kill"]
    assert switch["left"] == [[], []]

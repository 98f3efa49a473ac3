"""MPI ranks of a user's program for real: started in one container and split over two, and what carried their messages."""

import contextlib
import json
import shutil
import subprocess

import pytest
import yaml
from plimsoll import designs, measure, paths, runtimes
from plimsoll.designs.program import watched_run
from plimsoll.designs.program.factors import FIRST, LOOK
from plimsoll.errors import Unavailable
from plimsoll.features.try_program import start, study
from plimsoll.measuring import lock

from tests.containers.test_try import plimsoll

# Each of two ranks sends large messages, which Open MPI copies from rank to rank where it may. With a word behind the
# command, only rank 0 sends. It is the receiver that copies.
# Its messages take longer than the time between two looks at the ranks.
RING = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
    int rank, ranks, bytes = 1 << 20;
    char *out = calloc(1, bytes), *in = calloc(1, bytes);
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 300 && count > 1; i++) {
        if (rank == 0) MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(in, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 300 && count == 1; i++)
        MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % ranks, 0, in, bytes, MPI_CHAR, (rank + ranks - 1) % ranks, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) printf("%d ranks\\n", ranks);
    MPI_Finalize();
    return 0;
}
"""
CALM = {"busy_share": 1.0, "window_seconds": 0.05, "wait_seconds": 20}
SHARED, TCP = "shared memory", "TCP"
# What Open MPI prints of its choices in a watched run.
BTL, PML = "transport of Open MPI (BTL)", "message layer of Open MPI (PML)"


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    """The study of an MPI program: its place, its content and its image."""
    if not shutil.which("mpicc"):
        pytest.skip("mpicc is not installed (libopenmpi-dev)")
    folder = tmp_path_factory.mktemp("ring")
    (folder / "ring.c").write_text(RING)
    subprocess.run(["mpicc", "-O2", "-o", "ring", "ring.c"], cwd=folder, check=True)
    with made(folder, "--ranks", "2", "--containers", "1,2", "--", "./ring") as study_of_ring:
        yield study_of_ring


@contextlib.contextmanager
def made(folder, *words: str):
    """Make the study of a program, and yield its place, its content and its image.

    Its configuration is in use until the context ends.
    """
    done = plimsoll(folder, "try", "--dry-run", *words, seconds=300)
    assert done.returncode == 0, done.stderr[-2000:]
    with pytest.MonkeyPatch.context() as patched:
        place = study.place_of(folder / "my-study.yaml")
        patched.setenv("PLIMSOLL_CONFIG", str(place.folder / "config"))
        patched.setattr(paths, "CONFIG", place.folder / "config")
        image = json.loads(start.image(place).read_text())
        yield place, yaml.safe_load(place.file.read_text()), image


def attempted(of_study, runtime: str, stage: str = FIRST, **program) -> dict:
    """Return what one attempt at a run of a study has found (`made`). `program` has keys of the study's program."""
    place, content, image = of_study
    try:
        runtimes.find(runtime).check()
    except Unavailable as reason:
        pytest.skip(str(reason))
    changed = {**content["program"], **program}
    wanted = {"program": changed, "experiments": {stage: {"runtime": [runtime]}}}
    config = {"runtimes": {runtime: "optional"}}
    [(_, cell)] = designs.find("program").cells.wanted(wanted, {}, {"sizes": {"host": []}}, config, {})
    limits = {"idle": CALM, "neighbours": {"share": 1.0, "seconds": 100000}}
    plan = {"design": "program", "limits": limits, "cells": {cell["path"]: cell}}
    with lock.machine(runtimes.known):
        found, problem = measure.make_attempt([measure.Run(plan, {**cell, "runs": 1}, 1, place.results, image)])
    assert problem is None
    return found[cell["path"]]


@pytest.mark.parametrize(
    ("runtime", "carried"),
    [
        ("host", SHARED),
        ("files", SHARED),
        ("docker", SHARED),
        ("docker-shared", SHARED),
        ("docker-split", TCP),
        ("singularity-split", SHARED),
        pytest.param("docker-shared-daemon", TCP, marks=pytest.mark.long),
        pytest.param("podman", SHARED, marks=pytest.mark.long),
        pytest.param("podman-split", TCP, marks=pytest.mark.long),
        pytest.param("singularity", SHARED, marks=pytest.mark.long),
    ],
)
def test_ranks_are_timed_and_what_carried_their_messages_is_seen(ring, runtime, carried):
    found = attempted(ring, runtime)
    assert found["status"] == "valid", found["reason"]
    assert found["transport"]["carried_by"] == carried, found["transport"]
    [timed] = found["timed"]
    assert 0 < timed["values"]["wall"] < 60 and timed["values"]["processor"] > 0 and timed["values"]["start"] > 0
    assert timed["output"] == ring[1]["program"]["output"]
    assert any("libmpi" in path for path in found["mapped"]) and found["inside"]["processors"]


@pytest.mark.parametrize(
    ("runtime", "transport", "refused", "copies"),
    [
        ("docker", "vader", True, "none made"),
        ("docker-split", "tcp", False, "none made"),
        ("singularity-split", "vader", False, "made"),
    ],
)
def test_ranks_are_watched_on_both_sides_of_a_step(ring, runtime, transport, refused, copies):
    before, after = attempted(ring, "host", LOOK), attempted(ring, runtime, LOOK)
    for found in (before, after):
        assert found["status"] == "valid" and found["timed"] == [], found["reason"]
        assert found["looked"]["traced"] and any("libmpi" in path for path in found["mapped"])
        assert found["looked"]["counts"]["tasks at once"] >= 1
        assert found["looked"]["settings"][PML] == "ob1"
    refusing = "process_vm_readv (EPERM)"
    assert refusing not in before["looked"]["refused"]
    assert (refusing in after["looked"]["refused"]) == refused, after["looked"]
    settings = [found["looked"]["settings"] for found in (before, after)]
    assert [one[BTL] for one in settings] == ["vader", transport]
    assert [one[watched_run.COPIES] for one in settings] == ["made", copies]
    told = watched_run.differences(before["looked"], after["looked"])
    calls = [sentence for sentence in told if sentence.startswith("system calls refused only after: ")]
    assert any(refusing in sentence for sentence in calls) == refused
    assert (f"{BTL}: vader before, {transport} after" in told) == (transport != "vader")
    assert (f"{watched_run.COPIES}: made before, none made after" in told) == (copies != "made")
    assert ("failed single copies of Open MPI (errno): not there before, 1 after" in told) == refused


def test_a_refused_call_of_another_rank_than_the_first_is_seen(ring):
    before, after = (attempted(ring, name, LOOK, command=["./ring", "one-way"])["looked"] for name in ("host", "docker"))
    assert before["traced"] and after["traced"]
    assert [one["settings"][watched_run.COPIES] for one in (before, after)] == ["made", "none made"]
    refusing = "process_vm_readv (EPERM)"
    assert refusing not in before["refused"] and after["refused"][refusing] > 0


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("exit $OMPI_COMM_WORLD_RANK", "mpirun ended with 1"),
        ("sleep $OMPI_COMM_WORLD_RANK; setsid sleep 63 &", "left processes"),
    ],
)
def test_ranks_that_fail_or_leave_something_do_not_count_and_leave_nothing(ring, command, told):
    found = attempted(ring, "host", command=["sh", "-c", command])
    assert found["status"] == "invalid" and told in found["reason"]
    assert not subprocess.run(["pgrep", "-f", "^sleep 63$"], capture_output=True, text=True).stdout


def test_an_image_without_a_launcher_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /usr/bin/env\n")
    words = ["--name", "bare", "--ranks", "2", "--image", "./Dockerfile", "--", "no-such-program"]
    done = plimsoll(tmp_path, "try", *words, seconds=300)
    assert done.returncode == 2 and "The image has no mpirun." in done.stderr and "Traceback" not in done.stderr

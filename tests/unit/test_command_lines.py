"""What each runtime passes to its engine and to mpirun, word for word (data/command_lines.json). The engine is a stand-in."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from plimsoll import runtimes
from plimsoll.host import cgroup
from plimsoll.mpi.job import Job
from plimsoll.runtimes.base import LABEL, LABELLED, Place
from plimsoll.services.containers import Services

from tests.conftest import DATA, PROJECT

HELD = json.loads((DATA / "command_lines.json").read_text())
# Stand-in for an engine: notes its arguments, and whether a program that passes on its environment gets the launcher's
# variables. It answers as the real one would.
ENGINE = """\
#!/bin/sh
name=$(basename "$0")
[ "$name" = apptainer ] || unset OPAL_PREFIX
line=$name
for word; do line="$line\t$word"; done
# In one go: several are asked at once.
printf '%s\\n' "$line${OPAL_PREFIX:+	OPAL_PREFIX}" >>TMP/asked
case "$name $1 $2" in
"docker info --format") echo "cgroupfs /var/lib/docker" ;;
"docker run --detach") echo "an-identifier" ;;
# None of them runs.
"docker inspect --format") shift 3; for identity; do echo 0; done ;;
"apptainer instance list")
    # No process has this number.
    awk -F'\\t' '/instance\\tstart/ {list = list comma "{\\"instance\\": \\"" $NF "\\", \\"pid\\": 4194304}"; comma = ", "}
        END {print "{\\"instances\\": [" list "]}"}' TMP/asked ;;
esac
"""
FREE = {"cpus": "0-1", "nodes": "0", "cores": [], "slots": []}
CORE = [{"cpus": str(core), "nodes": "0", "cores": [], "slots": []} for core in (0, 1)]
# (Places of the containers, ranks, whether the places leave out a core, parameters of mpirun).
CELLS = {
    "one container": ([FREE], 2, False, {}),
    "several containers": ([FREE, FREE], 2, False, {}),
    "one container, pinned": ([{**FREE, "cores": [0, 1], "slots": [0, 1]}], 2, False, {}),
    "several containers, pinned": ([{**FREE, "cores": [core] * 2, "slots": [core] * 2} for core in (0, 1)], 4, False, {}),
    "apart": (CORE, 4, True, {"mpi_yield_when_idle": 1}),
    "apart, pinned": ([{**place, "cores": [c, c], "slots": [c, c]} for c, place in enumerate(CORE)], 4, True, {}),
    "one container, a core left out": ([CORE[1]], 4, True, {}),
    "several containers, a core left out": ([CORE[1]] * 2, 4, True, {"mpi_yield_when_idle": 0}),
}
LEVELS = ("bare", "docker", "docker-ptrace", "singularity", "singularity-instance", "singularity-cgroup")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Provide engines that only note their arguments, folders in place of cgroups, and an image without content."""
    (tmp_path / "prefix/apptainer/bin").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    for place in ("bin/docker", "prefix/apptainer/bin/apptainer"):
        (tmp_path / place).write_text(ENGINE.replace("TMP", str(tmp_path)))
        (tmp_path / place).chmod(0o755)
    (tmp_path / "rootfs/usr/lib/x86_64-linux-gnu").mkdir(parents=True)
    (tmp_path / "rootfs/lib64").mkdir()
    (tmp_path / "rootfs/lib64/ld-linux-x86-64.so.2").touch()
    (tmp_path / "cgroup").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "t").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("PLIMSOLL_PREFIX", str(tmp_path / "prefix"))
    monkeypatch.setattr(cgroup, "mounts", lambda: {"unified": tmp_path / "cgroup"})
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def asked(machine: Path) -> list[list[str]]:
    """Return the calls of the engines, sorted, because containers are started in parallel."""
    text = (machine / "asked").read_text() if (machine / "asked").exists() else ""
    return sorted(line.split("\t") for line in text.splitlines())


def shown(found, machine: Path):
    """Return `found` without what differs between machines."""
    text = json.dumps(found).replace(str(machine), "TMP").replace(LABELLED, LABEL)
    text = re.sub(rf"{PROJECT}/[a-z/]*/([a-z-]+\.sh)", r"PROJECT/\1", text)
    return json.loads(text.replace('"-w"', '"--workdir"'))


def image(machine: Path) -> dict:
    return {"tag": "plimsoll/hpcc:x", "id": "sha256:hpcc", "sif": f"{machine}/image.sif", "rootfs": f"{machine}/rootfs"}


def launched(machine: Path, level: str, case: str, preload: str | None) -> dict:
    """Return the calls of the engine, the command line of mpirun, and the contents of the run's files."""
    places, ranks, restricted, parameters = CELLS[case]
    cell = {
        "places": places,
        "containers": len(places),
        "ranks": ranks,
        "ranks_per_container": ranks // len(places),
        "restricted": restricted,
        "mpi_parameters": parameters,
        "everything": {"cpus": "0-1", "nodes": "0"},
    }
    job = Job.of_cell("x", machine / "run", machine / "t", cell, image(machine))
    job.preload = preload
    runtime = runtimes.find(level)
    nodes = runtime.start(job.specs)
    command = job.command(nodes, ["/opt/plimsoll/bin/hpcc"])
    for agent in (machine / "t").glob("*agent.sh"):
        call = ["sh", str(agent), nodes[-1].name, "orted", "-mca", "a", '"b"']
        subprocess.run(call, check=True, env={**os.environ, **job.environment}, cwd=machine / "run")
    runtime.stop(nodes)
    files = {file.name: file.read_text() for file in (machine / "run").iterdir() if file.suffix != ".sh"}
    return shown({"asked": asked(machine), "command": command, "files": files}, machine)


@pytest.mark.parametrize("case", CELLS)
@pytest.mark.parametrize("level", LEVELS)
def test_ranks(machine, level, case):
    assert launched(machine, level, case, None) == HELD["ranks"][level][case]


@pytest.mark.parametrize("level", LEVELS)
def test_ranks_with_a_library_before_the_others(machine, level):
    assert launched(machine, level, "apart, pinned", "/opt/plimsoll/lib/x.so") == HELD["preloaded"][level]


def served(machine: Path) -> dict:
    """Return the calls of Docker for services with and without limits and for their end, and the command line of a
    program in one."""
    services = Services(runtimes.find("docker"), "x", machine / "run")
    mounts = ((f"{machine}/supplied", "/opt/plimsoll/supplied/y"),)
    limits = {"place": Place("1", "0"), "memory_bytes": 2**28, "block_io_weight": 500, "mounts": mounts}
    image = {"tag": "plimsoll/netperf:x", "id": "sha256:netperf"}
    server = services.spec("server", image, command=("/opt/plimsoll/bin/netserver", "-D"))
    nodes = services.start([server, services.spec("c0", {"tag": "plimsoll/pi:x", "id": "sha256:pi"}, **limits)])
    inside = nodes[1].inside(["pi", "100"])
    services.stop(nodes)
    return shown({"asked": asked(machine), "inside": inside}, machine)


def test_services(machine):
    assert served(machine) == HELD["services"]

"""Each runtime enforces cores and memory nodes in its own way, and every run checks them from inside."""

import itertools
import os
import re
import shlex
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from plimsoll.host import cgroup, cpulist, hwloc, topology, variables
from plimsoll.mpi import launch
from plimsoll.mpi.job import Job

from tests import machines
from tests.conftest import usual

FREE = ("bare", "docker", "singularity", "singularity-instance", "singularity-cgroup")
OURS = (
    "podman",
    "docker-host-network",
    "docker-shared",
    "docker-shared-daemon",
    "docker-shared-processes",
    "singularity-instance-host-network",
    "charliecloud",
)
UNPRIVILEGED = ("singularity-user", "singularity-sharens")
CONTAINERS = ("docker", "singularity", "singularity-instance")
USUAL = (*FREE, "podman", "singularity-sharens", "charliecloud")


def allowed(found):
    return [(rank["cpus_allowed"], rank["mems_allowed"]) for rank in found["ranks"]]


@pytest.mark.parametrize(
    ("scheme", "runtime"),
    usual(
        itertools.product(["E1", "O1"], [*FREE, *OURS, *UNPRIVILEGED]),
        [("E1", "bare"), ("E1", "docker"), *itertools.product(["O1"], USUAL)],
    ),
)
def test_pinned_ranks_have_a_core_each(workspace, working, runtime, scheme):
    working(runtime)
    mode, yields = ("exact", "default") if scheme == "E1" else ("over", "enabled")
    path = f"uma/{mode}/{scheme}/{runtime}/pin/{yields}/standard/plain/fft"
    cell = workspace.plan["cells"][path]
    found = workspace.run(path)
    assert found["status"] == "valid", found["reason"]
    assert [cpus for cpus, _ in allowed(found)] == [str(core) for place in cell["places"] for core in place["cores"]]


@pytest.mark.parametrize(
    ("level", "runtime"),
    usual(
        itertools.product(["cpumem", "cpumempin"], CONTAINERS),
        [("cpumem", "docker"), ("cpumempin", "singularity"), ("cpumempin", "singularity-instance")],
    ),
)
def test_containers_have_cores_and_a_node_of_their_own(workspace, working, runtime, level):
    working(runtime)
    path = f"uma/over/O2/{runtime}/{level}/enabled/standard/plain/fft"
    cell = workspace.plan["cells"][path]
    assert cell["restricted"] and len({place["cpus"] for place in cell["places"]}) == 2
    found = workspace.run(path)
    assert found["status"] == "valid", found["reason"]
    assert allowed(found) == [(p["cpus"], p["nodes"]) for p in cell["places"] for _ in range(cell["ranks_per_container"])]


@pytest.mark.parametrize("runtime", usual(FREE, ["docker", "singularity", "singularity-cgroup"]))
def test_more_containers_than_cores_share_them(workspace, working, runtime):
    working(runtime)
    path = f"uma/over/O3/{runtime}/cpumem/enabled/standard/plain/dgemm"
    found = workspace.run(path)
    assert found["status"] == "valid", found["reason"]
    assert [cpus for cpus, _ in allowed(found)] == [place["cpus"] for place in workspace.plan["cells"][path]["places"]]


@pytest.mark.parametrize("runtime", usual(OURS, ["podman", "docker-shared-daemon", "singularity-instance-host-network"]))
def test_containers_of_optional_levels_have_cores_of_their_own(workspace, working, runtime):
    working(runtime)
    path = f"uma/over/O2/{runtime}/any/enabled/standard/plain/fft"
    places = [{"cpus": str(core), "nodes": "0", "cores": [core] * 2, "slots": [core] * 2} for core in (0, 1)]
    found = workspace.run(path, places=places, restricted=True)
    assert found["status"] == "valid", found["reason"]
    assert allowed(found) == [("0", "0"), ("0", "0"), ("1", "0"), ("1", "0")]


@pytest.mark.parametrize("runtime", usual([*FREE, *OURS, *UNPRIVILEGED], ["bare", "docker", "podman", "singularity"]))
def test_a_setting_that_leaves_cores_out_is_kept_to(workspace, working, runtime):
    working(runtime)
    path = f"uma/over/O1/{runtime}/any/enabled/standard/plain/fft"
    found = workspace.run(path, places=[{"cpus": "1", "nodes": "0", "cores": [], "slots": []}], restricted=True, cores=1)
    assert found["status"] == "valid", found["reason"]
    assert {cpus for cpus, _ in allowed(found)} == {"1"}


@pytest.mark.parametrize("runtime", ["bare", "singularity"])
def test_pinned_ranks_have_their_core_where_no_cpuset_can_be_made(workspace, working, monkeypatch, runtime):
    """Open MPI ignores the launcher's own binding. It numbers the cores of all processors that a cgroup allows."""
    working(runtime)

    def refuse(*_):
        raise PermissionError("cpusets are root's")

    monkeypatch.setattr(cgroup, "make_cpusets", refuse)
    places = [{"cpus": "1", "nodes": "0", "cores": [1, 1], "slots": [0, 0]}]
    found = workspace.run(f"uma/over/O1/{runtime}/pin/enabled/standard/plain/fft", places=places, restricted=True, ranks=2)
    assert found["status"] == "valid", found["reason"]
    assert {cpus for cpus, _ in allowed(found)} == {"1"}


def test_a_run_whose_ranks_were_not_where_the_design_says_does_not_count(workspace, working):
    working("docker")
    workspace.plan["limits"]["attempts"] = 1
    path = "uma/exact/E1/docker/any/default/standard/plain/fft"
    # The design wants core 1, but nothing restricts the ranks to it.
    found = workspace.run(path, places=[{"cpus": "1", "nodes": "0", "cores": [], "slots": []}], restricted=False)
    assert found["status"] == "invalid"
    assert "was allowed the processors 0-1, where the design has 1" in found["reason"]


LEVELS = ("default", "disabled", "enabled")
# Deployments in which Open MPI sees that ranks share cores, and one in which it does not.
SEEN = [
    ("bare", "O1", "yes"),
    ("singularity", "O2", "yes"),
    ("docker", "O1", "yes"),
    ("singularity-instance", "O1", "yes"),
    ("singularity-instance", "O2", "no"),
]


@pytest.mark.parametrize(
    ("runtime", "scheme", "sees", "levels"),
    usual(
        [("docker", "O2", "no", LEVELS), *((*one, levels) for one in SEEN for levels in (LEVELS[:1], LEVELS[1:]))],
        [("docker", "O2", "no", LEVELS), ("docker", "O1", "yes", LEVELS[:1]), ("singularity", "O2", "yes", LEVELS[:1])],
    ),
)
def test_open_mpi_sees_over_subscription_in_one_container_and_not_in_several(workspace, working, runtime, scheme, sees, levels):
    """Liu and Guitart, section 4.4.4."""
    working(runtime)
    yields = {"default": sees, "disabled": "no", "enabled": "yes"}
    for level in levels:
        found = workspace.run(f"uma/over/{scheme}/{runtime}/any/{level}/yielding/plain/dgemm")
        assert found["status"] == "valid", found["reason"]
        assert {rank["yields_when_idle"] for rank in found["ranks"]} == {yields[level]}, level


def test_a_run_at_its_limit_is_kept_as_at_least_this_slow(workspace, working):
    working("docker")
    path = "uma/over/O2/docker/any/disabled/yielding/plain/randomaccess"
    parameters = {**workspace.plan["cells"][path]["parameters"], "order": 2000}
    found = workspace.run(path, parameters=parameters, time_limit_seconds=3)
    assert found["status"] == "censored", found["reason"]
    assert found["attempts"] == 1, "a run that is too slow once would be so again"
    assert 1 < found["values"]["benchmark_seconds"] < 3


def test_a_run_that_hangs_when_its_benchmark_has_ended_is_not_kept_as_a_slow_one(workspace, working, image, monkeypatch):
    """The benchmark's output is complete, but a loop uses a processor until the run's limit."""
    working("bare")
    path = "uma/over/O1/bare/any/disabled/yielding/plain/randomaccess"
    usual = Job.command

    def hangs(job, nodes, program):
        words = " ".join(map(shlex.quote, usual(job, nodes, program)))
        return ["sh", "-c", f"{words}; while :; do :; done"]

    monkeypatch.setattr(Job, "command", hangs)
    workspace.plan["limits"]["attempts"] = 1
    found = workspace.run(path, time_limit_seconds=8)
    assert (found["status"], found["reason"]) == (
        *("timeout", "the run took longer than its limit of 8 s, although its benchmark had ended"),
    )
    assert "values" not in found


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("rank 0=localhost slot=0\nrank 1=localhost slot=1\n", True),
        ("rank 0=localhost slot=0\n", False),
        ("rank 0=localhost slot=0\nrank 1=localhost slot=4096\n", False),
        ("rank 0=localhost slot=0\nrank 1=elsewhere slot=1\n", False),
    ],
)
def test_open_mpi_takes_our_rankfiles_and_refuses_broken_ones(image, tmp_path, text, accepted):
    rootfs = Path(image["rootfs"])
    places = [{"cpus": "0-1", "nodes": "0", "cores": [0, 1], "slots": [0, 1]}]
    words = launch.placement(tmp_path, ["localhost"], places, 2)
    if accepted:
        assert (tmp_path / "rankfile").read_text() == text
    (tmp_path / "rankfile").write_text(text)
    command = launch.mpirun(rootfs, [*launch.options(tmp_path, {}, words), "-np", "2", "/bin/true"])
    done = subprocess.run(command, cwd=tmp_path, env=launched(rootfs, tmp_path), capture_output=True, text=True, timeout=30)
    assert (done.returncode == 0) == accepted, done.stderr


def launched(rootfs: Path, folder: Path) -> dict[str, str]:
    """Return the environment variables of a launcher in a run's folder."""
    return {**variables.of_run(os.environ, folder), **launch.environment(rootfs)}


@pytest.mark.parametrize("name", ["TWO_DIES", "PAIRS", "CLUSTERS", "HYBRID"])
def test_open_mpi_binds_to_the_core_whose_number_we_say(image, tmp_path, name):
    """On made-up machines, the image's Open MPI maps a rank to a core and tries to bind it there."""
    rootfs, machine = Path(image["rootfs"]), getattr(machines, name).write(tmp_path / "machine")
    cores = {}
    for cpu in topology.discover(machine)["cpus"]:
        cores.setdefault(cpu["core"], []).append(cpu["cpu"])
    file = tmp_path / "topology.xml"
    file.write_bytes(ElementTree.tostring(hwloc.read(machine)))
    for number in (1, len(cores) // 2, len(cores) - 1):
        place = {"cpus": "0", "nodes": "0", "cores": cores[number][:1], "slots": [number]}
        words = launch.options(tmp_path, {"hwloc_base_topo_file": file}, launch.placement(tmp_path, ["localhost"], [place], 1))
        command = launch.mpirun(rootfs, [*words, "-np", "1", "grep", "Cpus_allowed_list", "/proc/self/status"])
        done = subprocess.run(command, cwd=tmp_path, env=launched(rootfs, tmp_path), capture_output=True, text=True, timeout=60)
        # Binding fails on a host that has no such processor. The message names that processor.
        said = re.search(r'hwloc_set_cpubind returned "Error" for bitmap "(\S+)"', done.stdout + done.stderr)
        bound = said or re.search(r"Cpus_allowed_list:\s*(\S+)", done.stdout)
        assert cpulist.parse(bound[1]) == cores[number], done.stdout + done.stderr

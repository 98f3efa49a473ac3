"""Instruments on real ranks: they count what the run did, and nothing that happened beside it."""

import json
import subprocess

import pytest
from plimsoll import runtimes
from plimsoll.host import capabilities, cgroup
from plimsoll.instruments import events, mpi_profile
from plimsoll.measuring.process import run_bounded
from plimsoll.mpi.job import Job

from tests.conftest import usual

CONTAINERS = ("docker", "singularity", "singularity-instance", "singularity-cgroup")
BARE = "uma/exact/E1/bare/any/default/standard/plain/{}"
COUNTED = {"context_switches": "context-switches", "cpu_migrations": "cpu-migrations"}


@pytest.fixture
def perf():
    """Skip a test, with the reason, if perf cannot count here."""
    if not capabilities.counters().get("context_switches") or cgroup.counting_root(cgroup.mounts()) is None:
        pytest.skip("perf does not count context switches by cgroup here")


def test_every_mpi_function_that_hpcc_imports_and_that_communicates_is_profiled(image):
    program = f"{image['rootfs']}/opt/plimsoll/bin/hpcc"
    symbols = subprocess.run(["nm", "-D", "--undefined-only", program], capture_output=True, text=True, check=True).stdout
    imported = {line.split()[-1] for line in symbols.splitlines() if " MPI_" in line}
    # Functions that only query or manage objects: they neither send nor wait for a message.
    local = ("Comm_", "Type_", "Op_", "Get_", "T_", "Wt", "Init", "Finalize", "Pcontrol", "Abort")
    assert {name for name in imported if not name[4:].startswith(local)} <= set(mpi_profile.PATTERN_OF)


@pytest.mark.parametrize(
    "section", usual(["dgemm", "stream", "fft", "ptrans", "randomaccess", "beff", "hpl"], ["fft", "beff", "hpl"])
)
def test_the_times_add_up_to_the_benchmark_s(workspace, working, section):
    working("bare")
    path = BARE.format("beff")
    parameters = {**workspace.plan["cells"][path]["parameters"], "section": section, "order": 1000}
    found = workspace.run(path, parameters=parameters, instrument="mpi")
    assert found["status"] == "valid", found["reason"]
    folder = workspace.folder / found["raw"]
    for rank in found["ranks"]:
        profile = json.loads((folder / f"ranks/{rank['rank']}.profile.json").read_text())
        walls = sum(part["wall_seconds"] for part in profile["sections"])
        # Two clocks are compared: the profiling library's, and the one of the rank's own report.
        assert walls == pytest.approx(rank["benchmark_seconds"], rel=0.01, abs=0.002)
        for part in profile["sections"]:
            inside = sum(seconds for _, seconds in part["functions"].values())
            assert inside + part["outside_seconds"] == pytest.approx(part["wall_seconds"], rel=1e-6, abs=1e-6)
    values = found["values"]
    assert 0 < values["mpi_share/all"] < 1
    assert values["wall_seconds"] <= found["values"]["benchmark_seconds"] * 1.02


def test_calls_are_what_the_sources_make_and_the_same_each_time(workspace, working):
    """HPCC's sources give these numbers, and the paper's table 1 has the same numbers per rank.

    MPIFFT transposes three times forwards and three times backwards. A section begins with a barrier. STREAM repeats
    four kernels ten times, each with a barrier on both sides. Our own barrier before EP-DGEMM's multiplication is not in
    a profile.
    """
    working("bare")
    for section, wanted in (("fft", {"alltoall": 6}), ("dgemm", {"barrier": 1}), ("stream", {"barrier": 81})):
        runs = [workspace.run(BARE.format(section), repetition, instrument="mpi") for repetition in (1, 2)]
        assert [run["status"] for run in runs] == ["valid", "valid"]
        calls = [{name: n for name, n in run["values"].items() if name.startswith("mpi_calls/")} for run in runs]
        assert calls[0] == calls[1]
        ranks = len(runs[0]["ranks"])
        assert {name: calls[0][f"mpi_calls/{name}"] / ranks for name in wanted} == wanted


@pytest.mark.parametrize("runtime", usual(CONTAINERS, ["docker", "singularity"]))
def test_ranks_in_containers_are_profiled_and_run_the_same_bits(workspace, working, runtime):
    working("bare", runtime)
    path = f"uma/exact/E2/{runtime}/any/default/standard/plain/beff"
    profiled, plain = workspace.run(path, 1, instrument="mpi"), workspace.run(path, 2, instrument="plain")
    assert profiled["status"] == "valid", profiled["reason"]
    assert profiled["values"]["mpi_calls/blocking_pingpong_transfer"] > 500
    extra = set(profiled["bits"]) - set(plain["bits"])
    assert extra == {"libmpi_profile.so"}
    assert all(profiled["bits"][name] == build for name, build in plain["bits"].items())
    assert not any(name.startswith("mpi_") for name in plain["values"])


def test_with_several_docker_containers_the_time_goes_into_point_to_point_calls(workspace, working):
    """The paper explains its figures 5 and 6 so: separate network namespaces, hence TCP, hence more time in these functions."""
    working("docker")
    path = "uma/exact/{}/docker/pin/default/standard/mpi/beff"
    one, two = [], []

    def least(name: str, runs: list[dict]) -> float:
        return min(run["values"][f"mpi_seconds/{name}"] for run in runs)

    # Calls that wait for the other rank are as noisy as the machine, so there are up to three runs of each. Calls that
    # hand a message over are not: that takes a system call for TCP, and a copy for shared memory.
    for repetition in (1, 2, 3):
        one.append(workspace.run(path.format("E1"), repetition))
        two.append(workspace.run(path.format("E2"), repetition))
        waits = least("point_to_point", two) > least("point_to_point", one)
        hands_over = least("nonblocking_transfer", two) > 4 * least("nonblocking_transfer", one)
        if waits and hands_over:
            break
    assert waits and hands_over
    assert {run["transport"]["carried_by"] for run in one} == {"shared memory"}
    assert {run["transport"]["carried_by"] for run in two} == {"TCP"}


@pytest.mark.parametrize(
    ("runtime", "scheme", "level"),
    usual(
        [
            *(("bare", "E1", level) for level in ("any", "pin")),
            *((runtime, scheme, "any") for runtime in CONTAINERS for scheme in ("E1", "E2")),
            *((runtime, "E2", "cpumem") for runtime in CONTAINERS[:3]),
        ],
        [
            *[("bare", "E1", "any"), ("docker", "E1", "any"), ("docker", "E2", "cpumem"), ("singularity", "E2", "cpumem")],
            *[("singularity-instance", "E2", "any"), ("singularity-cgroup", "E2", "any")],
        ],
    ),
)
def test_a_load_in_the_run_is_counted_and_one_beside_it_is_not(
    workspace, working, perf, tmp_path, tmp_path_factory, runtime, scheme, level
):
    """Ranks that sleep a known number of times, beside a process that sleeps far more often."""
    working(runtime)
    cell = {**workspace.plan["cells"][f"uma/exact/{scheme}/{runtime}/{level}/default/standard/plain/fft"], "events": COUNTED}
    # Open MPI splits the path of its agent at blanks.
    folder, temporary, naps = tmp_path / "run", tmp_path_factory.mktemp("temporary"), 200
    folder.mkdir()
    script = folder / "naps.sh"
    (folder / "ranks").mkdir()
    begin = f'[ "$OMPI_COMM_WORLD_RANK" != 0 ] || {{ echo enable >{events.CONTROL}; read -r said <{events.ANSWER}; }}\n'
    script.write_text(f"{begin}sleep 0.2\ni=0\nwhile [ $i -lt {naps} ]; do sleep 0.001; i=$((i+1)); done\n")
    image = json.loads(workspace.image_path.read_text())
    job = Job.of_cell(f"count{abs(hash((runtime, scheme, level))) % 10**6:x}", folder, temporary, cell, image)
    found = runtimes.find(runtime)
    nodes = found.start(job.specs)
    beside = subprocess.Popen(["sh", "-c", "while :; do sleep 0.0005; done"])
    try:
        command = events.Events(job, cell).around(job.command(nodes, ["/bin/sh", str(script)]), nodes, None)
        assert run_bounded(command, job.environment, folder, 60) == 0, (folder / "stderr.txt").read_text()
    finally:
        beside.kill()
        beside.wait()
        found.stop(nodes)
    counted = events.parse((folder / "perf.csv").read_text(), COUNTED)["context_switches"]
    least = naps * cell["ranks"]
    # Each nap is a process that starts, sleeps and ends while its parent waits: a few switches, not hundreds.
    assert least <= counted <= 12 * least + 2000


@pytest.mark.parametrize("runtime", usual(["bare", *CONTAINERS], ["bare", "docker", "singularity"]))
def test_counted_runs_are_valid_and_agree_with_the_ranks_own_numbers(workspace, working, perf, runtime):
    working(runtime)
    scheme = "O1" if runtime == "bare" else "O2"
    path = f"uma/over/{scheme}/{runtime}/any/enabled/standard/plain/fft"
    found = workspace.run(path, instrument="events", events=COUNTED)
    assert found["status"] == "valid", found["reason"]
    values = found["values"]
    own = values["rank_context_switches"]
    # Apart from the ranks there are only their launcher and its daemons, which wait.
    assert 0 < events.AT_LEAST * own - events.MISSED <= values["context_switches"] <= 1.5 * own + 200
    assert values["cpu_migrations"] >= 0 and values["rank_migrations"] >= 0


@pytest.mark.parametrize("instrument", ["mpi", "events"])
def test_a_watched_run_at_its_time_limit_leaves_nothing(workspace, working, perf, instrument):
    working("docker")
    path = "uma/exact/E2/docker/any/default/standard/plain/dgemm"
    parameters = {**workspace.plan["cells"][path]["parameters"], "order": 9000}
    workspace.plan["limits"]["attempts"] = 1
    found = workspace.run(path, instrument=instrument, events=COUNTED, parameters=parameters, time_limit_seconds=1.5)
    assert found["status"] == "timeout", found["reason"]


def test_a_run_that_perf_did_not_count_is_invalid(workspace, working, perf, monkeypatch):
    working("bare")
    workspace.plan["limits"]["attempts"] = 1
    # With another name for the pipe, perf gets no command to begin.
    monkeypatch.setattr(events, "CONTROL", "ranks/elsewhere")
    found = workspace.run(BARE.format("fft"), instrument="events", events=COUNTED)
    assert found["status"] == "invalid" and "perf counted" in found["reason"]

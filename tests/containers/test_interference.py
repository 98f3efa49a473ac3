"""Real microservices in real containers: limits, co-runners, and what happens to a pair when one member fails."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import threading
import time
from pathlib import Path

import pytest
from plimsoll import measure, runtimes, workloads
from plimsoll.config import studies
from plimsoll.designs.interference import attempts, placement
from plimsoll.designs.interference.factors import InterferenceRecord
from plimsoll.errors import Outage
from plimsoll.host import cpulist
from plimsoll.images import builder, supplied_programs
from plimsoll.interchange import Image
from plimsoll.measuring import lock, record
from plimsoll.planning import planner
from plimsoll.services import limits

from tests.conftest import unlike, usual
from tests.containers.conftest import LEAVES, PAUSED, container_of_the_run, in_the_run, pause, stop, stopped

PORT = ":3241 "


@pytest.fixture(scope="session")
def image() -> dict:
    return builder.build("microservices", "bootstrap")


@pytest.fixture
def workspace(tmp_path, image, config, jha2021, working, here):
    """A results folder of jha2021 with the plan of the ci profile; `run` measures one run in it, in one attempt."""
    working("docker")

    class Workspace:
        folder = tmp_path / "results/jha2021"
        loaded = jha2021

        def __init__(self):
            self.folder.mkdir(parents=True)
            (tmp_path / "image.json").write_text(json.dumps(image))
            self.plan = planner.make(self.loaded, studies.profile("ci"), here, {**config, "profile": "ci"}, {})
            self.plan["limits"].update(attempts=1)

        def run(self, path, **changes):
            self.plan["cells"][path].update(changes)
            (self.folder / "plan.json").write_text(json.dumps(self.plan))
            target = record.path_of(self.folder / "runs", path, 1)
            found = measure.measure(self.folder / "plan.json", path, 1, target, tmp_path / "image.json")
            assert unlike(found, InterferenceRecord) == set()
            return found

    return Workspace()


def counted(found, place=0):
    return [iteration["counts"] for iteration in found["iterations"][place]["iterations"]]


def test_every_image_holds_the_same_programs_and_no_other_benchmark_s(image):
    assert unlike(image, Image) == set()
    assert set(image["stages"]) == {"linpack", "stream", "pi", "bonnie", "netperf"}
    inside = subprocess.run(
        ["docker", "run", "--rm", "--network", "none", image["stages"]["stream"]["tag"], "ls", "/opt/plimsoll/bin"],
        capture_output=True,
        text=True,
    )
    assert inside.stdout.split() == ["iterate", "stream"]
    programs = {Path(path).name for path in image["bits"]}
    assert programs == {"bonnie++", "iterate", "libopenblas.so.0", "linpack", "netperf", "netserver", "pi", "stream"}


@pytest.mark.parametrize(
    "name",
    usual(
        ["linpack", "y_cruncher", "stream", "bonnie", "netperf_tcp_stream", "netperf_tcp_rr"],
        ["linpack", "stream", "bonnie", "netperf_tcp_rr"],
    ),
)
def test_each_microservice_runs_alone_with_its_limits(workspace, name):
    found = workspace.run(f"1/{name}/docker/free")
    assert found["status"] == "valid", found["reason"]
    assert counted(found) == [True, True]
    wanted = found["cell"]["containers"][0]["limits"]
    assert len(found["limits_seen"]) == 2  # a fresh container for each iteration
    for seen in found["limits_seen"]:
        assert cpulist.parse(seen["cpus"]) == cpulist.parse(wanted["cpus"]) and len(cpulist.parse(seen["cpus"])) == 1
        assert seen["memory_bytes"] == wanted["memory_bytes"]
    values = found["iterations"][0]["iterations"][0]["values"]
    assert set(found["kernels"]) == ({"OpenBLAS"} if name == "linpack" else set())
    sources = {m["source"] for m in workspace.loaded["metrics"].values() if m["benchmark"] == name and "why" not in m}
    assert sources <= set(values) and all(values[source] > 0 for source in sources)


def test_a_supplied_program_runs_in_place_of_the_substitute(workspace, config, here, tmp_path):
    # Y-Cruncher may not be shipped. This script takes its arguments and prints lines as it does.
    (tmp_path / "y").mkdir()
    script = tmp_path / "y/y-cruncher"
    times = "echo 'Total Computation Time:    0.5 seconds'; echo 'Start-to-End Wall Time:    0.6 seconds'"
    script.write_text(f'#!/bin/sh\n[ "$2 $3" = "custom pi" ] || exit 1\nsleep 0.6\n{times}\n')
    script.chmod(0o755)
    with tarfile.open(tmp_path / "y.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "y", "y")
    checksum = hashlib.sha256((tmp_path / "y.tar.gz").read_bytes()).hexdigest()
    programs = {"y_cruncher": {"archive": str(tmp_path / "y.tar.gz"), "sha256": checksum}}
    supplied_programs.prepare(programs)
    given = {**config, "profile": "ci", "programs": programs}
    planned = planner.make(workspace.loaded, studies.profile("ci"), here, given, {})
    workspace.plan["cells"] = planned["cells"]
    found = workspace.run("1/y_cruncher/docker/free")
    shutil.rmtree(supplied_programs.folder(checksum))
    assert found["status"] == "valid", found["reason"]
    assert found["cell"]["substitutes"] == {}
    assert found["iterations"][0]["iterations"][0]["values"] == {"computation_seconds": 0.5, "total_seconds": 0.6}


def test_podman_keeps_services_with_their_limits_too(workspace, working, image):
    working("podman")
    # Podman has to fetch one of the two images from Docker. By then the other image's container is up, and must not interfere.
    for stage in ("linpack", "stream"):
        runtimes.find("podman")._load(image["stages"][stage]["tag"])
    stream = image["stages"]["stream"]["id"].removeprefix("sha256:")
    subprocess.run(["podman", "rmi", "--force", stream], check=True, capture_output=True)
    found = workspace.run("3b/linpack+stream/docker/free", runtime="podman")
    assert found["status"] == "valid", found["reason"]
    assert any(counted(found, 0)) and any(counted(found, 1))
    limits = [container["limits"] for container in found["cell"]["containers"]]
    assert [seen["memory_bytes"] for seen in found["limits_seen"]] == [each["memory_bytes"] for each in limits]
    assert [seen["cpus"] for seen in found["limits_seen"]] == [each["cpus"] for each in limits]


@pytest.mark.parametrize("case", ["2", "3a", "3b"])
def test_a_pair_keeps_each_other_company_and_its_limits(workspace, case):
    found = workspace.run(f"{case}/stream+bonnie/docker/free")
    assert found["status"] == "valid", found["reason"]
    assert any(counted(found, 0)) and any(counted(found, 1))
    assert len(found["limits_seen"]) == (1 if case == "2" else 2)
    cpus = [frozenset(cpulist.parse(seen["cpus"])) for seen in found["limits_seen"]]
    memory = {seen["memory_bytes"] for seen in found["limits_seen"]}
    limits = found["cell"]["host_limits"]
    if case == "3b":
        assert not cpus[0] & cpus[1] and memory == {limits["memory_bytes"] // 2}
    else:
        assert set(cpus) == {frozenset(cpulist.parse(limits["cpus"]))} and memory == {limits["memory_bytes"]}
    # Each iteration that counts lies within the time of the other member's iterations.
    a, b = (member["iterations"] for member in found["iterations"])
    for mine, other in ((a, b), (b, a)):
        begin = min(iteration["begin"] for iteration in other)
        assert all(iteration["begin"] >= begin - 0.05 for iteration in mine if iteration["counts"])


def test_what_bonnie_writes_reaches_the_disk(workspace):
    found = workspace.run("3b/bonnie+bonnie/docker/free")
    assert found["status"] == "valid", found["reason"]
    data = found["cell"]["parameters"]["bonnie"]["data_megabytes"] * 2**20
    done = [i for member in found["iterations"] for i in member["iterations"] if i["values"]]
    assert found["device"]["written_bytes"] >= 0.99 * 2 * data * len(done)
    assert all(iteration["read_bytes"] >= data for iteration in done)


def test_netserver_listens_on_the_study_s_own_network_only(workspace, monkeypatch):
    seen = {}
    pair = attempts._Run._pair

    def looking(self):
        name = self.services.name("server")
        inspected = json.loads(subprocess.run(["docker", "inspect", name], capture_output=True, text=True).stdout)[0]
        seen["networks"], seen["ports"] = list(inspected["NetworkSettings"]["Networks"]), inspected["NetworkSettings"]["Ports"]
        seen["host"] = [f for f in ("tcp", "tcp6") if PORT in Path(f"/proc/net/{f}").read_text()]
        pair(self)

    monkeypatch.setattr(attempts._Run, "_pair", looking)
    found = workspace.run("2/netperf_tcp_stream+netperf_tcp_rr/docker/free")
    assert found["status"] == "valid", found["reason"]
    assert seen == {"networks": ["plimsoll"], "ports": {}, "host": []}


@pytest.mark.parametrize(
    "path",
    usual(
        [
            *("1/netperf_tcp_rr/docker/same-core", "2/linpack+netperf_tcp_rr/docker/same-core"),
            *(f"{case}/netperf_tcp_stream+netperf_tcp_rr/docker/other-core" for case in ("2", "3b")),
        ],
        ["2/linpack+netperf_tcp_rr/docker/same-core", "3b/netperf_tcp_stream+netperf_tcp_rr/docker/other-core"],
    ),
)
def test_client_and_server_run_where_they_are_placed(workspace, monkeypatch, path):
    looked = []
    problem = placement.problem
    monkeypatch.setattr(placement, "problem", lambda groups, needed: looked.append(needed) or problem(groups, needed))
    found = workspace.run(path)
    assert found["status"] == "valid", found["reason"]
    assert looked and all(set(needed) == {"netperf", "netserver"} for needed in looked)


def test_a_run_whose_server_is_not_where_it_is_placed_is_invalid(workspace, monkeypatch):
    netperf = type(workloads.find("netperf_tcp_rr"))
    monkeypatch.setattr(netperf, "bound", lambda self, command, client, server: [*command, "-T", f"{client},{client}"])
    found = workspace.run("2/linpack+netperf_tcp_rr/docker/other-core")
    assert found["status"] == "invalid" and "netserver was bound to processor" in found["reason"]


def test_a_partner_that_fails_always_leaves_nothing_that_counts(workspace, monkeypatch):
    monkeypatch.setattr(type(workloads.find("stream")), "command", lambda *_: ["/bin/false"])
    found = workspace.run("3a/linpack+stream/docker/free")
    assert found["status"] == "invalid" and "iterations of linpack count" in found["reason"]
    assert len(counted(found, 0)) > 1 and not any(counted(found, 0))


def test_a_partner_that_fails_later_invalidates_the_time_after(workspace, monkeypatch):
    whole = workloads.find("stream").command({"elements": 4_000_000, "times": 30, "threads": 1}, 0, "")
    once = ["/bin/sh", "-c", f"[ -e /tmp/ran ] && exit 1; touch /tmp/ran; exec {' '.join(whole)}"]
    monkeypatch.setattr(type(workloads.find("stream")), "command", lambda *_: once)
    changed = {"linpack": {"order": 300}, "stream": {"elements": 4_000_000, "times": 30, "threads": 1}}
    found = workspace.run("3a/linpack+stream/docker/free", parameters=changed)
    assert found["status"] == "valid", found["reason"]
    assert any(counted(found, 0)) and not all(counted(found, 0))
    last = found["iterations"][1]["iterations"][0]["end"]
    assert all(i["end"] <= last + 0.05 for i in found["iterations"][0]["iterations"] if i["counts"])


def test_a_partner_that_stalls_ends_at_its_limit(workspace, monkeypatch):
    monkeypatch.setattr(type(workloads.find("stream")), "command", lambda *_: ["/bin/sleep", "100"])
    begun = time.monotonic()
    found = workspace.run("3a/linpack+stream/docker/free", iteration_limit_seconds=1.5)
    assert time.monotonic() - begun < 12
    assert found["status"] == "invalid"
    assert {i["reason"] for i in found["iterations"][1]["iterations"]} <= {"it took longer than 1.5 s"}


@pytest.mark.parametrize(
    "cell", usual(["1/stream/docker/free", "3a/linpack+stream/docker/free"], ["3a/linpack+stream/docker/free"])
)
def test_a_member_that_forks_and_leaves_is_no_measurement(workspace, monkeypatch, cell):
    usual = type(workloads.find("stream")).command
    monkeypatch.setattr(type(workloads.find("stream")), "command", lambda *words: [*LEAVES, *usual(*words)])
    found = workspace.run(cell)
    assert found["status"] == "invalid"
    iterations = found["iterations"][-1]["iterations"]
    assert {i["reason"] for i in iterations} == {"it ended before what it had started: sleep went on"}
    # The process that stayed was killed, so the next iteration had no such neighbour.
    assert len(iterations) > 1 and not any(i["counts"] for i in iterations)


# Kills a member's loop in its container after it has run a while, as if it had crashed.
CRASH = (
    'until grep -qs "^iterate$" /proc/[0-9]*/comm; do sleep 0.1; done; sleep 2;'
    'for p in /proc/[0-9]*; do if grep -qs "^iterate$" "$p/comm"; then kill -9 "${p#/proc/}"; fi; done'
)


def in_the_pair(*command: str) -> threading.Thread:
    """Start a thread that runs a command 2.5 s after the second container of the run is there.

    NAME in the command stands for the container.
    """

    def act():
        end = time.monotonic() + 60
        while time.monotonic() < end:
            name = container_of_the_run()
            if subprocess.run(["docker", "inspect", name], capture_output=True).returncode == 0:
                time.sleep(2.5)
                subprocess.run([word.replace("NAME", name) for word in command], capture_output=True, check=True)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=act)
    thread.start()
    return thread


LINPACK = stopped("linpack")


@pytest.mark.parametrize(
    ("cell", "longer", "act", "said"),
    [
        pytest.param(
            "1/linpack/docker/free",
            {"parameters": {"linpack": {"order": 2000}}, "iterations": 12},
            stop,
            LINPACK,
            marks=pytest.mark.long,
        ),
        pytest.param("3a/linpack+stream/docker/free", {"window_seconds": 6.0}, stop, LINPACK, marks=pytest.mark.long),
        ("3a/linpack+stream/docker/free", {"window_seconds": 6.0}, pause("docker"), PAUSED),
    ],
    ids=["alone", "pair", "pair-paused"],
)
def test_a_member_that_somebody_stops_for_a_while_disturbs_the_run(workspace, cell, longer, act, said):
    acting = in_the_run("linpack", act)
    found = workspace.run(cell, **longer)
    acting.join(10)
    assert found["status"] == "disturbed", found["reason"]
    assert re.fullmatch(said, found["reason"])


def test_a_member_that_crashes_ends_the_run_and_keeps_what_was_before(workspace):
    acting = in_the_pair("docker", "exec", "NAME", "sh", "-c", CRASH)
    found = workspace.run("3a/linpack+stream/docker/free", window_seconds=20.0)
    acting.join()
    assert found["seconds"]["run"] < 15
    assert found["status"] == "valid", found["reason"]
    assert any(counted(found, 0)) and found["attempts"] == 1


def test_a_container_that_is_killed_interrupts_the_run_and_the_run_is_made_again(workspace):
    acting = in_the_pair("docker", "kill", "NAME")
    found = workspace.run("3a/linpack+stream/docker/free", window_seconds=5.0)
    acting.join()
    assert found["status"] == "valid", found["reason"]
    (interrupted,) = found["invalid_attempts"]
    assert interrupted["status"] == "interrupted" and interrupted["reason"] == "a container ended during its run"
    assert "iterations" not in interrupted


def test_a_program_that_goes_beyond_its_container_s_memory_fails_and_nothing_stays(workspace):
    """The kernel kills the program because of the container's limit, not because the host lacks memory."""
    (container,) = workspace.plan["cells"]["1/linpack/docker/free"]["containers"]
    small = {**container, "limits": {**container["limits"], "memory_bytes": 6 * 2**20}}
    found = workspace.run("1/linpack/docker/free", containers=[small], iteration_limit_seconds=5.0)
    assert found["status"] == "invalid" and "0 of 2 iterations of linpack count: " in found["reason"], found["reason"]
    assert not any(counted(found))


def test_a_disk_that_is_too_full_is_refused_before_anything_starts(workspace, monkeypatch):
    class Full:
        f_bavail, f_frsize, f_files, f_favail = 100000, 4096, 1000, 1000

    monkeypatch.setattr(os, "statvfs", lambda _: Full)
    with pytest.raises(Outage, match="GiB free, and the microservices fill"):
        workspace.run("1/bonnie/docker/free")
    assert not list((workspace.folder / "runs").rglob("*.json"))
    with lock.machine():
        pass


def test_other_limits_than_planned_are_refused(workspace, monkeypatch):
    seen = limits.parse
    monkeypatch.setattr(limits, "parse", lambda text: {**seen(text), "memory_bytes": 1})
    found = workspace.run("1/linpack/docker/free")
    assert found["status"] == "failed" and "may use 1 bytes of memory" in found["reason"]

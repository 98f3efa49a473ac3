"""What goes wrong leaves a record that says so, and nothing on the machine."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from plimsoll import lock, record
from plimsoll.runtimes import docker

CONTAINERS = ("docker", "singularity", "singularity-instance", "singularity-cgroup")


@pytest.mark.parametrize("runtime", ["bare", *CONTAINERS])
def test_a_run_beyond_its_time_limit_is_ended_and_recorded(workspace, working, runtime):
    working(runtime)
    path = f"uma/exact/{'E1' if runtime == 'bare' else 'E2'}/{runtime}/any/default/standard/plain/randomaccess"
    workspace.plan["limits"]["attempts"] = 1
    parameters = {**workspace.plan["cells"][path]["parameters"], "order": 8000}
    found = workspace.run(path, time_limit_seconds=1.5, parameters=parameters)
    assert found["status"] == "timeout"
    assert "longer than its limit of 1.5 s" in found["reason"]
    assert "values" not in found
    # nothing_left() asserts that no rank spins on.


def test_a_run_that_fails_leaves_its_words_and_every_attempt(workspace, working):
    working("docker")
    path = "uma/exact/E2/docker/any/default/standard/plain/beff"
    found = workspace.run(path, mpi_parameters={"btl": "self"})
    assert found["status"] == "failed"
    assert found["reason"].startswith("mpirun ended with ")
    assert found["attempts"] == 3 and len(found["invalid_attempts"]) == 2
    raws = {attempt["raw"] for attempt in [found, *found["invalid_attempts"]]}
    assert len(raws) == 3
    for raw in raws:
        assert (workspace.folder / raw / "stderr.txt").stat().st_size > 0


def test_containers_that_cannot_start_are_recorded(workspace, working, image):
    working("docker")
    workspace.image_path.write_text(json.dumps({**image, "tag": "plimsoll/none:none"}))
    workspace.plan["limits"]["attempts"] = 1
    found = workspace.run("uma/exact/E2/docker/any/default/standard/plain/beff")
    assert found["status"] == "failed"
    assert "the containers could not be started" in found["reason"]


def test_an_instance_that_does_not_start_is_not_believed(workspace, working, image):
    working("singularity-instance")
    workspace.image_path.write_text(json.dumps({**image, "sif": "/nonexistent.sif"}))
    workspace.plan["limits"]["attempts"] = 1
    found = workspace.run("uma/exact/E2/singularity-instance/any/default/standard/plain/beff")
    assert found["status"] == "failed"
    assert "the containers could not be started" in found["reason"]


def test_a_disturbed_run_is_repeated_and_the_first_kept(workspace, working):
    working("bare")
    workspace.plan["limits"]["neighbours"] = {"share": 0.1, "seconds": 0.05}
    burn = [sys.executable, "-c", "import time\nend = time.time() + 120\nwhile time.time() < end: pass"]
    neighbours = [subprocess.Popen(burn) for _ in range(os.cpu_count())]
    try:
        found = workspace.run("uma/exact/E1/bare/any/default/standard/plain/dgemm")
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
    assert found["status"] == "disturbed"
    assert [attempt["status"] for attempt in found["invalid_attempts"]] == ["disturbed", "disturbed"]
    assert "others used" in found["reason"]


def test_a_machine_that_is_not_idle_is_not_measured(workspace, working):
    working("bare")
    workspace.plan["limits"].update(attempts=1, idle={"busy_share": 0.1, "window_seconds": 0.05, "wait_seconds": 0.3})
    burn = [sys.executable, "-c", "import time\nend = time.time() + 120\nwhile time.time() < end: pass"]
    neighbour = subprocess.Popen(burn)
    try:
        found = workspace.run("uma/exact/E1/bare/any/default/standard/plain/dgemm")
    finally:
        neighbour.kill()
        neighbour.wait()
    assert found["status"] == "invalid"
    assert found["reason"].startswith("the machine was not idle within")


@pytest.mark.parametrize("runtime", ["bare", *CONTAINERS])
@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_measurement_leaves_nothing_behind(workspace, working, runtime, with_signal):
    working(runtime)
    before = set(lock.TEMPORARY.glob("*"))
    path = f"uma/exact/{'E1' if runtime == 'bare' else 'E2'}/{runtime}/any/default/standard/plain/randomaccess"
    cell = workspace.plan["cells"][path]
    cell["parameters"]["order"] = 8000
    (workspace.folder / "plan.json").write_text(json.dumps(workspace.plan))
    target = record.path_of(workspace.folder / "runs", path, 1)
    command = [
        sys.executable,
        "-m",
        "plimsoll.measure",
        str(workspace.folder / "plan.json"),
        str(workspace.image_path),
        path,
        "1",
        str(target),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    raw = workspace.folder / "raw" / path / "1-1"
    end = time.monotonic() + 20
    while not (raw / "hpccoutf.txt").exists():
        assert time.monotonic() < end, "the benchmark did not begin"
        time.sleep(0.05)
    process.send_signal(with_signal)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert not target.exists()
    # After SIGKILL it is the next holder of the lock that sweeps; after SIGTERM there is nothing left to sweep.
    if with_signal == signal.SIGKILL:
        with lock.machine():
            pass
    time.sleep(0.3)
    assert set(lock.TEMPORARY.glob("*")) <= before


def test_a_second_measurement_waits_for_the_first(workspace, working, capfd):
    import threading

    working("bare")
    held, released = threading.Event(), threading.Event()

    def hold():
        with lock.machine():
            held.set()
            released.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    threading.Timer(0.5, released.set).start()
    begun = time.monotonic()
    found = workspace.run("uma/exact/E1/bare/any/default/standard/plain/beff")
    thread.join()
    assert found["status"] == "valid" and time.monotonic() - begun > 0.4
    assert "another workflow is measuring" in capfd.readouterr().err


def test_the_network_is_made_anew_if_it_is_gone_and_overlaps_nothing(workspace, working):
    import ipaddress

    working("docker")
    subprocess.run(["docker", "network", "rm", docker.NETWORK], capture_output=True)
    before = docker._routes()
    assert workspace.run("uma/exact/E2/docker/any/default/standard/plain/fft")["status"] == "valid"
    shown = subprocess.run(["docker", "network", "inspect", docker.NETWORK], capture_output=True, text=True, check=True)
    subnet = ipaddress.ip_network(json.loads(shown.stdout)[0]["IPAM"]["Config"][0]["Subnet"])
    assert not any(subnet.overlaps(route) for route in before)

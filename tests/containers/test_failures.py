"""A failure leaves a record that says so, and nothing else on the machine."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from plimsoll import paths, runtimes
from plimsoll.errors import Outage, Unavailable
from plimsoll.host import cgroup, disk
from plimsoll.host.processes import pids_by_name, words
from plimsoll.measuring import lock, record, resources, staleness
from plimsoll.measuring import process as processes
from plimsoll.mpi.job import Job
from plimsoll.runtimes import apptainer, engine
from plimsoll.runtimes.base import HOST, LABEL, Place, Spec
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.docker import Docker
from plimsoll.runtimes.networks import cni, subnets

from tests.conftest import begun, usual
from tests.containers.conftest import alone, called, container_of_the_run, in_the_run

CONTAINERS = (
    *("docker", "singularity", "singularity-instance", "singularity-cgroup", "podman", "docker-host-network"),
    *("singularity-instance-host-network", "docker-shared", "docker-shared-daemon", "singularity-user", "singularity-sharens"),
    "charliecloud",
)
# One runtime of each kind that is swept in its own way.
SWEPT = (
    "bare",
    "docker",
    "podman",
    "singularity",
    "singularity-instance",
    "singularity-cgroup",
    "docker-shared-daemon",
    "charliecloud",
)
OF_EACH_KIND = ("bare", "docker", "podman", "singularity", "singularity-instance")
# Runtimes that start from the image's own form. The others run its unpacked files, as bare metal does.
FROM_IMAGE = CONTAINERS[:-3]


@pytest.mark.parametrize("runtime", usual(["bare", *CONTAINERS], ["bare", "docker", "singularity-instance"]))
def test_a_run_beyond_its_time_limit_is_ended_and_recorded(workspace, working, runtime):
    working(runtime)
    path = f"uma/exact/{'E1' if runtime == 'bare' else 'E2'}/{runtime}/any/default/standard/plain/randomaccess"
    workspace.plan["limits"]["attempts"] = 1
    parameters = {**workspace.plan["cells"][path]["parameters"], "order": 8000}
    found = workspace.run(path, time_limit_seconds=1.5, parameters=parameters)
    assert found["status"] == "timeout"
    assert "longer than its limit of 1.5 s" in found["reason"]
    assert "values" not in found
    # The fixture nothing_left checks that no rank keeps running.


def test_a_run_that_fails_leaves_its_words_and_every_attempt(workspace, working):
    working("docker")
    path = "uma/exact/E2/docker/any/default/standard/plain/beff"
    workspace.plan["limits"]["attempts"] = 2
    found = workspace.run(path, mpi_parameters={"btl": "self"})
    assert found["status"] == "failed"
    assert found["reason"].startswith("mpirun ended with ")
    assert found["attempts"] == 2 and len(found["invalid_attempts"]) == 1
    raws = {attempt["raw"] for attempt in [found, *found["invalid_attempts"]]}
    assert len(raws) == 2
    for raw in raws:
        assert (workspace.folder / raw / "stderr.txt").stat().st_size > 0


def test_containers_that_cannot_start_are_recorded(workspace, working):
    working("docker")
    workspace.plan["limits"]["attempts"] = 1
    path = "uma/exact/E2/docker/any/default/standard/plain/beff"
    places = [{**place, "cpus": "4000"} for place in workspace.plan["cells"][path]["places"]]
    found = workspace.run(path, places=places, restricted=True)
    assert found["status"] == "failed"
    assert "the containers could not be started" in found["reason"]


@pytest.fixture
def impatient(monkeypatch):
    """Wait a second for a failed resource, not a minute."""
    monkeypatch.setattr(resources, "WAIT_SECONDS", 1.0)
    monkeypatch.setattr(resources, "LOOK_SECONDS", 0.2)


def missing(image: dict, **changes) -> dict:
    """Return the description of an image that does not exist, nor any copy of it."""
    return {**image, "tag": "plimsoll/none:none", **changes}


@pytest.mark.parametrize("runtime", usual(FROM_IMAGE, ["docker", "singularity"]))
def test_an_image_that_is_gone_for_good_is_no_measurement(workspace, working, image, impatient, capfd, runtime):
    working(runtime)
    # Engines find an image by its digest, Apptainer by its file.
    engine = runtime.startswith(("docker", "podman"))
    gone = missing(image, **({"id": f"sha256:{64 * '0'}"} if engine else {"sif": "/nonexistent.sif"}))
    workspace.image_path.write_text(json.dumps(gone))
    path = f"uma/exact/E2/{runtime}/any/default/standard/plain/beff"
    begun = time.monotonic()
    with pytest.raises(Outage, match=r"the image plimsoll/none:none was removed \(.*delete results/images/none.json"):
        workspace.run(path)
    assert time.monotonic() - begun < 20
    assert not record.path_of(workspace.folder / "runs", path, 1).exists()
    assert capfd.readouterr().err.count("Trying to repair it for up to 1 s.") == 1
    with lock.machine():
        pass


def test_apptainer_that_is_gone_for_good_is_no_measurement_and_the_next_start_goes_on(workspace, working, impatient):
    working("singularity")
    program = Path(apptainer.executable())
    if not program.is_relative_to(paths.tool_prefix()):
        pytest.skip("Apptainer is not that of the project's set-up here, and others may use it")
    aside = program.with_name("plimsoll-test-aside")

    def go(name: str) -> None:
        program.rename(aside)
        for number in called(name):
            os.kill(number, signal.SIGKILL)

    path = "uma/exact/E2/singularity/any/default/standard/plain/randomaccess"
    parameters = {**workspace.plan["cells"][path]["parameters"], "order": 4800}
    going = in_the_run("hpcc", go)
    try:
        with pytest.raises(Outage, match=r"Apptainer does not answer \(.*install it again \(\./plimsoll setup does\)"):
            workspace.run(path, parameters=parameters)
    finally:
        going.join()
        aside.rename(program)
    assert not record.path_of(workspace.folder / "runs", path, 1).exists()
    found = workspace.run(path)
    assert (found["status"], found["attempts"]) == ("valid", 1), found["reason"]


def test_a_container_that_is_killed_interrupts_its_run_and_the_run_is_made_again(workspace, working):
    working("docker")
    path = "uma/exact/E2/docker/any/default/standard/plain/randomaccess"
    parameters = {**workspace.plan["cells"][path]["parameters"], "order": 1200}

    def kill():
        container = container_of_the_run()
        while subprocess.run(["docker", "top", container], capture_output=True, text=True).stdout.count("hpcc") < 1:
            time.sleep(0.02)
            container = container_of_the_run()
        subprocess.run(["docker", "kill", container], capture_output=True, check=True)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    found = workspace.run(path, parameters=parameters)
    killer.join(5)
    assert found["status"] == "valid", found["reason"]
    assert [attempt["status"] for attempt in found["invalid_attempts"]] == ["interrupted"]
    assert found["invalid_attempts"][0]["reason"] == "a container ended during its run"


@pytest.fixture
def full_disk(workspace):
    """Put the raw output on a small disk that is full, and yield a function that frees the disk."""
    raw = workspace.folder / "raw"
    raw.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(raw)], check=True)
    path = raw / "fill"
    try:
        with pytest.raises(OSError, match="No space left"), open(path, "wb", buffering=0) as file:
            while True:
                if file.write(bytes(2**20)) < 2**20:
                    raise OSError("No space left")
        yield path.unlink
    finally:
        subprocess.run(["umount", "--lazy", str(raw)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_waited_for_and_otherwise_no_measurement(workspace, working, full_disk, monkeypatch):
    working("bare")
    path = "uma/exact/E1/bare/any/default/standard/plain/beff"
    monkeypatch.setattr(resources, "WAIT_SECONDS", 1.0)
    with pytest.raises(Outage, match="the disk of .*/raw is full: free some space"):
        workspace.run(path)
    assert not record.path_of(workspace.folder / "runs", path, 1).exists()
    monkeypatch.setattr(resources, "WAIT_SECONDS", 30.0)
    monkeypatch.setattr(resources, "LOOK_SECONDS", 0.2)
    before = set((workspace.folder / "raw").rglob("1-*"))

    def free():
        # Free the disk only when the attempt has begun: it may wait for another workflow first.
        while set((workspace.folder / "raw").rglob("1-*")) == before:
            time.sleep(0.02)
        time.sleep(0.5)
        full_disk()

    threading.Thread(target=free, daemon=True).start()
    found = workspace.run(path)
    assert found["status"] == "valid", found["reason"]
    assert [attempt["status"] for attempt in found["invalid_attempts"]] == ["interrupted"]


def test_a_run_that_did_not_count_is_tried_by_the_next_starts_and_keeps_every_attempt(workspace, working):
    working("bare")
    path = "uma/exact/E1/bare/any/default/standard/plain/randomaccess"
    workspace.plan["limits"].update(attempts=2, starts=3)
    usual = workspace.plan["cells"][path]["time_limit_seconds"]
    first = workspace.run(path, time_limit_seconds=0.05)
    assert first["status"] == "timeout" and first["attempts"] == 2 and "starts" not in first
    second = workspace.run(path)
    assert second["status"] == "timeout" and second["attempts"] == 4 and second["starts"] == 2
    assert second["invalid_attempts"][:2] == staleness.attempts_of(first)
    third = workspace.run(path, time_limit_seconds=usual)
    assert third["status"] == "valid" and third["attempts"] == 5 and third["starts"] == 3
    assert third["invalid_attempts"] == staleness.attempts_of(second)
    assert len({attempt["raw"] for attempt in staleness.attempts_of(third)}) == 5
    assert workspace.run(path) == third


def test_a_run_that_was_tried_often_enough_is_left_alone(workspace, working):
    working("bare")
    path = "uma/exact/E1/bare/any/default/standard/plain/randomaccess"
    workspace.plan["limits"].update(attempts=1, starts=2)
    for _ in range(2):
        last = workspace.run(path, time_limit_seconds=0.05)
    assert last["attempts"] == last["starts"] == 2
    assert workspace.run(path) == last


def test_a_disturbed_run_is_repeated_and_the_first_kept(workspace, working):
    working("bare")
    workspace.plan["limits"].update(attempts=2, neighbours={"share": 0.1, "seconds": 0.05})
    burn = [sys.executable, "-c", "import time\nend = time.time() + 120\nwhile time.time() < end: pass"]
    neighbours = [subprocess.Popen(burn) for _ in range(os.cpu_count())]
    try:
        found = workspace.run("uma/exact/E1/bare/any/default/standard/plain/dgemm")
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
    assert found["status"] == "disturbed"
    assert [attempt["status"] for attempt in found["invalid_attempts"]] == ["disturbed"]
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
    assert found["reason"].startswith("the machine was not idle within") and f"process {neighbour.pid} of " in found["reason"]


# After SIGTERM each runtime cleans up. After SIGKILL the next run sweeps, in one way per kind of runtime.
KILLS = [(name, signal.SIGTERM) for name in ("bare", *CONTAINERS)] + [(name, signal.SIGKILL) for name in SWEPT]


USUAL_KILLS = [("docker", signal.SIGTERM)]
USUAL_KILLS += [(name, signal.SIGKILL) for name in (*OF_EACH_KIND, "singularity-cgroup")]


@pytest.mark.parametrize(("runtime", "with_signal"), usual(KILLS, USUAL_KILLS))
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
        cell["fingerprint"],
        str(target),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    # Folder of the output while the run lasts; afterwards it is in a folder of the cell.
    raw = workspace.folder / "raw" / cell["launch"] / "1-1" / cell["part"]
    # Another workflow may have to end its run first.
    end = time.monotonic() + 120
    try:
        while not (raw / "hpccoutf.txt").exists():
            assert time.monotonic() < end, "the benchmark did not begin"
            time.sleep(0.05)
    finally:
        process.send_signal(with_signal)
        process.communicate(timeout=30)
    assert process.returncode != 0
    assert not target.exists()
    # After SIGKILL the next holder of the lock sweeps; after SIGTERM there is nothing left to sweep.
    if with_signal == signal.SIGKILL:
        with lock.machine(runtimes.known):
            pass
    time.sleep(0.3)
    with alone():
        assert set(lock.TEMPORARY.glob("*")) <= before


def test_a_container_that_comes_up_after_its_start_was_given_up_is_removed(workspace, working, monkeypatch):
    """This happens to a container that an engine was starting when its containerd was killed."""
    working("docker")
    workspace.plan["limits"]["attempts"] = 1
    started, removed = engine.all_of, Docker.remove

    def started_late(commands, *more):
        monkeypatch.setattr(engine, "all_of", started)
        started(commands, *more)
        raise Unavailable("connection reset by peer")

    def not_there_yet(*_):
        monkeypatch.setattr(Docker, "remove", removed)

    monkeypatch.setattr(engine, "all_of", started_late)
    monkeypatch.setattr(Docker, "remove", not_there_yet)
    found = workspace.run("uma/exact/E2/docker/any/default/standard/plain/beff")
    assert found["status"] == "failed" and "connection reset by peer" in found["reason"]
    # The fixture nothing_left checks that the container is gone.


@pytest.mark.skipif(os.geteuid() != 0, reason="only root kills a shim, and removes its groups")
@pytest.mark.parametrize("how", ["stop", "sweep", "give up"])
def test_the_groups_of_a_container_whose_shim_was_killed_are_removed(working, image, tmp_path, how):
    working("docker")
    runtime = runtimes.find("docker")
    (node,) = runtime.start([Spec("shim", f"{LABEL}-shim-c0", image, tmp_path)])
    (identity,) = output(["docker", "ps", "--quiet", "--no-trunc", "--filter", f"name={node.name}"]).split()
    (shim,) = (number for number in pids_by_name(["containerd-shim"]) if identity in words(number))
    os.kill(shim, signal.SIGKILL)
    with alone():
        acts = {"stop": runtime.stop, "give up": lambda nodes: runtime._give_up([one.spec for one in nodes], HOST)}
        runtime.sweep() if how == "sweep" else acts[how]([node])
    assert [path for root in cgroup.hierarchies() for path in cgroup.groups_named(identity, root)] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root ends a shim")
def test_a_shim_that_nobody_ends_is_ended_when_its_container_is_removed(tmp_path):
    """This happens if containerd is killed while it starts the container. Here a program with the same name and words
    replaces it."""
    identity, called = "0123456789abcdef" * 4, tmp_path / "containerd-shim"
    shutil.copy(shutil.which("bash"), called)
    shim, other = (begun([called, "-c", "sleep 20; :", "-id", one]) for one in (identity, "f" * 64))
    try:
        runtimes.find("docker").end_shims([])
        assert shim.poll() is None
        runtimes.find("docker").end_shims([identity])
        assert shim.wait(5) == -signal.SIGKILL and other.poll() is None
    finally:
        for each in (shim, other):
            each.kill()
            each.wait()


def test_a_second_measurement_waits_for_the_first(workspace, working, capfd):
    working("bare")
    held, released = threading.Event(), threading.Event()

    def hold():
        with lock.machine(runtimes.known):
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
    network = runtimes.find("docker").network.name
    subprocess.run(["docker", "network", "rm", network], capture_output=True)
    before = subnets.routes()
    assert workspace.run("uma/exact/E2/docker/any/default/standard/plain/fft")["status"] == "valid"
    shown = subprocess.run(["docker", "network", "inspect", network], capture_output=True, text=True, check=True)
    subnet = ipaddress.ip_network(json.loads(shown.stdout)[0]["IPAM"]["Config"][0]["Subnet"])
    assert not any(subnet.overlaps(route) for route in before)


def of_the_network() -> list[str]:
    """Return the files that instances have in Apptainer's network, and its firewall rules."""
    kept = [str(path) for folder in (cni.TAKEN / "bridge", cni.NOTES) for path in folder.glob("*[0-9]*") if folder.is_dir()]
    listed = [["iptables", "--wait", "--table", table, "--list-rules"] for table in ("nat", "filter")]
    rules = "\n".join(output(words) for words in listed).splitlines()
    return sorted([*(path for path in kept if "last_reserved" not in path), *(rule for rule in rules if "CNI" in rule)])


@pytest.mark.parametrize("killed", [[0], [0, 1]])
def test_instances_whose_supervisors_were_killed_leave_nothing_of_their_network(working, image, tmp_path, killed):
    working("singularity-instance")
    runtime = runtimes.find("singularity-instance")
    place = Place("0", "0")
    specs = [Spec("supervised", f"{LABEL}-supervised-c{number}", image, tmp_path, place=place) for number in (0, 1)]
    with lock.machine(runtimes.known):
        runtime.stop(runtime.start(specs))
        runtime.tried()
        before = of_the_network()
        nodes = runtime.start(specs)
        assert len(of_the_network()) > len(before)
        for number in killed:
            supervisor = int(Path(f"/proc/{nodes[number].pid}/stat").read_text().rpartition(")")[2].split()[1])
            assert "instance" in Path(f"/proc/{supervisor}/cmdline").read_text()
            os.kill(supervisor, signal.SIGKILL)
        runtime.stop(nodes)
        assert of_the_network() == before
        assert not [group for node in nodes for group in Path("/sys/fs/cgroup").rglob(f"apptainer/{node.pid}")]


def instead(monkeypatch, words: str):
    """Let shell commands follow the measured program, in the first node and the run's folder.

    The exit code is that of the last command.
    """
    usual = Job.command

    def command(job, nodes, program):
        more = nodes[0].inside(["sh", "-c", words], job.folder)
        return ["sh", "-c", f'"$@" && {shlex.join(more)}', "sh", *usual(job, nodes, program)]

    monkeypatch.setattr(Job, "command", command)


@pytest.mark.parametrize("runtime", usual(["bare", "docker", "podman", "singularity-instance"], ["docker"]))
def test_a_benchmark_that_forks_and_leaves_is_no_measurement_and_nothing_of_it_stays(workspace, working, monkeypatch, runtime):
    working(runtime)
    instead(monkeypatch, "setsid sleep 3000 >/dev/null 2>&1 & exit 0")
    workspace.plan["limits"]["attempts"] = 1
    found = workspace.run(f"uma/exact/{'E1' if runtime == 'bare' else 'E2'}/{runtime}/any/default/standard/plain/beff")
    assert found["status"] == "invalid"
    assert re.fullmatch(r"it ended before what it had started: sleep \(process \d+\) went on", found["reason"])
    # The process that adopted it may be slow to remove it.
    stat = Path(f"/proc/{re.search(r'[0-9]+', found['reason'])[0]}/stat")
    assert not stat.exists() or "(sleep) Z" in stat.read_text()


GARBAGE = "head -c 20000 /dev/urandom"


# What a benchmark puts in the place of its output: the command, the status of the run, and its reason.
PUT = {
    "garbage": (f"{GARBAGE} >hpccoutf.txt", "invalid", "hpccoutf.txt does not hold exactly one complete run"),
    "garbage at the end": (f"{GARBAGE} >>hpccoutf.txt", "invalid", "hpccoutf.txt does not hold exactly one complete run"),
    "failed checks": ("sed -i s/Success=1/Success=0/ hpccoutf.txt", "invalid", "HPCC printed no Success=1"),
    "a link": ("rm hpccoutf.txt && ln -s /etc/passwd hpccoutf.txt", "invalid", "it left no hpccoutf.txt"),
    "a folder that is a link": ("mv ranks there && ln -s there ranks", "invalid", "rank 0 left no report"),
    "a pipe": ("rm stderr.txt && mkfifo stderr.txt && exit 3", "failed", "mpirun ended with 3: .*"),
    "a link for errors": (
        "rm stderr.txt && ln -s /etc/passwd stderr.txt && exit 3",
        "failed",
        "mpirun ended with 3: (?!.*/bin/).*",
    ),
}


@pytest.mark.parametrize("runtime", usual(["bare", "docker"], ["docker"]))
@pytest.mark.parametrize("put", usual(PUT, ["garbage at the end", "a link", "a pipe"]))
def test_what_a_benchmark_puts_in_the_place_of_its_output_is_no_measurement(workspace, working, monkeypatch, runtime, put):
    """The benchmark returns 0, or the run waits for it no longer than usual."""
    working(runtime)
    words, status, reason = PUT[put]
    instead(monkeypatch, words)
    workspace.plan["limits"]["attempts"] = 1
    found = workspace.run(f"uma/exact/{'E1' if runtime == 'bare' else 'E2'}/{runtime}/any/default/standard/plain/randomaccess")
    assert found["status"] == status and re.fullmatch(reason, found["reason"]), found["reason"]
    assert "values" not in found


@pytest.fixture
def low(monkeypatch):
    """Return a function that sets low disk limits: a program reaches them once it takes more than 64 MiB of a folder's disk."""

    def set_low(folder):
        monkeypatch.setattr(disk, "TAKEN_BYTES", 64 * 2**20)
        monkeypatch.setattr(disk, "LEFT_BYTES", disk.free_bytes(folder))

    return set_low


# Writes 10 MiB at a time, half a gigabyte in all.
FILLS = "for each in $(seq 50); do head -c 10M /dev/zero >>{}; sleep 0.1; done; sleep 40"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root looks at the disk of a container's files")
@pytest.mark.parametrize("runtime", usual(["docker", "podman"], ["docker"]))
def test_a_benchmark_that_fills_the_disk_of_its_container_is_ended_before_that_is_full(
    workspace, working, monkeypatch, low, runtime
):
    working(runtime)
    assert workspace.run(f"uma/exact/E2/{runtime}/any/default/standard/plain/fft")["status"] == "valid"
    low(storage := runtimes.find(runtime).storage())
    free = disk.free_bytes(storage)
    instead(monkeypatch, FILLS.format("/tmp/fills"))
    workspace.plan["limits"]["attempts"] = 1
    found = workspace.run(f"uma/exact/E2/{runtime}/any/default/standard/plain/beff")
    assert found["status"] == "failed"
    assert re.match(r"it was stopped before the disk of .*the containers \(this attempt took 0\.[1-3] GiB", found["reason"])
    # Its files were removed with its container.
    assert disk.free_bytes(storage) > free - 64 * 2**20


def test_what_a_benchmark_wrote_into_its_folder_is_cut_when_it_fills_the_disk(workspace, monkeypatch, low):
    low(workspace.folder)
    usual = Job.command

    def command(job, nodes, program):
        fills = FILLS.format(shlex.quote(f"{job.folder}/fills"))
        return ["sh", "-c", f'"$@" && {fills}', "sh", *usual(job, nodes, program)]

    monkeypatch.setattr(Job, "command", command)
    workspace.plan["limits"]["attempts"] = 1
    found = workspace.run("uma/exact/E1/bare/any/default/standard/plain/beff")
    assert found["status"] == "failed"
    assert re.match(r"it was stopped before the disk of the results.* \(this attempt took 0\.[1-3] GiB", found["reason"])
    assert (workspace.folder / found["raw"] / "fills").stat().st_size == 2**20


@pytest.mark.parametrize("runtime", usual(["bare", "docker"], ["docker"]))
def test_a_benchmark_that_prints_without_end_fails_and_does_not_fill_the_disk(workspace, working, monkeypatch, runtime):
    working(runtime)
    monkeypatch.setattr(processes, "MOST_BYTES", 2**22)
    # Slow enough that a failing test does not fill the disk.
    instead(monkeypatch, "while sleep 0.01; do head -c 1000000 /dev/zero; done")
    workspace.plan["limits"]["attempts"] = 1
    found = workspace.run(f"uma/exact/{'E1' if runtime == 'bare' else 'E2'}/{runtime}/any/default/standard/plain/beff")
    assert (found["status"], found["reason"]) == ("failed", "it wrote more than 4 MiB to its stdout.txt")
    assert (workspace.folder / found["raw"] / "stdout.txt").stat().st_size <= 2**22

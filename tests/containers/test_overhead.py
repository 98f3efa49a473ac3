"""Real runs of li2018: repeated benchmarks on bare metal, in a container and in a virtual machine; leftovers of a kill."""

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from plimsoll import designs, measure, runtimes
from plimsoll.config import studies
from plimsoll.designs.overhead import attempts
from plimsoll.designs.overhead.factors import OverheadRecord
from plimsoll.errors import Unavailable
from plimsoll.host import cgroup, freezer, processes
from plimsoll.images import builder
from plimsoll.measuring import lock, record
from plimsoll.planning import planner
from plimsoll.runtimes.base import LABEL, Scratch, Spec
from plimsoll.runtimes.changed_root import ChangedRoot
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks import host_networks
from plimsoll.services import daemon
from plimsoll.services.containers import Services
from plimsoll.workflow import unavailable_here

from tests.conftest import built, unlike, usual
from tests.containers.conftest import LEAVES, in_the_run, stop, stopped

DESIGN = designs.find("overhead")

# Each benchmark, and each runtime with a disk and with a network.
CELLS = [
    *(f"iperf/{where}" for where in ("bare", "docker", "vm-emulated")),
    *("cpu_blowfish/bare", "cpu_cryptohash/docker", "cpu_fibonacci/vm-emulated", "cpu_nqueens/docker"),
    *("fpu_fft/bare", "fpu_raytracing/docker", "stream/bare", "stream/vm-emulated"),
    *(f"bonnie_with_bytes/{where}" for where in ("bare/own", "docker/own", "docker/volume", "vm-emulated/own")),
]
# The test of iperf's server runs iperf in a container.
USUAL = ["stream/vm-emulated", "fpu_fft/bare"]
KILLED = """
import sys
from pathlib import Path
from plimsoll import measure
folder, path = Path(sys.argv[1]), sys.argv[2]
measure.measure(folder / "plan.json", path, 1, folder / "killed.json", folder.parents[1] / "image.json")
"""


@pytest.fixture(scope="module")
def image() -> dict:
    return builder.build("overhead", "bootstrap")


@pytest.fixture
def workspace(tmp_path, image, config, working, here):
    """A results folder of li2018 with the plan of the ci profile; `run` measures one run in it, in one attempt."""
    working("docker")
    unavailable = unavailable_here(dict.fromkeys(("vm", "vm-emulated"), "optional"))
    study = built("li2018")

    class Workspace:
        folder = tmp_path / "results/li2018"

        def __init__(self):
            self.folder.mkdir(parents=True)
            (tmp_path / "image.json").write_text(json.dumps(image))
            config_ = {**config, "profile": "ci"}
            self.plan = planner.make(study, studies.profile("ci"), here, config_, unavailable)
            self.plan["limits"].update(attempts=1)
            self.write()

        def write(self):
            (self.folder / "plan.json").write_text(json.dumps(self.plan))

        def run(self, path, **changes):
            if path not in self.plan["cells"]:
                path = path.replace("vm-emulated", "vm")
            if reason := self.plan["cells"][path]["reason"]:
                pytest.skip(reason)
            self.plan["cells"][path].update(changes)
            self.write()
            target = record.path_of(self.folder / "runs", path, 1)
            found = measure.measure(self.folder / "plan.json", path, 1, target, tmp_path / "image.json")
            assert unlike(found, OverheadRecord) == set()
            return found

    return Workspace()


def volumes() -> list[str]:
    return output(["docker", "volume", "ls", "--quiet", "--filter", f"label={LABEL}"]).split()


@pytest.mark.parametrize("path", usual(CELLS, USUAL))
def test_a_benchmark_runs_over_and_over_in_each_environment(workspace, path):
    found = workspace.run(path)
    ran_over_and_over(found)
    if path.startswith("bonnie") and "vm" not in path:
        assert found["seen"]["memory_bytes"] == 96 * 2**20


def ran_over_and_over(found) -> None:
    """Check that a record is valid, that its iterations after the warm-up are observations, and that nothing is left."""
    assert found["status"] == "valid", found["reason"]
    counts = [one["counts"] for one in found["iterations"]]
    assert not counts[0] and counts[-1] and counts == sorted(counts)
    assert {one["why_not"] for one in found["iterations"]} == {None, "it was of the warm-up"}
    rows = DESIGN.readings.observations(built("li2018"), {"repetition": 1}, found)
    assert rows and all(row["value"] > 0 and row["wall_seconds"] > 0 for row in rows)
    assert {row["iteration"] for row in rows} == {one["iteration"] for one in found["iterations"] if one["counts"]}
    assert volumes() == [] and not Path("/sys/class/net", host_networks.NEAR).exists()


def test_iperf_s_server_listens_where_its_client_reaches_it_and_nowhere_else(workspace, monkeypatch):
    seen, real = [], daemon.listening

    @contextlib.contextmanager
    def looking(host, spec, role, log):
        with real(host, spec, role, log) as server:
            rows = [line.split() for line in output(host.inside(["cat", "/proc/net/tcp", "/proc/net/tcp6"])).splitlines()]
            # 0A is the kernel's number for a listening socket. The bytes of its address are in reverse order.
            at = [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[1].endswith(f":{role.port:04X}")]
            seen.append((host.address, [socket.inet_ntoa(bytes.fromhex(one)[::-1]) for one in at]))
            yield server

    monkeypatch.setattr(daemon, "listening", looking)
    ran_over_and_over(workspace.run("iperf/docker"))
    ((address, listening),) = seen
    assert listening == [address]


@pytest.mark.parametrize("where", ["", "home/somebody", "usr/local/share", "var/tmp", "root", "var/lib", "run"])
def test_bare_metal_has_the_files_of_the_image_and_nothing_else_of_its_own(image, tmp_path, where, monkeypatch):
    """The run may have any folder, also one where the image has files."""
    new, temporary = tmp_path / "new", tmp_path / "temporary"
    folder = Path("/", where, f"plimsoll-test-{os.getpid()}") if where else tmp_path / "folder"
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    try:
        _looks_like_the_image(image, new, temporary, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if where == "home/somebody":
            Path("/home/somebody").rmdir()


def _looks_like_the_image(image, new, temporary, folder):
    before = sorted(str(path) for path in Path(image["rootfs"]).rglob("plimsoll-test-*"))
    for each in (new, temporary, folder):
        each.mkdir(parents=True)
    node = ChangedRoot(Spec("test", "bare", image, folder), new, temporary)
    inside = output(node.inside(["sha256sum", "/usr/bin/hardinfo"])).split()[0]
    known = image["files"]["usr/bin/hardinfo"]["sha256"]
    assert inside == known == hashlib.sha256((Path(image["rootfs"]) / "usr/bin/hardinfo").read_bytes()).hexdigest()
    spaces = {name: output(node.inside(["readlink", f"/proc/self/ns/{name}"])) for name in ("net", "pid", "ipc", "uts", "mnt")}
    own = {name: f"{os.readlink(f'/proc/self/ns/{name}')}\n" for name in spaces}
    assert {name for name in spaces if spaces[name] != own[name]} == {"mnt"}
    assert output(node.inside(["cat", "/proc/self/cgroup"])) == Path("/proc/self/cgroup").read_text()
    output(node.inside(["sh", "-c", 'echo written >/var/tmp/one; echo here >"$0/two"', str(folder)]))
    assert (temporary / "one").read_text() == "written\n" and (folder / "two").read_text() == "here\n"
    assert subprocess.run(node.inside(["touch", "/usr/bin/x"]), capture_output=True).returncode
    said = output(node.inside(["sh", "-c", 'echo "$HOME$OMP_NUM_THREADS"; nproc'])).splitlines()
    assert said == [f"{folder}/home", str(os.cpu_count())]
    assert sorted(str(path) for path in Path(image["rootfs"]).rglob("plimsoll-test-*")) == before == []
    # Outside of the node nothing is mounted.
    assert str(new) not in Path("/proc/mounts").read_text() and list(new.iterdir()) == []


@pytest.fixture
def kept(tmp_path):
    """Return a function that starts the only node of a runtime. It is stopped after the test."""
    up = []

    def kept(name, image, **more):
        services = Services(runtimes.find(name), f"test{time.time_ns() % 10**9}", tmp_path)
        up.append(services)
        (node,) = services.start([services.spec("one", image, **more)])
        return node

    yield kept
    for services in up:
        services.take_down()


def mounted(node, place="/var/tmp") -> str:
    """Return the kind of file system of a path in a node."""
    return output(node.inside(["stat", "--file-system", "--format", "%T", place])).strip()


def test_a_container_writes_into_its_layers_or_on_a_volume(kept, image):
    assert mounted(kept("docker", image)) == "overlayfs"
    assert mounted(kept("docker", image, volumes=("/var/tmp",))) not in ("overlayfs", "tmpfs")


def test_a_virtual_machine_has_a_disk_and_processors_of_its_own(kept, image, tmp_path_factory):
    runtime = next((name for name in ("vm", "vm-emulated") if works(name)), None)
    if runtime is None:
        pytest.skip("no virtual machine works here")
    # Not in the node's folder, because that is sent to the guest.
    file = tmp_path_factory.mktemp("disk") / "disk"
    with open(file, "wb") as made:
        os.posix_fallocate(made.fileno(), 0, 64 * 2**20)
    output(["mkfs.ext4", "-q", "-F", str(file)])
    node = kept(runtime, image, scratch=Scratch(file, "/var/tmp"), processors=2)
    assert mounted(node) == "ext2/ext3" and output(node.inside(["nproc"])).strip() == "2"
    output(node.inside(["sh", "-c", "echo this was written in the guest >/var/tmp/x; sync"]))
    assert b"this was written in the guest" in file.read_bytes()


def works(name) -> bool:
    try:
        runtimes.find(name).check()
    except Unavailable:
        return False
    return True


def test_a_benchmark_that_fails_or_hangs_makes_the_run_invalid(workspace, monkeypatch):
    monkeypatch.setattr(attempts.workloads.find("cpu_fibonacci"), "title", "No Such Benchmark", raising=False)
    found = workspace.run("cpu_fibonacci/docker")
    assert found["status"] == "invalid" and "iteration 1 does not count: it ended with" in found["reason"]
    monkeypatch.undo()
    found = workspace.run("cpu_nqueens/docker", iteration_limit_seconds=0.5)
    assert found["status"] == "invalid" and "it took longer than 0.5 s" in found["reason"]


@pytest.mark.parametrize("path", ["cpu_nqueens/bare", "cpu_nqueens/docker"])
def test_a_benchmark_that_forks_and_leaves_makes_the_run_invalid(workspace, monkeypatch, path):
    usual = type(attempts.workloads.find("cpu_nqueens")).command
    monkeypatch.setattr(type(attempts.workloads.find("cpu_nqueens")), "command", lambda *words: [*LEAVES, *usual(*words)])
    found = workspace.run(path)
    assert found["status"] == "invalid"
    assert "it ended before what it had started: sleep went on" in found["reason"]


@pytest.mark.parametrize(
    ("path", "name", "act"),
    [
        ("stream/bare", "stream", stop),
        ("stream/docker", "stream", stop),
        pytest.param("stream/vm-emulated", f"qemu-system-{platform.machine()}"[:15], stop, marks=pytest.mark.long),
    ],
    ids=["bare", "docker", "vm-emulated"],
)
def test_a_program_that_somebody_stops_for_a_while_disturbs_the_run(workspace, path, name, act):
    def in_an_iteration(name: str) -> None:
        end = time.monotonic() + 60
        while not list(workspace.folder.rglob("2/loop.out")) and time.monotonic() < end:
            time.sleep(0.05)
        act(name)

    acting = in_the_run(name, in_an_iteration)
    found = workspace.run(path, window_seconds=10.0 if "vm" in path else 5.0)
    acting.join(10)
    assert found["status"] == "disturbed"
    assert re.fullmatch(stopped(name), found["reason"])


def _paused_while_it_starts(node, group: Path) -> subprocess.Popen:
    """Return the process of a program that was started in a container, and waits because the container was paused just
    then.

    Once a container is paused, the engine refuses to start anything in it.
    """
    before = cgroup.members([group])
    for number in range(100):
        waiting = subprocess.Popen(node.inside(["true"]), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.003 * (number % 20))
        pausing = subprocess.Popen(["docker", "pause", node.name], stdout=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            pausing.wait(2)
        with contextlib.suppress(subprocess.TimeoutExpired):
            waiting.wait(1)
        if waiting.poll() is None and (group / "freezer.state").read_text() == "FROZEN\n" and cgroup.members([group]) > before:
            return waiting
        # Only if Docker itself resumes the container does it know about that.
        subprocess.run(["docker", "unpause", node.name], capture_output=True, timeout=20)
        waiting.wait(20)
    pytest.skip("the engine has started a hundred programs before the container was paused")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root lets a paused container go on")
@pytest.mark.skipif("freezer" not in cgroup.mounts(), reason="seen with the freezer of version 1 alone")
def test_a_container_that_is_paused_while_a_program_is_started_in_it_holds_up_nobody(image, working, tmp_path):
    """While the container is paused, the engine waits for the program and does nothing else about the container."""
    working("docker")
    runtime, run = runtimes.find("docker"), "frozen"
    (node,) = runtime.start([Spec(run, f"{LABEL}-{run}-c0", image, tmp_path, group=runtime.group_of(run))])
    mounted = cgroup.mounts()
    (group,) = (cgroup.counterpart(one, mounted, mounted["freezer"]) for one in node.groups)
    waiting = None
    try:
        waiting = _paused_while_it_starts(node, group)
        begun = time.monotonic()
        runtime.stop([node])
        assert time.monotonic() - begun < 30
    finally:
        freezer.thaw(group)
        if waiting:
            waiting.kill()
            waiting.wait()
        runtime.stop([node])
        cgroup.remove(runtime.group_of(run).strip("/"))


def test_a_container_of_podman_s_that_is_paused_is_removed(image, working, tmp_path):
    working("podman")
    runtime = runtimes.find("podman")
    (node,) = runtime.start([Spec("paused", f"{LABEL}-paused-c0", image, tmp_path)])
    subprocess.run(["podman", "pause", node.name], capture_output=True, check=True)
    runtime.stop([node])
    assert node.name not in output(["podman", "ps", "--all", "--format", "{{.Names}}"])


def test_a_server_that_does_not_listen_makes_the_run_fail(workspace, monkeypatch):
    real = attempts.workloads.find("iperf").at
    monkeypatch.setattr(
        type(attempts.workloads.find("iperf")),
        "at",
        lambda own, *where: real(*where)._replace(command=("/usr/bin/iperf", "-v")),
    )
    monkeypatch.setattr("plimsoll.services.containers.LISTENING", 1.0)
    found = workspace.run("iperf/bare")
    assert found["status"] == "failed" and "did not listen" in found["reason"]
    assert not Path("/sys/class/net", host_networks.NEAR).exists()


def test_what_a_killed_measurement_of_bare_metal_s_disk_left_is_removed_by_the_next(workspace, python):
    words = [python, "-c", KILLED, str(workspace.folder), "bonnie_with_bytes/bare/own"]
    before = set(processes.pids_by_name(["bonnie++"]))
    process = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": "scripts"})
    end = time.monotonic() + 60
    while time.monotonic() < end and set(processes.pids_by_name(["bonnie++"])) <= before:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(volumes()) == 1
    assert workspace.run("cpu_fibonacci/bare")["status"] == "valid"
    assert volumes() == []
    # The program was killed, but data that it had written to its file may keep it for a while.
    end = time.monotonic() + 20
    while not set(processes.pids_by_name(["bonnie++"])) <= before:
        assert time.monotonic() < end
        time.sleep(0.1)
    root = cgroup.mounts().get("memory") or cgroup.mounts().get("unified")
    assert not [path for path in (root / LABEL).glob("*") if path.is_dir()]
    assert not list(lock.TEMPORARY.glob("*"))

"""Real runs of nesting: a program in containers and in nested ones, their creation, and what a failure leaves."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from plimsoll import measure
from plimsoll.config import studies
from plimsoll.designs.nesting import cpu, creation, network
from plimsoll.designs.nesting.factors import NestingRecord
from plimsoll.errors import Outage
from plimsoll.host import cgroup
from plimsoll.images import builder
from plimsoll.measuring import lock, record, resources
from plimsoll.planning import planner
from plimsoll.runtimes import virtual_machine
from plimsoll.runtimes.base import LABEL, Node
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.docker import Docker
from plimsoll.runtimes.guests import guest_node, kernel, machine
from plimsoll.runtimes.networks import host_networks as of_host_networks
from plimsoll.runtimes.networks import second_host
from plimsoll.runtimes.networks.host_networks import NEAR
from plimsoll.services import daemon
from plimsoll.workflow import unavailable_here

from tests.conftest import built, unlike, usual
from tests.containers import another
from tests.containers.conftest import LEAVES, called, in_the_run, stop, stopped
from tests.containers.test_nested import unchanged

PROCESSOR = [f"cpu/{each}" for each in ("bare/2/0", "docker/2/0", "docker-nested/1/1")]
EMULATED = "cpu/vm-emulated/2/0"
CREATION = [f"creation/{each}" for each in ("docker/2/0", "docker-nested/1/1", "docker-nested/2/1", "docker-nested/1/2")]
MACHINES = "creation/vm-emulated/2/0"
PRELOADED = "preloaded/docker-nested/1/1"
COPIES = Path("/var/cache/plimsoll/second-host")
# For `as_before`: how its last test left the host, if it left it as it was.
LAST: list[tuple] = []
# Each end and each network once, and all networks that make something on this host.
NETWORKS = {
    "network/bare/bare/host/one": {"client": "host", "server": "host"},
    "network/docker/bare/host/one": {"client": "host", "server": "host"},
    "network/docker/docker/bridge/one": {},
    "network/bare/docker/plain/one": {"client": "host"},
    "network/docker/bare/openvswitch/one": {"server": "host"},
    "network/docker-nested/bare/openvswitch+bridge/two": {},
    "network/docker-nested/bare/host+host/two": {"client": "host", "parent of the client": "host"},
    "network/docker-nested/bare/host+bridge/one": {"server": "host", "parent of the client": "host"},
    "network/docker-nested/bare/bridge+host/one": {"server": "host", "client": "parent of the client"},
    "network/docker-nested/bare/bridge+bridge/two": {},
    "network/bare/docker-nested/bridge+host/one": {"client": "host", "server": "parent of the server"},
    "network/docker-nested/docker-nested/bridge+host/one": {
        "client": "parent of the client",
        "server": "parent of the server",
    },
    "network/vm-emulated/docker/bridge/one": {},
    "network/bare/vm-emulated/openvswitch/one": {"client": "host"},
}
# Measured in all placements of client and server.
PLACED = "network/docker/docker/bridge/one"
# One of each kind of network and of each kind of end.
USUAL_NETWORKS = [
    *(PLACED, "network/bare/docker/plain/one", "network/docker/bare/openvswitch/one", "network/vm-emulated/docker/bridge/one"),
    *("network/docker-nested/bare/bridge+bridge/two", "network/docker-nested/docker-nested/bridge+host/one"),
]


@pytest.fixture(scope="module")
def image() -> dict:
    return builder.build("nesting", "bootstrap")


@pytest.fixture
def workspace(tmp_path, image, config, working, here):
    """A results folder of amaral2015 with the plan of the ci profile; `run` measures one run in it, in one attempt."""
    working("docker", "docker-nested", "docker-open-vswitch")
    # Where a virtual machine boots with KVM, the cells of `vm` are measured, and the emulated ones are not.
    unavailable = unavailable_here(dict.fromkeys(("vm", "vm-emulated"), "optional"))
    study = built("amaral2015")
    profile = studies.profile("ci")
    profile = {**profile, "nesting": {**profile["nesting"], "children": 2}}

    class Workspace:
        folder = tmp_path / "results/amaral2015"

        def __init__(self):
            self.folder.mkdir(parents=True)
            (tmp_path / "image.json").write_text(json.dumps(image))
            self.plan_for(here)

        def plan_for(self, host):
            self.plan = planner.make(study, profile, host, {**config, "profile": "ci"}, unavailable)
            self.plan["limits"].update(attempts=1)
            # One placement of client and server is enough for most tests, and takes a third of the time.
            self.placements = {path: cell["bindings"] for path, cell in self.plan["cells"].items() if "bindings" in cell}
            for path, every in self.placements.items():
                self.plan["cells"][path]["bindings"] = dict([next(iter(every.items()))]) if every else every

        def write(self):
            (self.folder / "plan.json").write_text(json.dumps(self.plan))

        def run(self, path, **changes):
            if "vm-emulated" in path and path not in self.plan["cells"]:
                path = path.replace("vm-emulated", "vm")
            if "vm" in path and (reason := self.plan["cells"][path]["reason"]):
                pytest.skip(reason)
            self.plan["cells"][path].update(changes)
            self.write()
            target = record.path_of(self.folder / "runs", path, 1)
            found = measure.measure(self.folder / "plan.json", path, 1, target, tmp_path / "image.json")
            assert unlike(found, NestingRecord) == set()
            return found

        def raw(self, found) -> Path:
            return self.folder / found["raw"]

    return Workspace()


@pytest.mark.parametrize(
    "paths",
    [PROCESSOR, pytest.param([PROCESSOR[0], EMULATED], marks=pytest.mark.long)],
    ids=["containers", "virtual machines"],
)
def test_the_same_program_runs_in_every_instance_at_once(workspace, paths):
    found = [_runs_at_once(workspace, path) for path in paths]
    assert all(one["bits"] == found[0]["bits"] for one in found) and "usr/bin/sysbench" in found[0]["bits"]


def _runs_at_once(workspace, path) -> dict:
    """Measure a program in the instances of a cell, check that they ran at once, and return the record."""
    found = workspace.run(path)
    assert found["status"] == "valid", found["reason"]
    instances = int(path.split("/")[2])
    assert len(found["each"]) == instances and found["apart"] < 0.05
    printed = [(workspace.raw(found) / str(number) / "1.out").read_text() for number in range(instances)]
    assert all("total number of events:              20" in text for text in printed)
    assert found["values"]["execution_time"] > 0 and found["values"]["context_switches"] >= 0
    assert all(one["seconds"] <= one["end"] - one["begin"] for one in found["each"])
    return found


LATE = r"this host came 0\.[0-9]{3} s late to the moment"


@pytest.mark.parametrize(("seconds", "late"), usual([(0.05, None), (0.4, LATE)], [(0.4, LATE)]))
def test_a_host_that_stands_still_may_not_come_late_to_the_beginning(workspace, monkeypatch, seconds, late):
    looked = cpu.Task.snapshot
    monkeypatch.setattr(cpu.Task, "snapshot", lambda task: time.sleep(seconds) or looked(task))
    found = workspace.run(PROCESSOR[0])
    if late:
        assert found["status"] == "invalid" and re.match(late, found["reason"])
    else:
        assert found["status"] == "valid", found["reason"]


@pytest.mark.parametrize("path", usual([CREATION[0], CREATION[2], MACHINES], [CREATION[2], MACHINES]))
def test_containers_are_created_at_once(workspace, path):
    created(workspace, path)


def created(workspace, path) -> dict:
    """Measure a creation, check its record, and return it."""
    found = workspace.run(path)
    assert found["status"] == "valid", found["reason"]
    _, _, instances, children = path.split("/")
    number = int(instances) * max(1, int(children))
    values, each = found["values"], found["each"]
    assert len(list(workspace.raw(found).glob("program-*/log.jsonl"))) == number and len(each) == int(instances)
    assert 0 < values["ready_time"] < values["creation_time"] == max(one["ended"] for one in each)
    assert values["creation_time_each"] == pytest.approx(values["creation_time"] / number)
    # Commands begin together. Their programs follow one by one, and a parent's children as its engine starts them.
    assert found["apart"] < 0.05 and (found["programs_apart"] > 0) == (number > 1)
    if path == MACHINES:
        assert 0 < values["boot_time"] < values["ready_time"] and all(one["boot_time"] < one["ended"] for one in each)
    if children != "0":
        assert found["privileges"]["child"] == {"capabilities": [], "seccomp": "on"}
        for one in each:
            parts = sum(one[part] for part in (*creation.PARTS, "end_time"))
            assert parts == pytest.approx(one["ended"], abs=0.001)
            assert one["image_load_time"] > one["parent_time"] > 0
    # Processor time of what the engine starts, and of the engines in parents, is the run's own.
    during = found["noise"]["during"]
    assert during["own_seconds"] > 0.2 and during["neighbour_seconds"] < 0.3 * during["own_seconds"]
    return found


def test_a_child_whose_image_is_there_is_created_without_loading_it(workspace):
    loaded, preloaded = created(workspace, CREATION[1]), workspace.run(PRELOADED)
    assert preloaded["status"] == "valid", preloaded["reason"]
    assert preloaded["values"]["image_load_time"] < 0.05 < loaded["values"]["image_load_time"]
    assert preloaded["values"]["creation_time"] < loaded["values"]["creation_time"]


KILLED = """
import sys
from pathlib import Path
from plimsoll import measure
folder = Path(sys.argv[1])
measure.measure(folder / "plan.json", sys.argv[2], 1, folder / "killed.json", folder.parent.parent / "image.json")
"""


@pytest.fixture
def as_before():
    """Check that volumes, networks, mounts, firewall rules and cgroups of the host are the same afterwards.

    No container or process of ours is left either, although nothing is swept.
    """
    another.take_away()
    mode = os.stat(os.devnull).st_mode
    with unchanged(LAST):
        yield
    assert os.stat(os.devnull).st_mode == mode
    root = cgroup.mounts().get("unified")
    assert root is None or not (root / "plimsoll-engine").exists()


@pytest.mark.parametrize("path", usual(NETWORKS, USUAL_NETWORKS))
def test_a_client_and_a_server_have_the_networks_that_they_should_have(workspace, as_before, path):
    everywhere = {"bindings": workspace.placements[path]} if path == PLACED else {}
    found = workspace.run(path, **everywhere)
    assert found["status"] == "valid", found["reason"]
    placements = found["cell"]["bindings"]
    assert len(placements) == (3 if path == PLACED else 1)
    assert set(found["values"]) == {f"{test}{'_' * bool(each)}{each}" for test in network.TESTS for each in placements}
    # Exactly the nodes that should share a namespace share one.
    seen, shared = found["namespaces"], NETWORKS[path]
    for one in seen:
        for other in seen:
            alike = _shared(one, shared) == _shared(other, shared)
            assert (seen[one] == seen[other]) == alike, (one, other)
    assert ("privileges" in found) == ("docker-nested" in path)
    # Between two hosts the rate is at most the link's, and at least half of it: it depends on who else uses the
    # processors. Open vSwitch in user space and emulated ends may be slower.
    least = 0.02 if "vm" in path else 0.1 if "openvswitch" in path else 0.5
    assert least < found["values"]["throughput"] < (1.0 if path.endswith("two") else 1000)
    for name in found["values"]:
        assert (workspace.raw(found) / name / "netperf.out").read_text().strip()
    assert found["noise"]["during"]["own_seconds"] > found["noise"]["during"]["neighbour_seconds"]


@pytest.mark.parametrize("path", usual([PLACED, "network/bare/docker/plain/one"], ["network/bare/docker/plain/one"]))
def test_a_client_that_forks_and_leaves_makes_the_run_invalid(workspace, as_before, monkeypatch, path):
    usual = Node.inside

    def inside(node, words, *more):
        return usual(node, [*LEAVES, *words] if "TCP_RR" in words and LEAVES[2] not in words else words, *more)

    monkeypatch.setattr(Node, "inside", inside)
    found = workspace.run(path)
    assert found["status"] == "invalid"
    assert re.fullmatch(r"latency .*: it ended before what it had started: sleep \(process \d+\) went on", found["reason"])


@pytest.mark.parametrize("path", usual(["cpu/bare/2/0", "cpu/docker/2/0", "cpu/docker-nested/1/1"], ["cpu/docker-nested/1/1"]))
def test_a_program_that_somebody_stops_for_a_while_disturbs_the_run(workspace, as_before, path):
    acting = in_the_run("sysbench", stop)
    parameters = workspace.plan["cells"][path]["parameters"]
    found = workspace.run(path, parameters={**parameters, "primes": 40000, "events": 4000}, limit_seconds=60)
    acting.join(10)
    assert found["status"] == "disturbed"
    assert re.fullmatch(stopped("sysbench"), found["reason"])


def _shared(name: str, shared: dict[str, str]) -> str:
    """Return the last node in the chain of nodes whose namespace a node has."""
    while name in shared:
        name = shared[name]
    return name


@pytest.fixture(scope="module")
def copies():
    """Copies of images on a second host that is another machine. They are removed after the last test.

    Making a copy takes seconds, and each run checks that its files are the image's.
    """
    shutil.rmtree(COPIES, ignore_errors=True)
    yield
    shutil.rmtree(COPIES, ignore_errors=True)


@pytest.fixture
def second(workspace, as_before, copies, tmp_path_factory, monkeypatch, here):
    """Name of a second host that is another machine. The workspace's plan includes it."""
    if lacking := another.missing():
        pytest.skip(lacking)
    with another.another(tmp_path_factory.mktemp("ssh")) as ssh:
        monkeypatch.setattr(second_host, "SSH", (*ssh, *second_host.SSH[1:]))
        # Two hosts with the same start of a kernel would count as one machine.
        monkeypatch.setattr(second_host, "_here", lambda: ["machine this", f"architecture {os.uname().machine}"])
        workspace.plan_for({**here, "second_host": second_host.look(another.NAME)})
        yield another.NAME


@pytest.mark.parametrize(
    "client",
    usual(
        ["bare/bare/host", "docker/bare/bridge", "docker/bare/openvswitch", "vm-emulated/bare/bridge"],
        ["docker/bare/bridge"],
    ),
)
def test_another_machine_is_the_second_host(workspace, second, client):
    """Its only route leads to this host's address. Without address translation nothing would come back to a container."""
    before = called("netserver")
    found = workspace.run(f"network/{client}/two")
    assert found["status"] == "valid", found["reason"]
    assert found["cell"]["parameters"]["second_host"]["name"] == second and found["settled"]["idle"]
    assert found["namespaces"]["server"].startswith(f"{second}: ") and found["values"]["throughput"] > 0.02
    assert set(called("netserver")) <= set(before)


@pytest.fixture
def soon_lost(second, monkeypatch):
    """A second host that the workflow gives up after one or two seconds."""
    # If an option is given twice, ssh takes the first.
    monkeypatch.setattr(second_host, "SSH", ("ssh", "-o", "ConnectTimeout=2", *second_host.SSH[1:]))
    monkeypatch.setattr(daemon, "END_SECONDS", 1.0)
    return second


@pytest.mark.long
def test_a_second_host_that_goes_is_waited_for(workspace, soon_lost, monkeypatch):
    real, cut = network.Task._test, []

    def gone(task, test, placement, pair):
        if not cut:
            cut.append(output(["ip", "link", "set", another.NEAR, "down"]))
        return real(task, test, placement, pair)

    def back(problem, examine, mend):
        with pytest.raises(Outage, match=f"the second host {soon_lost} does not answer .*ssh {soon_lost} failed"):
            examine()
        output(["ip", "link", "set", another.NEAR, "up"])
        return restore(problem, examine, mend)

    restore = resources.restore
    monkeypatch.setattr(resources, "restore", back)
    monkeypatch.setattr(network.Task, "_test", gone)
    found = workspace.run("network/bare/bare/host/two")
    assert found["status"] == "valid" and [one["status"] for one in found["invalid_attempts"]] == ["interrupted"], found


def test_a_second_host_that_stays_away_is_no_measurement(workspace, soon_lost, monkeypatch):
    output(["ip", "link", "set", another.NEAR, "down"])
    monkeypatch.setattr(resources, "WAIT_SECONDS", 2.0)
    with pytest.raises(Outage, match=f"the second host {soon_lost} does not answer"):
        workspace.run("network/bare/bare/host/two")
    assert not list((workspace.folder / "runs").rglob("*.json"))


@pytest.mark.parametrize("client", usual(["bare", "docker"], ["docker"]))
def test_a_server_on_bare_metal_listens_where_its_client_reaches_it_and_nowhere_else(workspace, as_before, monkeypatch, client):
    seen, real = [], network.Task._test

    def looking(task, test, placement, pair):
        rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
        # 0A is the kernel's number for a listening socket. The bytes of its address are in reverse order.
        at = [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[1].endswith(f":{pair.port:04X}")]
        seen.append((pair.address, [socket.inet_ntoa(bytes.fromhex(one)[::-1]) for one in at]))
        return real(task, test, placement, pair)

    monkeypatch.setattr(network.Task, "_test", looking)
    found = workspace.run(f"network/{client}/bare/{'host' if client == 'bare' else 'bridge'}/one")
    assert found["status"] == "valid", found["reason"]
    assert seen and all(listening == [address] for address, listening in seen)


def test_a_server_s_engine_that_dies_interrupts_its_run(workspace, as_before, monkeypatch):
    """The engine of this machine is not ended for a test. Instead it counts as silent once."""
    real, answers = network.Task._test, Docker.refuse_silent
    silent = [Outage("the Docker engine does not answer (x)", "start it")]

    def without_engine(task, test, placement, pair):
        if silent:
            output(["docker", "kill", pair.server.name])
        return real(task, test, placement, pair)

    def refuse_silent(engine):
        if silent:
            raise silent.pop()
        answers(engine)

    monkeypatch.setattr(network.Task, "_test", without_engine)
    monkeypatch.setattr(Docker, "refuse_silent", refuse_silent)
    found = workspace.run("network/bare/docker/host/one")
    assert found["status"] == "valid", found["reason"]
    (before,) = found["invalid_attempts"]
    assert (before["status"], before["reason"]) == ("interrupted", "the Docker engine does not answer (x)")


def test_a_server_on_another_machine_ends_with_a_killed_measurement(second):
    server = subprocess.Popen(second_host.SshMachine(second).kept(["sleep", "1010"]), stdin=subprocess.PIPE)
    found = ["pgrep", "-f", "^sleep 1010"]
    assert until(lambda: subprocess.run(found, capture_output=True).returncode == 0)
    server.kill()
    server.wait()
    assert until(lambda: subprocess.run(found, capture_output=True).returncode == 1)


def test_files_there_that_are_not_the_image_s_are_refused(workspace, second, image):
    second_host.SshMachine(second).hold(image)
    (program,) = COPIES.glob("*/opt/plimsoll/bin/netserver")
    program.write_bytes(b"another")
    found = workspace.run("network/docker/bare/host/two")
    shutil.rmtree(COPIES)
    assert found["status"] == "failed" and "delete that folder there" in found["reason"], found["reason"]


def until(seen, seconds: float = 10.0) -> bool:
    """Return whether `seen` becomes true in time."""
    end = time.monotonic() + seconds
    while not seen():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_a_server_that_ends_in_the_middle_is_told(workspace, as_before, monkeypatch):
    real = network.Task._test

    def without_server(task, test, placement, pair):
        output(["pkill", "-f", f"netserver.*-p {pair.port}"])
        return real(task, test, placement, pair)

    monkeypatch.setattr(network.Task, "_test", without_server)
    found = workspace.run("network/bare/bare/host/two")
    assert found["status"] == "invalid" and "ended with" in found["reason"]


# Seconds after the start of a test (0: before it begins), the cell, and what breaks it.
BROKEN = {
    "the parent is killed": (
        0.7,
        "network/docker-nested/bare/bridge+bridge/two",
        lambda pair: output(["docker", "kill", pair.client.on.name]),
    ),
    "its engine is killed": (
        0,
        "network/docker-nested/bare/bridge+bridge/two",
        lambda pair: output(["docker", "exec", pair.client.on.name, "sh", "-c", "kill -9 $(cat /var/run/docker.pid)"]),
    ),
    "the switch is killed": (
        0.7,
        "network/docker/bare/openvswitch/two",
        lambda pair: of_host_networks.SWITCH.daemons[-1].kill(),
    ),
    "the virtual machine is killed": (0, "network/vm-emulated/bare/bridge/two", lambda pair: pair.client.process.kill()),
    "the link is cut": (0.7, "network/bare/bare/host/two", lambda pair: output(["ip", "link", "set", NEAR, "down"])),
}


@pytest.mark.parametrize("how", usual(BROKEN, ["the parent is killed"]))
def test_a_network_that_breaks_is_told_and_the_next_run_works(workspace, as_before, monkeypatch, how):
    moment, path, breaks = BROKEN[how]
    real, before = network.Task._test, [*called("netserver"), *called("netperf")]

    def broken(task, test, placement, pair):
        timer = threading.Timer(moment, breaks, [pair])
        timer.start()
        try:
            return real(task, test, placement, pair)
        finally:
            timer.join()

    with monkeypatch.context() as patch:
        patch.setattr(network.Task, "_test", broken)
        # The usual 15 s are long for a test.
        patch.setattr(network, "PATIENCE", 3.0)
        found = workspace.run(path)
    assert found["status"] == "invalid" and re.search("ended with|had not ended after", found["reason"]), found["reason"]
    assert {*called("netserver"), *called("netperf")} <= set(before) and virtual_machine.ours() == []
    workspace.plan["limits"].update(starts=5)
    assert workspace.run(path)["status"] == "valid"


def test_a_switch_whose_database_dies_in_the_middle_leaves_nothing(workspace, as_before, monkeypatch):
    """It may go on switching the connections that it knows. It is taken down in any case."""
    real, switch = network.Task._test, of_host_networks.SWITCH

    def without(task, test, placement, pair):
        switch.daemons[0].kill()
        return real(task, test, placement, pair)

    with monkeypatch.context() as patch:
        patch.setattr(network.Task, "_test", without)
        found = workspace.run("network/docker/bare/openvswitch/one")
    assert found["status"] in ("valid", "invalid", "failed")
    assert daemons_of(switch) == [] and not switch.folder.exists()
    # A record that counts would be kept.
    record.path_of(workspace.folder / "runs", "network/docker/bare/openvswitch/one", 1).unlink()
    assert workspace.run("network/docker/bare/openvswitch/one")["status"] == "valid"


def test_what_a_killed_measurement_of_a_network_made_on_this_host_is_removed_by_the_next(workspace, python, as_before):
    workspace.write()
    words = [python, "-c", KILLED, str(workspace.folder), "network/docker-nested/bare/host+bridge/two"]
    process = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": "scripts"})
    made = [Path("/sys/class/net") / name for name in (NEAR, of_host_networks.CHILDREN.device)]
    end = time.monotonic() + 60
    while time.monotonic() < end and not all(path.exists() for path in made):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert all(path.exists() for path in made) and f"-i {NEAR}" in output(["iptables-save"])
    assert workspace.run(PROCESSOR[0])["status"] == "valid"
    assert not any(path.exists() for path in made) and "plimsoll" not in output(["iptables-save"])


def test_a_switch_of_a_killed_measurement_is_removed_by_the_next(workspace, python, as_before):
    workspace.write()
    words = [python, "-c", KILLED, str(workspace.folder), "network/docker/bare/openvswitch/one"]
    process = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": "scripts"})
    switch = of_host_networks.SWITCH
    wire = Path(f"/sys/class/net/{switch.device}1")
    # A container is connected to the switch.
    assert until(wire.exists, 60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert wire.exists() and len(daemons_of(switch)) == 2
    assert workspace.run(PROCESSOR[0])["status"] == "valid"
    assert daemons_of(switch) == [] and not switch.folder.exists()
    assert not list(Path("/sys/class/net").glob(f"{switch.device}*"))


def daemons_of(switch) -> list[str]:
    """Return the process numbers of a switch's daemons, whose command lines have the paths of its files."""
    return subprocess.run(["pgrep", "--full", f"{switch.folder}/"], capture_output=True, text=True).stdout.split()


def while_it_runs(until, act):
    """Start a thread that calls `act` once, with the first true result of `until`."""

    def wait():
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if found := until():
                act(found)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def parent() -> str:
    """Return the number of the parent container in the run that this process measures; empty if it is not up."""
    name = f"{LABEL}-{os.environ.get(lock.VARIABLE, 'none')}-c0-parent"
    return output(["docker", "ps", "--quiet", "--filter", f"name={name}"]).strip()


def test_a_parent_that_is_killed_in_the_middle_is_told_and_leaves_nothing(workspace, as_before):
    thread = while_it_runs(parent, lambda name: output(["docker", "kill", name]))
    found = workspace.run(CREATION[1])
    thread.join()
    assert found["status"] == "failed" and "creation 1 ended with 137" in found["reason"]
    again = workspace.plan["limits"]
    again.update(starts=5)
    assert workspace.run(CREATION[1])["status"] == "valid"


@pytest.mark.long
def test_an_engine_that_is_killed_while_it_loads_is_told_and_leaves_nothing(workspace, as_before):
    killing = ["sh", "-c", "until kill -KILL $(pidof dockerd) 2>/dev/null; do sleep 0.05; done"]
    thread = while_it_runs(parent, lambda name: output(["docker", "exec", name, *killing]))
    found = workspace.run(CREATION[1])
    thread.join()
    assert found["status"] == "failed" and "creation 1 ended with" in found["reason"], found["reason"]
    workspace.plan["limits"].update(starts=5)
    assert workspace.run(CREATION[1])["status"] == "valid"


def test_a_creation_that_takes_too_long_is_given_up(workspace, as_before):
    found = workspace.run(CREATION[1], limit_seconds=1.0)
    assert found["status"] == "failed" and "had not ended after 1 s" in found["reason"]


def test_a_creation_that_fails_says_why(workspace, monkeypatch, as_before):
    monkeypatch.setattr(creation.Task, "_dummy", lambda self, name: ("/no/such/program",))
    found = workspace.run(CREATION[0])
    assert found["status"] == "failed" and "creation 1 ended with 12" in found["reason"]


def test_a_virtual_machine_that_is_killed_in_the_middle_is_told(workspace, as_before):
    thread = while_it_runs(virtual_machine.ours, lambda found: os.kill(found[0][1], signal.SIGKILL))
    found = workspace.run(MACHINES)
    thread.join()
    assert found["status"] == "failed" and "ended with 137" in found["reason"], found["reason"]


def test_a_virtual_machine_that_never_boots_is_told(workspace, as_before, monkeypatch, tmp_path):
    (tmp_path / "kernel").write_bytes(b"no kernel")
    monkeypatch.setattr(kernel, "image", lambda: tmp_path / "kernel")
    found = workspace.run("cpu/vm-emulated/1/0")
    assert found["status"] == "failed" and "ended before it was ready" in found["reason"], found["reason"]
    monkeypatch.undo()
    # It boots, but its first program never says so.
    monkeypatch.setattr(machine, "KERNEL_WORDS", f"{machine.KERNEL_WORDS} rdinit=/bin/none root=none")
    monkeypatch.setattr(guest_node, "BOOT_SECONDS", 5.0)
    found = workspace.run("cpu/vm-emulated/1/0")
    assert found["status"] == "failed" and "the virtual machine plimsoll-" in found["reason"], found["reason"]


def test_virtual_machines_of_a_killed_measurement_are_removed_by_the_next(workspace, python, as_before):
    workspace.write()
    path = next(path for path in ("cpu/vm-emulated/2/0", "cpu/vm/2/0") if path in workspace.plan["cells"])
    process = subprocess.Popen([python, "-c", KILLED, str(workspace.folder), path], env={**os.environ, "PYTHONPATH": "scripts"})
    end = time.monotonic() + 60
    # Counted by name: while a machine starts the script that connects it, two of its processes are listed.
    while time.monotonic() < end and len(dict(virtual_machine.ours())) < 2:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(dict(virtual_machine.ours())) == 2
    assert workspace.run(PROCESSOR[0])["status"] == "valid"
    assert virtual_machine.ours() == [] and not list(Path("/sys/class/net").glob("plimsoll-vm*"))


@pytest.mark.parametrize(("path", "number"), usual([(CREATION[2], 2), (PRELOADED, 1)], []))
def test_what_a_killed_measurement_left_is_removed_by_the_next(workspace, python, as_before, path, number):
    """For PRELOADED, this is the parent that loads the child's image into a volume."""
    workspace.write()
    words = [python, "-c", KILLED, str(workspace.folder), path]
    process = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": "scripts"})
    end = time.monotonic() + 60
    while time.monotonic() < end and len(output(["docker", "ps", "--quiet", "--filter", f"label={LABEL}"]).split()) < number:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(output(["docker", "ps", "--all", "--quiet", "--filter", f"label={LABEL}"]).split()) == number
    created(workspace, CREATION[3])
    assert output(["docker", "ps", "--all", "--quiet", "--filter", f"label={LABEL}"]) == ""

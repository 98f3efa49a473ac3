"""Networks of nesting: planned ends, Netperf's output, where an end has to be, and what claims compare."""

import os
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from plimsoll import designs, run_repair
from plimsoll.analysis.tables import TableRequest
from plimsoll.claims import book
from plimsoll.config import studies
from plimsoll.designs.nesting import ends, network, processor_binding, report, run_tables, words
from plimsoll.designs.nesting.charts import networks
from plimsoll.errors import Outage, PlimsollError, Unavailable
from plimsoll.figures import render
from plimsoll.measuring import binding_check
from plimsoll.measuring.attempt import Run
from plimsoll.planning import planner, study_plans
from plimsoll.runtimes import docker_open_vswitch
from plimsoll.runtimes.base import HOST, Node
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks import (
    engine_bridge,
    firewall,
    host_networks,
    second_host,
    subnets,
    switch_network,
)
from plimsoll.workloads.base import InvalidOutput

from tests.conftest import PROJECT, built, host_of
from tests.unit.test_charts import drawn

DESIGN = designs.find("nesting")

LOCAL = "network/docker/bare/bridge/one"


@pytest.fixture
def amaral2015() -> studies.Study:
    return built("amaral2015")


@pytest.fixture
def plan_of(amaral2015, config, small_host):
    def plan_of(host=small_host, **changes):
        return planner.make(amaral2015, studies.profile("quick"), host, {**config, "profile": "quick", **changes}, {})

    return plan_of


@pytest.fixture
def plan(plan_of) -> dict:
    return plan_of()


def test_client_and_server_are_placed_on_the_cores_that_are_there(plan_of):
    assert plan_of()["cells"][LOCAL]["bindings"] == {"": None, "same_core": [0, 0], "other_core": [0, 1]}
    assert plan_of(host_of(1, 1))["cells"][LOCAL]["bindings"] == {"": None, "same_core": [0, 0]}


def test_an_end_whose_runtime_is_off_is_not_planned(plan_of, config):
    plan = plan_of(runtimes={**config["runtimes"], "docker": "off"})
    assert "network/bare/bare/host/one" in plan["cells"]
    assert not [path for path in plan["cells"] if path.startswith("network/") and "/docker/" in path]


def test_the_reason_of_a_server_s_runtime_is_that_of_the_cell(amaral2015, config, small_host):
    plan = planner.make(amaral2015, studies.profile("quick"), small_host, config, {"docker": "it hangs"})
    assert plan["cells"]["network/bare/docker/bridge/one"]["reason"] == "it hangs"


STREAM = " 65536  65536  65536    1.00    20450.10   \n"
RR = """\
MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : first burst 6
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

425984 425984 65536    65536   1.00     35000.00
425984 425984
"""
PARAMETERS = {"seconds": 1, "burst": 6, "message_kilobytes": 64, "buffer_kilobytes": 256}


def test_throughput_is_in_gigabits_and_latency_is_of_a_transaction():
    assert network.throughput(STREAM, PARAMETERS) == pytest.approx(20.4501)
    # 7 transactions are under way at once, so that 35,000 per second take 200 microseconds each.
    assert network.latency(RR, PARAMETERS) == pytest.approx(200)


@pytest.mark.parametrize(
    ("read", "text", "reason"),
    [
        (network.latency, RR.replace(" : first burst 6", ""), "line 1 of its output"),
        (network.latency, RR.replace("burst 6", "burst 1"), "Netperf used bursts of 1, not of 6"),
        (network.latency, RR.replace("65536   1", "1       1"), "messages of 65536 bytes"),
        (network.latency, RR.replace(" 35000.00", ""), "line 7 of its output"),
        (network.latency, RR.replace("35000.00", "35000.0"), "line 7 of its output"),
        (network.latency, RR.replace("425984 425984\n", "", 1).removesuffix("\n"), "line"),
        (network.latency, RR[:-8], "where it ends"),
        (network.latency, RR.replace("1.00 ", "0.50 "), "after 0.5 s"),
        (network.throughput, STREAM.replace("20450.10", "0.00"), "0 after 1 s"),
        (network.throughput, STREAM.replace("20450.10", "999999999.00"), "1e.09 after 1 s"),
        (network.throughput, STREAM + STREAM, "line 2 of its output"),
        (network.throughput, "", "it printed nothing"),
    ],
)
def test_output_that_is_not_whole_is_refused(read, text, reason):
    with pytest.raises(InvalidOutput, match=reason):
        read(text, PARAMETERS)


def test_as_much_is_under_way_as_in_the_paper_s_tables():
    command = network.TESTS["latency"]("10.0.0.2", 4711, PARAMETERS)
    assert command[1:9] == ["-H", "10.0.0.2", "-4", "-p", "4711", "-t", "TCP_RR", "-l"]
    assert command[-9:] == ["-b", "6", "-r", "64K,64K", "-s", "256K", "-S", "256K", "-D"]
    assert command[-10] == "--"


ROUTES = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t01004D0A\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t00004D0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""


def test_the_gateway_is_that_of_the_default_route():
    assert ends.gateway(ROUTES) == "10.77.0.1"
    with pytest.raises(Unavailable, match="no default route"):
        ends.gateway(ROUTES.splitlines()[0])


class Named(Node):
    """A node in a network namespace."""

    kind = "test"
    command = ("docker",)

    def __init__(self, namespace, on=None):
        super().__init__(namespace, on)

    def enter(self, program, folder=None, *, without=(), keep_binding=False):
        return program


@pytest.mark.parametrize(
    ("client", "server", "address"),
    [
        (["here"], "here", "127.0.0.1"),  # both on the host's network
        (["one"], "here", "gateway of one"),  # a container on a bridge
        (["here"], "two", "address of two"),
        (["one"], "two", "address of two"),
        (["child", "here"], "here", "gateway of child"),  # a nested container on a bridge, its parent on the host's network
        (["child", "parent"], "here", "gateway of parent"),
        (["parent", "parent"], "here", "gateway of parent"),
        (["here"], ["parent", "parent"], "address by inspect"),  # a nested container on its parent's network
        (["here"], ["two", "parent"], "address of two"),
    ],
)
def test_a_client_reaches_a_server(monkeypatch, client, server, address):
    spaces = {HOST: "here"}

    def stacked(names):
        nodes = None
        for name in reversed([names] if isinstance(names, str) else names):
            nodes = Named(name, nodes)
        return nodes

    monkeypatch.setattr(ends, "namespace", lambda node: spaces.get(node, node.name))
    told = {
        "cat": lambda node: f"gateway of {node}",
        "hostname": lambda node: f"address_of_{node} more",
        "docker": lambda node: "address by inspect\n",
    }
    asked = []
    monkeypatch.setattr(Named, "inside", lambda node, program, **_: [asked.append(node.name), *program][1:])
    monkeypatch.setattr(ends, "output", lambda command: told[command[0]](asked[-1] if asked else ""))
    monkeypatch.setattr(ends, "gateway", lambda routes: routes)
    assert ends.address_of(stacked(client), stacked(server)).replace("_", " ") == address


SEEN = {"host": "1", "client": "1", "server": "1", "parent of the client": "1"}


@pytest.mark.parametrize(
    ("path", "seen", "reason"),
    [
        ("network/bare/bare/host/one", {}, None),
        ("network/bare/bare/host/two", {"server": "2"}, None),
        ("network/bare/bare/host/two", {}, "the server shares the network of the host"),
        (LOCAL, {"client": "2"}, None),
        (LOCAL, {}, "the client shares the network of the host"),
        ("network/docker/bare/host/one", {"client": "2"}, "the client does not share the network of the host"),
        ("network/docker-nested/bare/bridge+host/one", {"parent of the client": "2", "client": "2"}, None),
        ("network/docker-nested/bare/bridge+host/one", {"parent of the client": "2"}, "the network of the parent"),
        ("network/docker-nested/bare/host+bridge/one", {"client": "2"}, None),
        ("network/docker-nested/bare/host+host/one", {"parent of the client": "2"}, "the parent of the client does not share"),
    ],
)
def test_an_end_that_is_elsewhere_is_refused(plan, path, seen, reason):
    found = {**SEEN, **seen}
    if reason is None:
        ends.refuse_other(found, plan["cells"][path])
        return
    with pytest.raises(InvalidOutput, match=reason):
        ends.refuse_other(found, plan["cells"][path])


def test_where_programs_are_bound_is_told(monkeypatch):
    answers = [{"netperf": set(), "netserver": set()}, {"netperf": {0}, "netserver": {1}}]
    monkeypatch.setattr(
        binding_check, "bound_processors", lambda processes, names: answers.pop(0) if len(answers) > 1 else answers[0]
    )
    pair = ends.Pair(HOST, HOST, "127.0.0.1", 4711)
    assert processor_binding.problem(pair, [0, 1]) is None
    monkeypatch.setattr(binding_check, "LOOK_SECONDS", 0.05)
    assert processor_binding.problem(pair, [0, 0]) == "netserver was bound to processor 1, and should be to 0"


class Machine(Node):
    """A virtual machine that the kernel sees as this process."""

    own_kernel = whole = True
    enter = None

    def threads(self):
        return [os.getpid()]

    def bind(self, processors):
        os.sched_setaffinity(0, processors)


FAR = {"name": "root@far", "kernel": "Linux 6.1", "cpu_model": "of it", "processor": 3, "megabits": 1000}
REMOTE = "network/docker/bare/bridge/two"


def test_a_second_host_is_part_of_what_is_measured_across_two(plan_of, small_host):
    usual, named = plan_of(), plan_of({**small_host, "second_host": FAR})
    assert named["cells"][REMOTE]["parameters"]["second_host"] == FAR and named["second_host"] == FAR
    assert named["cells"][REMOTE]["bindings"] == {"": [0, 3]}
    differ = {path for path, cell in named["cells"].items() if cell["fingerprint"] != usual["cells"][path]["fingerprint"]}
    assert differ == {path for path in usual["cells"] if path.endswith("/two")}
    assert "two_machines" in DESIGN.contrasts.unmet_needs(usual) and "two_machines" not in DESIGN.contrasts.unmet_needs(named)
    # The link is the bottleneck only if it is no faster than the paper's.
    fast, unknown = {**FAR, "megabits": 25_000}, {key: FAR[key] for key in FAR if key != "megabits"}
    lacking = [DESIGN.contrasts.unmet_needs(plan_of({**small_host, "second_host": far})) for far in (FAR, fast, unknown)]
    assert ["filled_link" in lacks for lacks in (DESIGN.contrasts.unmet_needs(usual), *lacking)] == [False, False, True, True]


def test_what_takes_root_s_networks_is_told(plan_of, small_host):
    found = plan_of({**small_host, "root": False})["cells"]
    usual = plan_of()["cells"]
    refused = {path: cell["reason"] for path, cell in found.items() if cell["reason"] and not usual[path]["reason"]}
    assert {"needs root" in reason for reason in refused.values()} == {True}
    networks = {path for path in usual if path.startswith("network/") and not usual[path]["reason"]}
    assert set(refused) == {path for path in networks if path.endswith("/two") or "/host+" in path}
    named = plan_of({**small_host, "root": False, "second_host": FAR})["cells"]
    assert named[REMOTE]["reason"] is None


def test_a_second_host_that_cannot_be_used_is_refused_before_anything_is_measured(plan_of, small_host):
    host = {**small_host, "second_host": {"name": "root@far", "reason": "the second host root@far cannot be used: no route"}}
    plan = plan_of(host)
    reasons = {cell["reason"] for path, cell in plan["cells"].items() if path.endswith("/two") and "vm" not in path}
    assert reasons == {"the second host root@far cannot be used: no route"}
    with pytest.raises(
        PlimsollError,
        match="^The second host root@far cannot be used: no route. Nothing was measured. Repair that, or set second_host",
    ):
        study_plans.refuse_out_of_reach(host, [plan])
    study_plans.refuse_out_of_reach(host, [])
    study_plans.refuse_out_of_reach({**small_host, "second_host": FAR}, [plan_of({**small_host, "second_host": FAR})])


def test_what_ssh_does_not_reach_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(second_host, "SSH", ("ssh", "-F", "/dev/null", *second_host.SSH[1:], "-o", "Port=1"))
    with pytest.raises(Unavailable, match="nowhere.invalid has no IPv4 address"):
        second_host.look("root@nowhere.invalid")
    with pytest.raises(Unavailable, match="ssh goes to 127.0.0.1 for it, and Netperf cannot"):
        second_host.look("root@127.0.0.1")
    (local,) = output(["hostname", "-I"]).split()[:1]
    with pytest.raises(Unavailable, match=f"ssh root@{local} failed: .*refused"):
        second_host.look(f"root@{local}")
    # A second host that answers as this machine does is this machine.
    (tmp_path / "ssh").write_text(
        '#!/bin/sh\n[ "$2" = -G ] && { echo "hostname 10.0.0.1"; exit; }\necho Welcome!\nshift 2; eval "$*"\n'
    )
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setattr(second_host, "SSH", (str(tmp_path / "ssh"), "-T"))
    with pytest.raises(Unavailable, match="root@far is this machine"):
        second_host.look("root@far")


def test_a_run_needs_what_both_of_its_ends_need(plan, plan_of, small_host, monkeypatch, tmp_path):
    needed = {path: [one.name for one in DESIGN.attempts.others(plan["cells"][path])] for path in (LOCAL, "cpu/bare/1/0")}
    assert needed == {LOCAL: ["bare"], "cpu/bare/1/0": []}
    far = plan_of({**small_host, "second_host": FAR})
    run = Run(far, far["cells"][REMOTE], 1, None, {"tag": "x"})
    assert [one.name for one in run_repair.resources_of(run)] == ["docker", "bare", "root@far"]
    asked = []
    for one in run_repair.resources_of(run)[:2]:
        monkeypatch.setattr(one, "examine", lambda image, name=one.name: asked.append(name))
    monkeypatch.setattr(second_host, "SshMachine", Silent)
    monkeypatch.setattr(run_repair.lock, "TEMPORARY", tmp_path / "none")
    sentence = "^the second host root@far does not answer .no route to host.: look whether it is up, and whether ssh root@far"
    with pytest.raises(Outage, match=sentence):
        run_repair.examine(run._replace(study_folder=Path("/none")))
    assert asked == ["docker", "bare"]


class Silent:
    """A second host that ssh does not reach."""

    def __init__(self, name):
        raise Unavailable("no route to host")


def test_the_figure_says_what_the_second_host_is():
    assert networks.second_host({"hosts": "one", "second_host": None}) == ""
    assert "namespace" in networks.second_host({"hosts": "two", "second_host": None})
    assert networks.second_host({"hosts": "two", "second_host": "root@far"}) == "The second host is root@far. "


def test_open_vswitch_in_user_space_says_so(shown_with):
    for where in ("user space", "kernel"):
        figure, other = shown_with(where), where == "user space"
        rows = [label.get_text() for label in figure.figure.axes[0].get_yticklabels()]
        assert f"Docker → bare metal, Open vSwitch{' (user space)' if other else ''}" in rows
        assert ("Open vSwitch switches in user space here" in figure.caption) == other
        assert ("(user space)" in figure.alternative) == other
    assert words.with_switch("on Open vSwitch", "kernel") == "on Open vSwitch"
    assert words.with_switch("on Open vSwitch", "user space") == "on Open vSwitch (user space)"
    told = {where: DESIGN.cells.host_facts({"open_vswitch": where}) for where in ("kernel", "user space")}
    assert [*told["kernel"].values(), *told["user space"].values()] == ["in the kernel", "in user space"]


def test_open_vswitch_is_set_against_a_bridge_under_equal_offloads(plan_of, small_host, amaral2015):
    plan = plan_of({**small_host, "open_vswitch": "user space"})
    found = report.switches(amaral2015, observed(plan, {"openvswitch": 1.5, "plain": 3.0}), plan)
    assert {(row["client"], row["server"]) for row in found} == {("Docker", "Bare metal"), ("Bare metal", "Docker")}
    assert all(row["n"] == 3 and row["ratio"] == pytest.approx(0.5) for row in found)
    assert all(row["low"] <= row["ratio"] <= row["high"] for row in found)
    assert report.switches(amaral2015, observed(plan, {"openvswitch": 1.5}), plan) == []


def observed(plan: dict, of_networks: dict[str, float]) -> pd.DataFrame:
    """Return values of both metrics in three blocks, by network. All of them drift alike."""
    cells = [cell for cell in plan["cells"].values() if cell["network"] in of_networks and not cell["reason"]]
    described = {"label": "", "unit": "", "better": ""}
    rows = [
        {**{factor: cell[factor] for factor in plan["factors"]}, **described, "metric": metric, "repetition": block}
        | {"value": of_networks[cell["network"]] * block}
        for cell, metric, block in product(cells, ("throughput", "latency"), (1, 2, 3))
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def shown_with(amaral2015, plan_of, small_host):
    """Yield a function that draws the figure of networks on one host, for where Open vSwitch switches."""

    def shown_with(where: str):
        plan = plan_of({**small_host, "open_vswitch": where})
        values = observed(plan, {"host": 20.0, "bridge": 5.0, "openvswitch": 1.5})
        return drawn(render.figure_data(amaral2015, plan, "local", values, {}))

    yield shown_with
    plt.close("all")


def test_a_switch_that_is_not_installed_is_told_in_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(docker_open_vswitch, "needs_root", lambda what: None)
    monkeypatch.setattr(switch_network, "refuse_another", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="^ovs-vswitchd is not installed$"):
        docker_open_vswitch.DockerOpenVSwitch().check()


def test_bytes_that_left_out_a_switch_are_told():
    cell = {"parameters": PARAMETERS}
    # 20 Gbit/s for a second, and 35,000 requests and responses of 64 KiB.
    values = {"throughput": 20.0, "latency": 200.0}
    exchanged = 20e9 / 8 + 35_000 * 2 * 65536
    assert sum(network.bytes_of(name, value, PARAMETERS) for name, value in values.items()) == pytest.approx(exchanged)
    network.refuse_left_out(round(exchanged), values, cell)
    with pytest.raises(InvalidOutput, match="only 1.0 MiB of 6759.2 passed the switch"):
        network.refuse_left_out(2**20, values, cell)


def test_an_end_in_a_virtual_machine_is_bound_with_the_machine(monkeypatch):
    Machine.__abstractmethods__ = frozenset()
    free, machine = os.sched_getaffinity(0), Machine("m")
    first, *_ = sorted(free)
    words = ["/opt/netperf", "-H", "x"]
    try:
        assert processor_binding.bound_command(words, ends.Pair(HOST, HOST, "", 1), [0, 1]) == [
            "/opt/netperf",
            "-T",
            "0,1",
            "-H",
            "x",
        ]
        assert processor_binding.bound_command(words, ends.Pair(HOST, HOST, "", 1), None) == words
        assert processor_binding.bound_command(words, ends.Pair(machine, HOST, "", 1), [first, 1]) == [
            "/opt/netperf",
            "-T",
            ",1",
            "-H",
            "x",
        ]
        assert os.sched_getaffinity(0) == {first} and processor_binding.wrong_place(machine, first) is None
        assert processor_binding.wrong_place(machine, 99) == f"the virtual machine was bound to {first}, and should be to 99"
        monkeypatch.setattr(binding_check, "bound_processors", lambda processes, names: {name: {1} for name in names})
        assert processor_binding.problem(ends.Pair(machine, HOST, "", 1), [first, 1]) is None
        assert processor_binding.problem(ends.Pair(HOST, machine, "", 1), [1, 99]).startswith(
            "the virtual machine was bound to"
        )
    finally:
        os.sched_setaffinity(0, free)


def test_pairs_that_the_paper_has_not_are_the_profile_s_choice(plan, amaral2015, config, small_host):
    paths = [path for path, cell in plan["cells"].items() if "pairs" in cell["experiments"]]
    assert "network/bare/docker-nested/bridge+host/one" in paths and len(paths) == 12
    reasons = {plan["cells"][path]["reason"] for path in paths}
    assert reasons == {"the profile leaves out what the paper has not, to save time"}
    asked_for = {**studies.profile("paper"), "nesting": {**studies.profile("paper")["nesting"], "beyond": True}}
    every = planner.make(amaral2015, asked_for, small_host, {**config, "profile": "paper"}, {})
    assert {every["cells"][path]["reason"] for path in paths} == {None}
    # No claim of the paper is about these pairs.
    asked = DESIGN.contrasts.comparison_finder(every, amaral2015)
    claims = [part for claim in book.load("amaral2015") for part in book.parts_of(claim) or [claim]]
    contrasted = [one for claim in claims if "untestable" not in claim for one in asked(claim) if hasattr(one, "a")]
    assert len(contrasted) > 50 and not {path for one in contrasted for path in (one.a.cell, one.b.cell)} & set(paths)


def compared(plan, study, **claim) -> set[tuple[str, str]]:
    asked = DESIGN.contrasts.comparison_finder(plan, study)(
        {"metrics": ["throughput"], "needs": [], "scope": {"hosts": ["one"]}, **claim}
    )
    return {(one.a.cell.removeprefix("network/"), one.b.cell.removeprefix("network/")) for one in asked}


def test_an_end_is_set_against_bare_metal_at_both_and_against_one_that_goes_the_same_way(plan, amaral2015):
    on_host = {"environment": ["docker"], "network": ["host"]}
    assert compared(plan, amaral2015, a=on_host, b={"environment": ["bare"]}) == {
        ("docker/bare/host/one", "bare/bare/host/one"),
        ("bare/docker/host/one", "bare/bare/host/one"),
    }
    assert compared(plan, amaral2015, a={"environment": ["docker"], "network": ["bridge"]}, b=on_host) == {
        ("docker/bare/bridge/one", "docker/bare/host/one"),
        ("bare/docker/bridge/one", "bare/docker/host/one"),
    }
    nested = {"environment": ["docker-nested"], "parent_network": ["bridge"], "child_network": ["bridge"]}
    bridged = {"environment": ["docker"], "network": ["bridge"]}
    assert compared(plan, amaral2015, a=nested, b=bridged) == {
        ("docker-nested/bare/bridge+bridge/one", "docker/bare/bridge/one")
    }


def test_a_finding_is_asked_in_each_placement(plan, amaral2015):
    arranged = DESIGN.contrasts.arrangements(plan)
    assert len(arranged) == 3
    claim = {"metrics": ["latency"], "needs": [], "scope": {"hosts": ["one"]}, "b": {"environment": ["bare"]}}
    claim["a"] = {"environment": ["docker"], "network": ["host"]}
    metrics = [
        {one.a.metric for one in DESIGN.contrasts.comparison_finder(each, amaral2015)(claim)} for each in arranged.values()
    ]
    assert metrics == [{"latency"}, {"latency_same_core"}, {"latency_other_core"}]
    of_cpu = {**claim, "metrics": ["execution_time"], "scope": {}, "a": {"runtime": ["docker"]}, "b": {"runtime": ["bare"]}}
    assert len({tuple(DESIGN.contrasts.comparison_finder(each, amaral2015)(of_cpu)) for each in arranged.values()}) == 1


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("[docker, bare, brigde]", "brigde"),
        ("[dokcer, bare, bridge]", "dokcer"),
        ("[docker-nested, bare, bridge]", "must name its parent's and its own"),
        ("[docker, bare, bridge+host]", "must name one network"),
        ("[bare, bare, bridge]", "bare metal is on the network 'host', not on 'bridge'"),
        ("[vm, bare, host]", "a virtual machine cannot be on the host's network"),
        ("[bare, docker-nested, bridge+bridge]", "a nested server must be on its parent's network, and that on a bridge"),
    ],
)
def test_ends_are_checked(tmp_path, end, words):
    text = (PROJECT / "config/studies/amaral2015.yaml").read_text()
    path = tmp_path / "amaral2015.yaml"
    path.write_text(text.replace("- [docker, docker, bridge]", f"- {end}"))
    with pytest.raises(PlimsollError, match=words):
        studies.read(path, designs.known())


@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_the_paper_s_tables_have_ours_or_a_reason(plan, amaral2015, tmp_path, monkeypatch, number):
    cells = [cell for cell in plan["cells"].values() if cell["task"] == "network"]
    measured = product(cells, ("throughput", "latency", "latency_same_core"), (1.0, 2.0, 3.0))
    described = {"label": "", "unit": "", "better": ""}
    observations = pd.DataFrame(
        [
            {**{factor: cell[factor] for factor in plan["factors"]}, **described, "metric": metric, "value": block}
            for cell, metric, block in measured
        ]
    )
    monkeypatch.setattr(TableRequest, "plan", plan)
    monkeypatch.setattr(TableRequest, "observations", lambda asked: observations)
    table = run_tables.networks(TableRequest(amaral2015, f"table0{number}", tmp_path))
    assert len(table) == {2: 22, 3: 12, 4: 12, 5: 12}[number] and set(table["unit"]) == {"Gbit/s", "µs"}
    measured = table["n"].notna()
    assert (table.loc[measured, "mean"] == 2).all() and (table.loc[measured, "not_here"] == "").all()
    lacking = table[~measured]
    assert len(lacking) == 0
    far = "a network namespace of this one, behind a link shaped to 1 Gbit/s"
    assert set(table["second_host"]) == ({far} if number in (4, 5) else {""})
    assert set(table["switch"]) == {"", "kernel"}
    assert (table["network"].str.contains("openvswitch") == (table["switch"] != "")).all()
    if number == 4:
        assert run_tables.second_host({"second_host": FAR}) == "another machine (root@far)"
        assert table.loc[table["metric"] == "throughput", "paper_mean"].iloc[0] == pytest.approx(0.14221)
        assert table.loc[table["metric"] == "latency", "paper_mean"].iloc[0] == pytest.approx(25970)


def test_networks_are_told_in_words():
    assert words.cell("network/bare/bare/host/one", {}) == "Bare metal to Bare metal"
    assert words.cell(LOCAL, {}) == "Docker to Bare metal, on a bridge"
    told = words.cell("network/docker-nested/bare/bridge+host/two", {})
    assert told.endswith("on a bridge (the parent) and the parent's network (the child), across two hosts")


@pytest.mark.parametrize(
    ("levels", "name"),
    [
        (("bare", "bare", "host"), "bare metal"),
        (("docker", "bare", "bridge"), "client in Docker on a bridge"),
        (("bare", "vm", "openvswitch"), "server in a virtual machine on Open vSwitch"),
        (("docker", "vm", "bridge"), "client in Docker and server in a virtual machine on a bridge"),
        (("docker-nested", "bare", "host+host"), "client in a nested container (parent and child on the host's network)"),
        (
            ("docker-nested", "bare", "host+bridge"),
            "client in a nested container (parent on the host's network, child on a bridge)",
        ),
        (
            ("docker-nested", "bare", "bridge+host"),
            "client in a nested container (parent on a bridge, child on the parent's network)",
        ),
        (("docker-nested", "bare", "bridge+bridge"), "client in a nested container (parent on a bridge, child on another)"),
    ],
)
def test_rows_of_an_answer_about_networks_are_told_in_words(levels, name):
    assert words.row(dict(zip(("runtime", "server", "network"), levels, strict=True)), None) == name


def test_a_network_holds_all_that_a_study_starts_at_once(monkeypatch):
    monkeypatch.setattr(subnets, "output", lambda command: "[]")
    parts = studies.load("amaral2015", designs.known())["experiments"].values()
    most = max(max(part.get("instances", [1])) for part in parts)
    # No container has the network's own address, its last one, the bridge's, or an address of the virtual machines.
    assert subnets.free_subnet("x").num_addresses - 3 - engine_bridge.GUESTS >= most == 256


@pytest.mark.parametrize(("there", "asked"), [(True, ["inspect"]), (False, ["inspect", "create"])])
def test_a_network_is_made_if_it_is_missing(monkeypatch, there, asked):
    commands = []

    def answers(command):
        commands.append(command[2])
        if command[2] == "inspect" and not there:
            raise Unavailable("no such network")
        return "[]"

    monkeypatch.setattr(engine_bridge, "output", answers)
    monkeypatch.setattr(subnets, "routes", lambda on: [])
    engine_bridge.EngineBridge(("docker",)).set_up()
    assert commands == asked


def test_a_subnet_is_one_that_no_route_overlaps(monkeypatch):
    monkeypatch.setattr(
        subnets, "output", lambda command: '[{"dst": "default"}, {"dst": "10.78.0.0/15"}, {"dst": "10.77.0.9"}]'
    )
    assert str(subnets.free_subnet("x")) == "10.80.0.0/20"
    monkeypatch.setattr(subnets, "output", lambda command: '[{"dst": "10.0.0.0/8"}]')
    with pytest.raises(Unavailable, match="no free subnet was found for a link"):
        subnets.free_subnet("a link")
    with pytest.raises(Unavailable, match="no free subnet was found for a link"):
        subnets.free_subnet("a link", 227)


def test_rules_of_the_firewall_are_removed_as_often_as_they_are_there(monkeypatch):
    rules = []

    def iptables(command):
        action, rule = command[2], tuple(command[3:])
        if action == "--insert":
            rules.append(rule)
        elif rule in rules:
            rules.remove(rule)
        else:
            raise Unavailable("no such rule")

    monkeypatch.setattr(firewall, "output", iptables)
    firewall.hand_on("plimsoll-x")
    firewall.hand_on("plimsoll-x")
    assert len(rules) == 4
    firewall.no_longer("plimsoll-x")
    assert rules == []


def test_programs_of_the_far_host_run_in_its_namespace_and_devices_have_names_that_the_kernel_takes():
    far = host_networks.FarHost("10.177.0.2")
    assert far.inside(["true"]) == ["nsenter", "--net=/run/netns/plimsoll-far", "true"]
    devices = (host_networks.NEAR, host_networks.FAR, host_networks.CHILDREN.device)
    assert all(len(device) < 16 for device in devices) and isinstance(host_networks.CHILDREN, host_networks.HostBridge)

"""A machine is read as hwloc reads it: made-up machines with the peculiarities of real ones, and this machine."""

import subprocess
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from plimsoll import designs
from plimsoll.config import studies
from plimsoll.designs.splitting import scheme
from plimsoll.errors import PlimsollError
from plimsoll.host import cpulist, hwloc, inventory, processor_name, system, topology
from plimsoll.planning import planner

from tests import machines
from tests.conftest import host_of


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a made-up machine."""
    return lambda machine: topology.discover(machine.write(tmp_path / "machine"))


def in_order(found: dict) -> list[int]:
    """Return the first processor of each core, in the order of the cores' numbers."""
    first = {}
    for cpu in found["cpus"]:
        first.setdefault(cpu["core"], cpu["cpu"])
    return [first[number] for number in range(found["cores"])]


def as_open_mpi_sees(machine: machines.Machine, folder, cpus: str) -> list[list[int]]:
    """Return the processors of each core that hwloc shows to a program in a cgroup of these processors, in the order of
    their numbers."""
    root = replace(machine, allowed=cpulist.parse(cpus)).write(folder)
    variables = {"HWLOC_FSROOT": str(root), "HWLOC_COMPONENTS": "linux,stop", "HWLOC_THISSYSTEM": "0"}
    command = [hwloc.program(), "--of", "xml", "--no-io"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    cores = [found for found in ElementTree.fromstring(done.stdout).iter("object") if found.get("type") == "Core"]
    return [[int(found.get("os_index")) for found in core.iter("object") if found.get("type") == "PU"] for core in cores]


def test_sockets_cores_threads_nodes_and_caches(read):
    found = read(machines.TWO_SOCKETS)
    assert (found["sockets"], found["cores"], len(found["cpus"]), found["usable"]) == (2, 4, 8, list(range(8)))
    assert topology.cores_of_sockets(found) == {0: [0, 1], 1: [2, 3]}
    assert found["cpus"][5] == {"cpu": 5, "core": 1, "socket": 0, "node": 0, "siblings": [1, 5]}
    assert [(node["cpus"], node["distances"], node["memory_bytes"]) for node in found["nodes"]] == [
        ([0, 1, 4, 5], [10, 21], 2**30),
        ([2, 3, 6, 7], [21, 10], 2**30),
    ]
    assert len(found["caches"]) == 2 and topology.last_level_cache_bytes(found) == 2 * 46080 * 1024
    assert found["core_kinds"] == [] and topology.measured_kind(found) is None


CLUSTERS_IN_ORDER = [cpu for node in (0, 2, 1, 3) for cpu in range(node, 40, 4)]


@pytest.mark.parametrize(
    ("machine", "sockets", "order"),
    [
        (machines.TWO_DIES, 4, list(range(32))),
        (machines.PAIRS, 2, [0, 4, 2, 6, 1, 5, 3, 7]),
        (machines.CLUSTERS, 2, CLUSTERS_IN_ORDER),
        (machines.OFFLINE, 2, [1, 3, 5, 7, 4, 6, 10]),
        (machines.CGROUP, 4, list(range(32))),
    ],
    ids=["two dies", "pairs", "sub-NUMA clusters", "offline", "cgroup"],
)
def test_cores_are_numbered_as_open_mpi_numbers_them(read, machine, sockets, order):
    found = read(machine)
    assert (found["sockets"], found["cores"], in_order(found)) == (sockets, len(order), order)


@pytest.mark.parametrize("name", ["TWO_DIES", "PAIRS", "CLUSTERS", "MEMORY_ALONE", "HYBRID", "OFFLINE", "CGROUP"])
def test_a_rankfile_names_the_cores_of_its_cell(read, liu2020, config, tmp_path, name):
    """hwloc shows a confined launcher only its own processors, and numbers their cores from 0."""
    machine = getattr(machines, name)
    plan = planner.make(liu2020, studies.profile("quick"), read(machine), {**config, "runtimes": {"bare": "optional"}}, {})
    pinned = [cell["places"] for cell in plan["cells"].values() if cell.get("places", [{"cores": []}])[0]["cores"]]
    # If each container has cores of its own, there is no rankfile.
    places = {str(places[0]): places[0] for places in pinned if len({place["cpus"] for place in places}) == 1}
    assert max(len(place["cores"]) for place in places.values()) > 1
    for number, place in enumerate(places.values()):
        shown = as_open_mpi_sees(machine, tmp_path / str(number), place["cpus"])
        assert [shown[slot] for slot in place["slots"]] == [[core] for core in place["cores"]], place


def test_memory_without_processors_is_listed_and_not_measured_on(read, liu2020, config):
    found = read(machines.MEMORY_ALONE)
    assert [node["node"] for node in found["nodes"]] == [0, 1, 2, 5, 6]
    assert [node["node"] for node in topology.memory_nodes(found)] == [1, 5]
    # The kernel allows a process all nodes that have memory.
    assert topology.everything(found) == {"cpus": "0-7", "nodes": "0-2,5"}
    assert scheme.setting("numa", found, 16).all_nodes == (1, 5)
    rows = inventory.table({**inventory.discover(), **found})
    assert "no processors (not measured on), 0.5 GiB" in rows and "processors 4-7, 4.0 GiB" in rows
    alone = {**config, "runtimes": {"bare": "optional"}}
    made = [planner.make(liu2020, studies.profile("quick"), host, alone, {}) for host in (found, without_others(found))]
    sizes = [{path: cell.get("parameters") for path, cell in plan["cells"].items()} for plan in made]
    assert sizes[0] == sizes[1]


def without_others(found: dict) -> dict:
    return {**found, "nodes": topology.memory_nodes(found)}


def test_two_sockets_on_one_memory_node_are_no_numa_setting(read):
    facts = designs.find("splitting").cells.host_facts(read(machines.PAIRS))
    assert "2 socket(s) and 1 memory node(s)" in facts["hardware setting numa"]


def test_a_setting_has_the_memory_nodes_of_the_cores_that_it_uses(read):
    found = read(machines.CLUSTERS)
    assert scheme.setting("numa", found, 16).nodes == ((0,), (1,))
    assert scheme.setting("uma", found, 16).nodes == ((0, 2),)


def test_a_machine_whose_cores_differ_is_named_and_measured_on_one_kind(read):
    found = read(machines.HYBRID)
    assert [(kind["cpus"], kind["name"]) for kind in found["core_kinds"]] == [
        (list(range(8, 16)), "up to 5000 MHz"),
        (list(range(8)), "up to 3900 MHz"),
    ]
    assert topology.cores_of_sockets(found) == {0: [8, 10, 12, 14]}
    table = inventory.table({**inventory.discover(), **found})
    assert "processors 8-15 (up to 5000 MHz); 0-7 (up to 3900 MHz); programs are placed on 8-15" in table


@pytest.mark.parametrize(
    ("usable", "kind"),
    [(range(16), range(8, 16)), ([0, 1, 8, 9], [0, 1]), ([0, 1, 8, 10], [8, 10]), ([0, 8], [8]), ([3], [3])],
    ids=["all", "one fast core", "two fast cores", "one of each", "one"],
)
def test_the_fastest_kind_with_two_usable_cores_is_measured_on(read, usable, kind):
    found = {**read(machines.HYBRID), "usable": list(usable)}
    cores = {cpu["core"]: cpu["cpu"] for cpu in reversed(found["cpus"]) if cpu["cpu"] in kind and cpu["cpu"] in usable}
    assert topology.cores_of_sockets(found) == {0: sorted(cores.values())}


def test_an_arm_processor_has_a_name_and_kinds_and_lists_may_end_in_nul(read):
    found = read(machines.BIG_LITTLE)
    assert (found["cpu_model"], found["cores"]) == ("Neoverse-N1", 12)
    # Kinds that are nearly as fast count as one.
    assert [kind["cpus"] for kind in found["core_kinds"]] == [[3, 4, 5, 9, 10, 11], [0, 1, 2, 6, 7, 8]]


def test_a_processor_that_lscpu_does_not_know_has_its_vendor_s_name(read):
    machine = replace(machines.BIG_LITTLE, cpuinfo=machines.ARM.replace("0xd0c", "0xfff"))
    assert read(machine)["cpu_model"] == "ARM"


def test_without_lscpu_the_kernel_names_the_processor(read, monkeypatch, tmp_path):
    root = machines.TWO_SOCKETS.write(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert processor_name.find(root) == "A Processor"
    (root / "proc/cpuinfo").unlink()
    assert processor_name.find(root) == "unknown"


def test_processors_that_are_offline_or_forbidden_are_not_usable(read):
    offline = read(machines.OFFLINE)
    assert offline["usable"] == [1, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14, 15] and {n["node"] for n in offline["nodes"]} == {1}
    # A processor whose node has no memory uses another node.
    assert {cpu["node"] for cpu in offline["cpus"]} == {1}
    forbidden = read(machines.CGROUP)
    assert (forbidden["usable"], len(forbidden["cpus"])) == ([2, 3, 9, 10, 11, 20], 32)
    assert topology.cores_of_sockets(forbidden) == {0: [2, 3], 1: [9, 10, 11], 2: [20]}


def test_a_binding_of_our_own_forbids_too(read, tmp_path):
    root = machines.CGROUP.write(tmp_path)
    (root / "proc/self/status").write_text("Cpus_allowed_list:\t0-10\n")
    assert topology.discover(root)["usable"] == [2, 3, 9, 10]


def test_a_machine_without_node_folders_has_one_node(read):
    found = read(replace(machines.TWO_SOCKETS, nodes={}, memory=2 * machines.GIB))
    assert [(node["cpus"], node["memory_bytes"]) for node in found["nodes"]] == [(list(range(8)), 2 * 2**30)]


def test_processors_outside_of_packages_are_a_socket(read, tmp_path):
    """Such processors exist in many virtual machines on Arm, and where packages contradict other objects."""
    root = machines.TWO_SOCKETS.write(tmp_path)
    for number, package in ((0, -1), (4, -1), (1, -1), (5, -1)):
        folder = root / f"sys/devices/system/cpu/cpu{number}/topology"
        (folder / "physical_package_id").write_text(f"{package}\n")
        for name in ("core_siblings", "core_siblings_list"):
            (folder / name).unlink()
    found = topology.discover(root)
    assert (found["sockets"], topology.cores_of_sockets(found)) == (2, {0: [2, 3], 1: [0, 1]})


def test_the_settings_and_kinds_of_a_host_that_an_older_version_described_are_there():
    old = host_of(2, 4)
    assert "core_kinds" not in old and topology.cores_of_sockets(old) == {0: [0, 1, 2, 3], 1: [4, 5, 6, 7]}
    assert "hybrid" not in inventory.table({**inventory.discover(), **old})


def test_this_machine_is_discovered_and_printed():
    found = inventory.discover(designs=designs.known().values())
    table = inventory.table(found)
    assert found["cores"] >= 1 and found["memory_bytes"] > 2**28
    for name in ("processor", "memory node 0", "hardware setting uma", "cgroup version", "counter cycles"):
        assert name in table
    assert found["for_designs"]["hardware setting uma"].endswith("core(s)")
    named = subprocess.run(["lscpu"], env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True).stdout
    assert found["cpu_model"] == system.facts()["processor"] and found["cpu_model"] in named
    assert topology.everything(found) == topology.everything_here()


def test_nothing_of_the_user_s_replaces_this_machine(monkeypatch):
    here = topology.discover()
    monkeypatch.setenv("HWLOC_SYNTHETIC", "package:8 core:8 pu:2")
    monkeypatch.setenv("HWLOC_COMPONENTS", "synthetic,stop")
    assert topology.discover() == here


def test_without_hwloc_a_sentence_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(hwloc, "PROGRAM", tmp_path / "lstopo")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlimsollError, match=r"lstopo is missing\. Run `bash scripts/setup/python\.sh`"):
        topology.discover()
    # The machine's own lstopo is used as well.
    (tmp_path / "lstopo").write_text("#!/bin/sh\necho it is broken >&2\nexit 3\n")
    (tmp_path / "lstopo").chmod(0o755)
    with pytest.raises(PlimsollError, match=r"lstopo failed \(it is broken\)\. Run `bash"):
        topology.discover()


def test_the_numa_setting_says_why_not():
    facts = designs.find("splitting").cells.host_facts(host_of(1, 2))
    assert "not here" in facts["hardware setting numa"]
    assert "this host has 1 socket(s)" in facts["hardware setting numa"]

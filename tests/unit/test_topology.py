import pytest
from plimsoll import designs
from plimsoll.host import inventory, topology

from tests.conftest import host_of


@pytest.fixture
def machine(tmp_path):
    """A sysfs of two sockets of two cores with two hardware threads each, and one memory node per socket."""

    def write(path, text):
        path = tmp_path / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    write("sys/devices/system/cpu/online", "0-7")
    for cpu in range(8):
        core, folder = cpu % 4, f"sys/devices/system/cpu/cpu{cpu}"
        write(f"{folder}/topology/core_id", core % 2)
        write(f"{folder}/topology/physical_package_id", core // 2)
        write(f"{folder}/topology/thread_siblings_list", f"{core},{core + 4}")
        write(f"{folder}/cache/index3/level", 3)
        write(f"{folder}/cache/index3/type", "Unified")
        write(f"{folder}/cache/index3/size", "46080K")
        write(f"{folder}/cache/index3/shared_cpu_list", "0-1,4-5" if core < 2 else "2-3,6-7")
    for node, cpus, distances in ((0, "0-1,4-5", "10 21"), (1, "2-3,6-7", "21 10")):
        write(f"sys/devices/system/node/node{node}/cpulist", cpus)
        write(f"sys/devices/system/node/node{node}/distance", distances)
        write(f"sys/devices/system/node/node{node}/meminfo", f"Node {node} MemTotal:  1048576 kB")
    write("proc/meminfo", "MemTotal: 2097152 kB")
    return topology.discover(tmp_path / "sys", tmp_path / "proc")


def test_sockets_cores_and_threads_are_told_apart(machine):
    assert (machine["sockets"], machine["cores"], len(machine["cpus"])) == (2, 4, 8)
    assert topology.cores_of_sockets(machine) == {0: [0, 1], 1: [2, 3]}


def test_nodes_have_distances_and_memory(machine):
    assert [node["distances"] for node in machine["nodes"]] == [[10, 21], [21, 10]]
    assert [node["memory_bytes"] for node in machine["nodes"]] == [2**30, 2**30]


def test_a_shared_cache_counts_once(machine):
    assert len(machine["caches"]) == 2
    assert topology.last_level_cache_bytes(machine) == 2 * 46080 * 1024


def test_a_machine_without_node_folders_has_one_node(tmp_path):
    (tmp_path / "devices/system/cpu").mkdir(parents=True)
    (tmp_path / "devices/system/cpu/online").write_text("0-1\n")
    found = topology.discover(tmp_path, tmp_path)
    assert [node["cpus"] for node in found["nodes"]] == [[0, 1]]


def test_this_machine_is_discovered_and_printed():
    found = inventory.discover(designs=designs.known().values())
    table = inventory.table(found)
    assert found["cores"] >= 1 and found["memory_bytes"] > 2**28
    for name in ("processor", "memory node 0", "hardware setting uma", "cgroup version", "counter cycles"):
        assert name in table
    assert found["for_designs"]["hardware setting uma"].endswith("core(s)")


def test_the_numa_setting_says_why_not():
    facts = designs.find("splitting").cells.host_facts(host_of(1, 2))
    assert "not here" in facts["hardware setting numa"]
    assert "this host has 1 socket(s)" in facts["hardware setting numa"]

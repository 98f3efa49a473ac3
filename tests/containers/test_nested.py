"""Containers in containers: what a child is, what its parent may do, and what is left when one of them is killed."""

import contextlib
import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from plimsoll import runtimes
from plimsoll.errors import Outage, Unavailable
from plimsoll.host import cgroup
from plimsoll.images import builder
from plimsoll.interchange import Image
from plimsoll.measuring import lock
from plimsoll.runtimes import docker_nested
from plimsoll.runtimes.base import HOST, LABEL, Spec
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.docker_nested import PARENTS, DockerNested, moments, notes_of, parent_of, privileges
from plimsoll.runtimes.nested import engine_folders
from plimsoll.runtimes.networks import subnets
from plimsoll.services.containers import Services

from tests.conftest import PROJECT, unlike, usual
from tests.containers.conftest import alike, alone, leftovers

# How long things that a run has ended may take to disappear (s).
SETTLES = 10.0
# Part of the name of a container's cgroup, for every engine.
CONTAINER = re.compile("[0-9a-f]{64}")
# Podman mounts this folder on itself and unmounts it at any time.
PODMAN_FOLDER = "/var/lib/containers/storage/overlay"
FORWARDING = ("ipv4/ip_forward", "ipv6/conf/all/forwarding")
# Podman's seccomp profile: it allows `pivot_root` and keys, and the rest according to capabilities.
ALLOWING = Path("/usr/share/containers/seccomp.json")
# A program that ends at once.
DUMMY = ("sysbench", "cpu", "--cpu-max-prime=1", "--events=1", "--time=0", "run")
# How the last test left the host (`of_host`, `leftovers`), if it left it as it was. The next test begins with that.
LAST: list[tuple[Counter[str], list[str]]] = []


@pytest.fixture(scope="module")
def image() -> Image:
    built = builder.build("nesting", "bootstrap")
    assert unlike(built, Image) == set()
    return built


@pytest.fixture(autouse=True)
def host_as_before(working):
    """Check that networks, volumes, mounts and firewall rules of the host are the same before and after a test."""
    working("docker-nested")
    with unchanged(LAST):
        yield


@contextlib.contextmanager
def unchanged(last: list[tuple[Counter[str], list[str]]]):
    """Check that the host is the same afterwards, and that nothing of ours is left although nothing is swept.

    The host is not examined while another workflow measures. How it is afterwards is kept in `last`. The next test of
    the module begins with that, and only a test without it sweeps.
    """
    if last:
        before, known = last.pop()
    else:
        with alone():
            swept()
            before, known = of_host(), leftovers()
    yield
    end = time.monotonic() + SETTLES
    with alone():
        # The kernel and the engine may still be removing things.
        while (after := of_host()) != before and time.monotonic() < end:
            time.sleep(0.1)
        assert (after - before, before - after) == (Counter(), Counter()) and leftovers() == known
    last.append((after, known))


def swept() -> None:
    """Remove leftovers of earlier tests. Podman and iproute are used once, because each then mounts a folder of its own."""
    subprocess.run("ip netns add plimsoll-none && ip netns delete plimsoll-none", shell=True, check=True)
    for runtime in alike("sweep", "network"):
        runtime.sweep()


def of_host() -> Counter[str]:
    """Count everything that runs may make or change on this host, by `kind: name`.

    Order does not count: the kernel has its own, and a new network comes last. The engine's network for runs stays
    until a sweep removes it. So it is always made here, and its name replaces its number.
    """
    network = runtimes.find("docker").network
    network.set_up(HOST)
    number = output(["docker", "network", "inspect", "--format", "{{slice .Id 0 12}}", network.name]).strip()
    return Counter(f"{kind}: {name}".replace(number, network.name) for kind, names in _of_host().items() for name in names)


def _of_host() -> dict[str, list[str]]:
    rules = [line for tool in ("iptables-save", "ip6tables-save") for line in output([tool]).splitlines()]
    interfaces = json.loads(output(["ip", "-json", "address"]))
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    return {
        "container": output(["docker", "ps", "--all", "--quiet", "--filter", f"label={LABEL}"]).split(),
        "volume": output(["docker", "volume", "ls", "--quiet"]).split(),
        # Packet counters are in brackets. Lines that are no rules are comments.
        "rule": [line.partition(" [")[0] for line in rules if not line.startswith("#")],
        "forwarding": [f"{one} {path.read_text()}" for one in FORWARDING if (path := Path("/proc/sys/net", one)).exists()],
        "interface": [
            " ".join([one["ifname"], one.get("master", ""), *(a["local"] for a in one["addr_info"] if a["family"] == "inet")])
            for one in interfaces
        ],
        "network namespace": output(["lsns", "--noheadings", "--output", "NS", "--type", "net"]).split(),
        "mount": [place for line in mounts if (place := line.split()[1]) != PODMAN_FOLDER],
        # Cgroups of others' containers may come and go. The leftover of an ended container is an empty cgroup.
        "empty cgroup": [str(path) for path in Path("/sys/fs/cgroup").rglob("*") if _is_left(path)],
    }


def _is_left(group: Path) -> bool:
    """Return whether a path is the cgroup of a container and holds no process."""
    return bool(CONTAINER.search(group.name)) and group.is_dir() and not cgroup.members([group])


@pytest.mark.long
def test_a_network_that_is_made_anew_beside_others_is_no_change():
    """Its bridge then has another number, and another place among the bridges of others."""
    others = [f"plimsoll-test-{number}" for number in range(3)]
    network = runtimes.find("docker").network
    try:
        for number, name in enumerate(others):
            subnet = subnets.free_subnet("a test's network", 227 + number)
            output(["docker", "network", "create", "--subnet", str(subnet), name])
        before = of_host()
        for _ in range(4):
            network.sweep()
            assert of_host() == before
        output(["docker", "network", "rm", others[0]])
        gone = before - of_host()
        assert {name.partition(":")[0] for name in gone} == {"interface", "rule"}
    finally:
        for name in others:
            subprocess.run(["docker", "network", "rm", name], capture_output=True)


@pytest.fixture
def services(tmp_path, request):
    """Services of a run with nested containers. Everything is taken down at the end."""
    kept = Services(runtimes.find("docker-nested"), f"test{time.time_ns() % 10**9}", tmp_path)
    yield kept
    kept.take_down()


def said(node, *command) -> str:
    return output(node.inside(list(command)))


def test_a_child_is_a_container_of_its_parent_and_runs_the_same_files(services, image):
    first, second = services.start([services.spec(f"c{number}", image) for number in range(2)])
    inspected = [json.loads(output(["docker", "inspect", node.on.name]))[0] for node in (first, second)]
    # The host's engine has the parents, and the parents' engines have the children.
    on_host = output(["docker", "ps", "--format", "{{.Names}}"]).split()
    assert {first.on.name, second.on.name} <= set(on_host) and not {first.name, second.name} & set(on_host)
    assert [said(node.on, "docker", "ps", "--format", "{{.Names}}").split() for node in (first, second)] == [
        [first.name],
        [second.name],
    ]
    for name in ("net", "pid", "mnt", "ipc", "uts"):
        place = ("readlink", f"/proc/self/ns/{name}")
        assert len({said(first, *place), said(first.on, *place), output(list(place))}) == 3
    assert said(first, "hostname").strip() == first.name
    for path, known in image["files"].items():
        if path.startswith(("usr/bin", "opt")):
            assert said(first, "sha256sum", f"/{path}").split()[0] == known["sha256"]
    # A parent has only the privileges that nesting needs. A child has those of every container.
    for node in (first, second):
        assert privileges(said(node.on, "cat", "/proc/1/status")) == docker_nested.GIVEN
        assert privileges(said(node, "cat", "/proc/self/status")) == {"capabilities": set(), "seccomp": "on"}
    assert not any(each["HostConfig"]["Privileged"] for each in inspected)
    # Each part of the start took some time, in this order.
    parts = moments(notes_of(first.spec))
    assert list(parts) == ["parent", "engine", "image", "ready"] and list(parts.values()) == sorted(parts.values())
    check_counts_for_the_run(services, first)


def check_counts_for_the_run(services, child) -> None:
    """Check that the processor time of a child, and of its parent's engine, counts as the run's."""
    (group,) = services.groups()
    assert group.name == services.run and child.groups == [group / child.groups[0].name]
    before = cgroup.cpu_seconds(group)
    said(child, "sysbench", "cpu", "--cpu-max-prime=20000", "--time=0", "--events=500", "run")
    by_child = cgroup.cpu_seconds(group) - before
    assert by_child > 0.2
    said(child.on, "sh", "-c", "for i in 1 2 3 4 5; do docker info; docker images; done")
    assert cgroup.cpu_seconds(group) - before - by_child > 0.05


UNFILTERED = ("seccomp=unconfined", "session key: operation not permitted")


@pytest.mark.parametrize(
    ("without", "reason"),
    usual(
        [
            ("--cap-add=SYS_ADMIN", "the inner engine ended|did not get ready"),
            ("--cap-add=NET_ADMIN", "the inner engine ended.*(iptables|Permission denied|permitted)"),
            UNFILTERED,
            ("/sys/fs/cgroup:/sys/fs/cgroup", "unable to apply cgroup configuration"),
            ("/var/lib/docker", "the inner engine ended.*driver not supported"),
        ],
        [UNFILTERED],
    ),
)
def test_a_parent_needs_all_that_it_is_given(services, image, monkeypatch, without, reason):
    # The parent has its own volume, as where it has to load the image.
    monkeypatch.setattr(engine_folders, "usable", lambda image: False)
    options = PARENTS.options
    pairs = [options[i : i + 2] for i in range(0, len(options), 2)]
    kept = tuple(word for pair in pairs if pair[1] != without for word in pair)
    capabilities = tuple(name for name in PARENTS.capabilities if without != f"--cap-add={name}")
    monkeypatch.setattr(type(PARENTS), "options", kept)
    monkeypatch.setattr(type(PARENTS), "capabilities", capabilities)
    assert (kept, capabilities) != (options, ("SYS_ADMIN", "NET_ADMIN"))
    with pytest.raises(Unavailable, match=reason):
        services.start([services.spec("c0", image)])
    assert services.runtime.left() == []


@pytest.mark.long
@pytest.mark.skipif(not ALLOWING.is_file(), reason=f"there is no {ALLOWING}, which comes with Podman")
def test_a_parent_gets_along_with_a_filter_that_allows_what_runc_needs(services, image, monkeypatch):
    """No run uses this filter: a child would then pass two filters, one more than the paper's (docs/reports/nesting.md)."""
    with_filter = tuple(f"seccomp={ALLOWING}" if word == "seccomp=unconfined" else word for word in PARENTS.options)
    assert with_filter != PARENTS.options
    monkeypatch.setattr(type(PARENTS), "options", with_filter)
    (node,) = services.start([services.spec("c0", image)])
    assert privileges(said(node.on, "cat", "/proc/1/status")) == {**docker_nested.GIVEN, "seccomp": "on"}
    filters = [
        re.search(r"^Seccomp_filters:\s*(\d+)$", said(one, "cat", "/proc/self/status"), re.MULTILINE) for one in (node.on, node)
    ]
    assert [int(found[1]) for found in filters] == [1, 2]


def test_a_parent_s_engine_has_a_copy_of_its_own_that_goes_with_it(services, image):
    begun = time.monotonic()
    first, second = services.start([services.spec(f"c{number}", image) for number in range(2)])
    print(f"two parents that need not load took {time.monotonic() - begun:.1f} s")
    parts = moments(notes_of(first.spec))
    assert parts["image"] - parts["engine"] < 0.1
    kept, own = engine_folders.with_image(image), [engine_folders.of_parent(node.on.name) for node in (first, second)]
    before = sorted((str(path), path.lstat().st_mtime_ns) for path in kept.rglob("*") if not path.is_dir())
    assert all(path.is_dir() for path in own)
    said(first, "sh", "-c", "echo changed >/etc/hostname.new; echo changed >>/etc/debian_version")
    assert "changed" not in said(second, "cat", "/etc/debian_version")
    services.stop_all()
    assert not any(path.exists() for path in own)
    assert sorted((str(path), path.lstat().st_mtime_ns) for path in kept.rglob("*") if not path.is_dir()) == before


@pytest.mark.long
def test_a_parent_that_does_not_get_ready_has_the_copied_folder_made_anew(services, image):
    services.stop_all()
    (node,) = services.start([services.spec("c0", image)])
    services.stop([node])
    kept = engine_folders.with_image(image)
    for path in (kept / engine_folders.COPIED).rglob("*.json"):
        path.write_text("{")
    with pytest.raises(Unavailable):
        services.start([services.spec("c1", image)])
    assert not kept.exists()
    (node,) = services.start([services.spec("c2", image)])
    assert said(node, "hostname").strip() == node.name


def ran(services, image, children: int, *command: str) -> tuple[int, dict[str, float]]:
    """Return the exit status and the moments of a parent that runs its children to their end."""
    spec = services.spec("c0", image, command=command)
    (node,) = PARENTS.start([parent_of(spec, children)])
    try:
        code = int(output(["docker", "wait", node.name], 120))
    finally:
        PARENTS.remove([node.name])
    found = moments(notes_of(spec))
    # A second parent of the same name would append to this file.
    notes_of(spec).unlink()
    return code, found


def test_a_parent_runs_its_children_all_at_once_and_ends(services, image):
    code, parts = ran(services, image, 3, *DUMMY)
    assert code == 0 and list(parts) == ["parent", "engine", "image", "children"]
    code, parts = ran(services, image, 2, "false")
    assert code == 1 and list(parts)[-2:] == ["children", "failed"]


@pytest.mark.parametrize("victim", usual(["parent", "engine", "child"], ["parent", "engine"]))
def test_what_is_killed_in_the_middle_leaves_nothing(services, image, victim):
    (node,) = services.start([services.spec("c0", image)])
    if victim == "parent":
        output(["docker", "kill", node.on.name])
    elif victim == "engine":
        said(node.on, "sh", "-c", "kill -9 $(cat /var/run/docker.pid)")
    else:
        said(node.on, "docker", "kill", node.name)
    if victim == "parent":
        with pytest.raises(Outage, match="a container ended during its run"):
            services.intact()
    services.take_down()
    assert services.runtime.left() == []
    assert not list(Path("/sys/fs/cgroup").glob(f"*/{LABEL}/{services.run}"))


KILLED = """
import json, sys, time
from pathlib import Path
from plimsoll import runtimes
from plimsoll.measuring import lock
from plimsoll.services.containers import Services

with lock.machine(runtimes.known), lock.run("testkilled", Path(sys.argv[1])):
    kept = Services(runtimes.find("docker-nested"), "testkilled", Path(sys.argv[1]))
    kept.start([kept.spec("c0", json.loads(sys.argv[2]))])
    print("up", flush=True)
    time.sleep(600)
"""


def test_the_next_run_removes_what_a_killed_one_left(image, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path), json.dumps(image)], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "up\n"
    process.kill()
    process.wait()
    assert runtimes.find("docker-nested").left() != []
    with lock.machine(runtimes.known):
        assert runtimes.find("docker-nested").left() == []
    assert not list(Path("/sys/fs/cgroup").glob(f"*/{LABEL}/testkilled"))


def test_an_image_without_what_nesting_needs_is_refused(tmp_path):
    spec = Spec("test", f"{LABEL}-test-c0", {"tag": "plimsoll/other:1"}, tmp_path)
    with pytest.raises(Unavailable, match="plimsoll/other:1 has no archive for nested containers"):
        DockerNested().start([spec])

"""Each level of the ladders is what its name says, for real: seen by a program that runs there."""

import os
import subprocess

import pytest
from plimsoll.designs.program import ladder, namespaces, process_view
from plimsoll.features.try_program import timer
from plimsoll.host import cgroup
from plimsoll.runtimes.base import LABEL, join

from tests import planted
from tests.containers.conftest import leftovers
from tests.containers.test_try_ranks import attempted, made

QUOTA = "processor quota and period (us)"
# Bytes of an engine's /dev/shm.
SMALL = {"docker": str(64 * 2**20), "podman": str(64 * 1024 * 1000)}
# Number of a capability that no default has (linux/capability.h).
SYS_ADMIN = 21
# Namespaces of a container's own root file system. Version 1 has no cgroup namespace by default.
MOUNTS = {"mnt", "uts"} | ({"cgroup"} if cgroup.version(cgroup.mounts()) == "2" else set())
# What each level of an engine has of its own.
OWN = {
    "cgroup": {"mnt"},
    "volumes": MOUNTS,
    "open": MOUNTS,
    "pid": MOUNTS | {"pid"},
    "ipc": MOUNTS | {"pid", "ipc"},
    "unfiltered": MOUNTS | {"pid", "ipc"},
    "filtered": MOUNTS | {"pid", "ipc"},
    "": MOUNTS | {"pid", "ipc", "net"},
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The study of a small program: its place, its content and its image."""
    with made(tmp_path_factory.mktemp("levels"), "--", "echo", "done") as study:
        yield study


@pytest.fixture(scope="module")
def host(small):
    """What the program sees on this host."""
    return inside(small, "host")


def inside(study, runtime: str) -> dict[str, str]:
    """Return what a program sees of the machine in a runtime."""
    found = attempted(study, runtime)
    assert found["status"] == "valid", found["reason"]
    return found["inside"]


def reaches(level: str, other: str) -> bool:
    """Return whether a level is another one, or above it."""
    return list(OWN).index(level) >= list(OWN).index(other)


def own(seen: dict[str, str]) -> set[str]:
    return set(seen[namespaces.OWN].split(", ")) - {"none"}


def test_the_levels_of_an_engine_are_those_that_are_looked_at():
    assert ladder.levels("docker") == ("files", *(f"docker-{level}".removesuffix("-") for level in OWN))


def test_the_image_s_files_change_nothing_but_the_files(small, host):
    seen = inside(small, "files")
    assert own(host) == set() and own(seen) == {"mnt"} and seen[namespaces.MAP] == host[namespaces.MAP]
    assert seen["file system of /tmp"] == seen["file system of /var/tmp"] == host["file system of /tmp"]
    same = ("capabilities", "seccomp", "processors", "shared memory", "max open files", QUOTA)
    assert {name: seen[name] for name in same} == {name: host[name] for name in same}


@pytest.mark.parametrize("level", OWN)
@pytest.mark.parametrize("engine", ["docker", pytest.param("podman", marks=pytest.mark.long)])
def test_a_level_has_the_namespaces_and_the_confinement_that_it_is_named_for(small, host, engine, level):
    seen = inside(small, f"{engine}-{level}".removesuffix("-"))
    assert own(seen) == OWN[level] and seen[namespaces.MAP] == host[namespaces.MAP]
    assert (seen["file system of /tmp"] == "overlay") == reaches(level, "open")
    assert seen["shared memory"] == (SMALL[engine] if reaches(level, "ipc") else host["shared memory"])
    assert bool(int(seen["capabilities"], 16) >> SYS_ADMIN & 1) != reaches(level, "unfiltered")
    assert seen["seccomp"] == ("2" if reaches(level, "filtered") else "0")


def test_the_level_of_a_container_s_cgroup_has_its_quota_and_its_limits_and_nothing_else_of_it(small, host, monkeypatch):
    known = leftovers()
    with planted.client("--ulimit", "nofile=1000:2000") as path:
        monkeypatch.setenv("PATH", path)
        alone, whole = inside(small, "docker-cgroup"), inside(small, "docker")
    assert alone[QUOTA] == whole[QUOTA] == "80000 100000" != host[QUOTA]
    assert alone["max open files"] == whole["max open files"] == "1000" != host["max open files"]
    assert own(alone) == {"mnt"} and alone["seccomp"] == host["seccomp"] and alone["capabilities"] == host["capabilities"]
    assert leftovers() == known


@pytest.mark.skipif(os.geteuid() != 0 or not cgroup.hierarchies(), reason="only root makes such cgroups")
@pytest.mark.parametrize("inner", [False, True], ids=["own", "above"])
def test_a_quota_of_the_host_s_own_cgroup_is_seen_with_its_period(tmp_path, inner):
    mounted, name = cgroup.mounts(), f"{LABEL}/test-{os.getpid()}"
    (tmp_path / "0/work").mkdir(parents=True)
    (tmp_path / "variables").write_text("PATH=/usr/bin:/bin\0")
    words = [str(timer.program_path()), str(tmp_path), "60", "1", "true"]
    try:
        [group] = cgroup.make(name, ["limited"], mounted)
        for file, value in {"cpu.cfs_period_us": "50000", "cpu.cfs_quota_us": "40000", "cpu.max": "40000 50000"}.items():
            if (group / file).exists():
                (group / file).write_text(value)
        if inner:
            [group] = cgroup.make(f"{name}/limited", ["below"], mounted)
        subprocess.run([*join([group]), *words], check=True)
        assert process_view.inside(tmp_path)[QUOTA] == "40000 50000"
        subprocess.run(words, check=True)
        assert process_view.inside(tmp_path)[QUOTA] != "40000 50000"
    finally:
        cgroup.remove(name)

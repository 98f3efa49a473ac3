"""What nodes that run may do, seen from inside, is what docs/privileges.yaml says of their environment.

The engine in a container and its children are looked at in test_nested.py; a virtual machine has a kernel of its own.
"""

import os
import shutil
from pathlib import Path

import pytest
from plimsoll import environments
from plimsoll.environments.base import LABEL, Spec, output
from plimsoll.measuring import lock

from tests.privileges import ENVIRONMENTS, KNOWN, allowed

# Rootless Podman is for other users than root: tests/users runs it.
NAMES = [
    name for name in ENVIRONMENTS if name in environments.known() and not name.startswith("vm") and name != "podman-rootless"
]
NAMESPACES = ("ipc", "mnt", "net", "pid", "user", "uts")
# Prints its status, its namespaces, the devices that it sees, and what is mounted.
LOOKING = """
grep -E '^(CapEff|CapBnd|Seccomp|NoNewPrivs):' /proc/self/status
echo "apparmor: $(cat /proc/self/attr/current 2>/dev/null)"
for kind in ipc mnt net pid user uts; do echo "ns.$kind: $(readlink /proc/self/ns/$kind)"; done
find /dev -path /dev/pts -prune -o \\( -type b -o -type c \\) -printf 'device: %p\\n' 2>/dev/null
while read -r _ _ _ _ where options rest; do echo "mount: $where $options ${rest#*- }"; done </proc/self/mountinfo
"""
# File systems that hold no files of the host.
OWN = {
    *("proc", "sysfs", "devtmpfs", "devpts", "mqueue", "tmpfs", "cgroup", "cgroup2", "securityfs", "nsfs", "overlay"),
    *("fuse.fuse-overlayfs", "squashfs"),
}
# What engines and Apptainer put into a node by themselves.
FROM_STARTER = {
    *("/etc/hostname", "/etc/hosts", "/etc/localtime", "/etc/resolv.conf", "/etc/passwd", "/etc/group"),
    *("/run/.containerenv", "/run/secrets"),
}
APPARMOR = Path("/sys/module/apparmor/parameters/enabled")
# Of the header of Linux, by number.
CAPABILITIES = [
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"),
    *("LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER"),
    *("SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE"),
    *("SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP"),
    *("MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF"),
    "CHECKPOINT_RESTORE",
]


def told(printed: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in printed.splitlines():
        key, _, value = line.partition(":")
        found.setdefault(key, []).append(value.strip())
    return found


def names(mask: str) -> set[str]:
    number = int(mask, 16)
    return {f"CAP_{name}" for bit, name in enumerate(CAPABILITIES) if number >> bit & 1}


def written(mounts: list[str]) -> set[str]:
    """Where files of the host are that can be written to."""
    rows = [mount.split() for mount in mounts]
    return {where for where, options, kind, *_ in rows if "rw" in options.split(",") and kind not in OWN}


@pytest.fixture
def seen(image, working):
    """What a node of an environment sees, what this process sees, and the node's folder."""

    def look(name: str):
        working(name)
        environment, identity = environments.find(name), f"may{os.getpid()}"
        with lock.run(identity):
            folder = lock.temporary_folder(identity)
            try:
                nodes = environment.start([Spec(identity, f"{LABEL}-{identity}-c0", image, folder)])
                try:
                    inside = told(output(nodes[0].inside(["sh", "-c", LOOKING])))
                finally:
                    environment.stop(nodes)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        return inside, told(output(["sh", "-c", LOOKING])), str(folder)

    return look


@pytest.mark.skipif(os.geteuid() != 0, reason="the table is root's")
@pytest.mark.parametrize("name", NAMES)
def test_a_node_may_do_what_the_table_says_and_no_more(seen, name):
    said = ENVIRONMENTS[name]
    inside, host, folder = seen(name)
    starter = names(host["CapEff"][0])
    for kind in ("CapEff", "CapBnd"):
        held, may = names(inside[kind][0]), allowed(name, starter)
        assert held <= may if said["capabilities"]["of"] == "starter" else held == may, kind
    assert (inside["Seccomp"] == ["2"]) == (said["seccomp"] == "filter")
    assert (inside["NoNewPrivs"] == ["0"]) == said["gains"]
    if APPARMOR.is_file() and APPARMOR.read_text().strip() == "Y":
        assert (inside["apparmor"] == ["unconfined"]) == (said["apparmor"] == "none")
    shares = {kind for kind in NAMESPACES if inside[f"ns.{kind}"] == host[f"ns.{kind}"]}
    assert shares == set(said["shares"])
    devices = set(inside.get("device", []))
    assert devices <= set(KNOWN["usual"] if said["devices"] == "usual" else host["device"])
    if said["mounts"] != ["everything"]:
        given = {"FOLDER": folder, "HOME": os.path.expanduser("~"), "CWD": os.getcwd()}
        assert written(inside["mount"]) - FROM_STARTER <= {given.get(place, place) for place in said["mounts"]}

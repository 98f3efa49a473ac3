"""What nodes may do by docs/privileges.yaml: as the table of docs/explanation/security.md, and as seen in a node."""

from pathlib import Path

import yaml

from tests.conftest import PROJECT

KNOWN = yaml.safe_load((PROJECT / "docs/privileges.yaml").read_text())
ENVIRONMENTS = KNOWN["environments"]
HEADINGS = (
    "environment",
    "capabilities",
    "seccomp",
    "AppArmor",
    "gains by set-user-ID",
    "devices",
    "namespaces of the host",
    "of the host, to write",
    "why",
)
USUAL = {"docker": "Docker's", "podman": "Podman's", "starter": "at most its starter's"}
NAMESPACES = ("ipc", "mnt", "net", "pid", "user", "uts")
# Prints its status, its namespaces, the devices that it sees, and its mounts.
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
# Files that engines and Apptainer mount in every node.
FROM_STARTER = {
    *("/etc/hostname", "/etc/hosts", "/etc/localtime", "/etc/resolv.conf", "/etc/passwd", "/etc/group"),
    *("/run/.containerenv", "/run/secrets"),
}
APPARMOR = Path("/sys/module/apparmor/parameters/enabled")
# By number, as in the header of Linux.
CAPABILITIES = [
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"),
    *("LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER"),
    *("SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE"),
    *("SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP"),
    *("MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF"),
    "CHECKPOINT_RESTORE",
]


def row(name: str) -> str:
    """Return a runtime's row of the table."""
    given = ENVIRONMENTS[name]
    of, added = given["capabilities"]["of"], given["capabilities"].get("added", [])
    held = " and ".join([USUAL.get(of, of), *(f"`{one}`" for one in added)])
    held += ", none of them effective" if given["capabilities"].get("effective") == "none" else ""
    mounts = ", ".join(one if one == "everything" else f"`{one}`" for one in given["mounts"])
    shares = ", ".join(given["shares"])
    kept = [given["seccomp"], given["apparmor"], "yes" if given["gains"] else "no", given["devices"]]
    words = [f"`{name}`", held, *kept, shares or "none", mounts or "nothing", given.get("why", "")]
    return f"| {' | '.join(words)} |"


def table() -> str:
    """Return the table of docs/explanation/security.md."""
    return "\n".join([f"| {' | '.join(HEADINGS)} |", f"|{' --- |' * len(HEADINGS)}", *map(row, ENVIRONMENTS)])


def allowed(name: str, starter: set[str]) -> set[str]:
    """Return the capabilities that a node of a runtime may have, if the process that starts it has those in `starter`."""
    given = ENVIRONMENTS[name]["capabilities"]
    return {*KNOWN["of"].get(given["of"], starter), *given.get("added", [])}


def told(printed: str) -> dict[str, list[str]]:
    """Return what LOOKING has printed, by key."""
    found: dict[str, list[str]] = {}
    for line in printed.splitlines():
        key, _, value = line.partition(":")
        found.setdefault(key, []).append(value.strip())
    return found


def names(mask: str) -> set[str]:
    """Return the capabilities in a mask, in the form of /proc."""
    number = int(mask, 16)
    return {f"CAP_{name}" for bit, name in enumerate(CAPABILITIES) if number >> bit & 1}


def written(mounts: list[str]) -> set[str]:
    """Return the mount points at which files of the host can be written."""
    rows = [mount.split() for mount in mounts]
    return {where for where, options, kind, *_ in rows if "rw" in options.split(",") and kind not in OWN}


def compare(name: str, inside: dict, host: dict, places: dict[str, str]) -> None:
    """Raise AssertionError if a node of a runtime may do more or less than the table says.

    `inside` and `host` are what LOOKING printed in the node and for its starter. `places` translates the table's words
    for places to paths.
    """
    said = ENVIRONMENTS[name]
    starter = names(host["CapEff"][0])
    for kind in ("CapEff", "CapBnd"):
        effective = said["capabilities"].get("effective") != "none" or kind != "CapEff"
        held, may = names(inside[kind][0]), allowed(name, starter) if effective else set()
        assert held <= may if said["capabilities"]["of"] == "starter" else held == may, (kind, held ^ may)
    assert (inside["Seccomp"] == ["2"]) == (said["seccomp"] == "filter")
    assert (inside["NoNewPrivs"] == ["0"]) == said["gains"]
    if APPARMOR.is_file() and APPARMOR.read_text().strip() == "Y":
        assert (inside["apparmor"] == ["unconfined"]) == (said["apparmor"] == "none")
    shares = {kind for kind in NAMESPACES if inside[f"ns.{kind}"] == host[f"ns.{kind}"]}
    assert shares == set(said["shares"])
    devices = set(inside.get("device", []))
    usual = set(KNOWN["usual"] if said["devices"] == "usual" else host["device"])
    assert devices <= usual, devices - usual
    if said["mounts"] != ["everything"]:
        more = written(inside["mount"]) - FROM_STARTER - {places.get(place, place) for place in said["mounts"]}
        assert not more, more

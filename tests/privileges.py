"""What nodes may do by their runtimes' own word: as the table of docs/explanation/security.md, and as seen in a node."""

from pathlib import Path

from plimsoll import runtimes
from plimsoll.runtimes.docker_nested import PARENTS
from plimsoll.runtimes.privileges import ENGINES, IN_NAMESPACE, NAMESPACES, STARTER, USUAL_DEVICES, Privileges

NESTED = "docker-nested"
ROWS: dict[str, Privileges] = {
    (f"{NESTED} (child)" if name == NESTED else name): runtime.privileges() for name, runtime in runtimes.known().items()
} | {f"{NESTED} (parent)": PARENTS.privileges()}
HEADINGS = (
    "runtime",
    "capabilities",
    "seccomp",
    "AppArmor",
    "gains by set-user-ID",
    "devices",
    "namespaces of the host",
    "of the host, to write",
    "why",
)
USUAL = {"docker": "Docker's", "podman": "Podman's", STARTER: "at most its starter's"}
USUAL[IN_NAMESPACE] = "all, in its user namespace"
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
    given = ROWS[name]
    held = " and ".join([USUAL.get(given.capabilities, given.capabilities), *(f"`{one}`" for one in given.added)])
    held += "" if given.effective else ", none of them effective"
    mounts = ", ".join(one if one == "everything" else f"`{one}`" for one in given.mounts)
    kept = ["filter" if given.seccomp else "none", "default" if given.apparmor else "none", "yes" if given.gains else "no"]
    words = [f"`{name}`", held, *kept, given.devices, ", ".join(given.shares) or "none", mounts or "nothing", given.why]
    return f"| {' | '.join(words)} |"


def table() -> str:
    """Return the table of docs/explanation/security.md."""
    return "\n".join([f"| {' | '.join(HEADINGS)} |", f"|{' --- |' * len(HEADINGS)}", *map(row, sorted(ROWS))])


def allowed(name: str, starter: set[str]) -> set[str]:
    """Return the capabilities that a node of a runtime may have, if the process that starts it has those in `starter`."""
    of = {**ENGINES, IN_NAMESPACE: [f"CAP_{one}" for one in CAPABILITIES]}
    return {*of.get(ROWS[name].capabilities, starter), *ROWS[name].added}


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
    said = ROWS[name]
    starter = names(host["CapEff"][0])
    for kind in ("CapEff", "CapBnd"):
        held, may = names(inside[kind][0]), allowed(name, starter) if said.effective or kind != "CapEff" else set()
        assert held <= may if said.capabilities in (STARTER, IN_NAMESPACE) else held == may, (kind, held ^ may)
    assert (inside["Seccomp"] == ["2"]) == said.seccomp
    assert (inside["NoNewPrivs"] == ["0"]) == said.gains
    if APPARMOR.is_file() and APPARMOR.read_text().strip() == "Y":
        assert (inside["apparmor"] == ["unconfined"]) != said.apparmor
    shares = {kind for kind in NAMESPACES if inside[f"ns.{kind}"] == host[f"ns.{kind}"]}
    assert shares == set(said.shares)
    devices = set(inside.get("device", []))
    usual = set(USUAL_DEVICES if said.devices == "usual" else host["device"])
    assert devices <= usual, devices - usual
    if said.mounts != ("everything",):
        more = written(inside["mount"]) - FROM_STARTER - {places.get(place, place) for place in said.mounts}
        assert not more, more

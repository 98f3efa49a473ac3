"""What the nodes of a runtime may do on this host: the rows of the table in docs/explanation/security.md.

Tests compare the rows with the options that engines get, and with running nodes, seen from inside.
"""

from typing import NamedTuple

NAMESPACES = ("ipc", "mnt", "net", "pid", "user", "uts")
STARTER, IN_NAMESPACE = "starter", "all"


class Privileges(NamedTuple):
    """What a node may do if root starts it.

    - `capabilities` says whose it has: an engine's (`ENGINES`), at most those of the process that starts it (`STARTER`), or
      all, which hold in its user namespace alone (`IN_NAMESPACE`). Any other text is for people. `added` are capabilities
      besides these. With `effective` false no program has them.
    - `seccomp` and `apparmor`: it has the engine's default filter, and its profile where the host has AppArmor.
    - `gains`: a program may gain privileges by being started (set-user-ID).
    - `devices` are `usual` (`USUAL_DEVICES`), `host` (all of the host's, as their owners and modes allow) or a text.
    - `shares` are the host's namespaces. The cgroup namespace is left out: engines give one of its own where the host has
      version 2.
    - `mounts` are folders of the host that it can write to. FOLDER is the run's own, CWD the one in which the workflow
      runs, MEETING the one in which ranks meet their launcher.
    - `why` is the reason for what it has beyond its engine's default.
    """

    capabilities: str = STARTER
    added: tuple[str, ...] = ()
    effective: bool = True
    seccomp: bool = False
    apparmor: bool = False
    gains: bool = False
    devices: str = "host"
    shares: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ("FOLDER",)
    why: str = ""


# Default of an engine: its own capabilities, filter and profile, and no device of the host.
CONFINED = Privileges(seccomp=True, apparmor=True, gains=True, devices="usual", shares=("user",))
USUAL_DEVICES = (
    *("/dev/console", "/dev/full", "/dev/null", "/dev/ptmx", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"),
)
_BOTH = (
    *("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP"),
    *("CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_SETFCAP"),
)
# Capabilities that engines give by default.
ENGINES: dict[str, tuple[str, ...]] = {
    "docker": (*_BOTH, "CAP_NET_RAW", "CAP_MKNOD", "CAP_AUDIT_WRITE"),
    "podman": _BOTH,
}

"""A second machine for tests: a network namespace with an ssh server, which a plan knows only by its name.

It has the kernel and the files of this machine. The measuring code reaches it only by ssh. Its only route back leads to
the host's address on the link between them.
"""

import contextlib
import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks import subnets

NAME, NAMESPACE, NEAR = "another", "plimsoll-test", "plimsoll-test"
# The link's subnet is the first free one from 10.FIRST.0.0 on.
FIRST, PORT = 213, 2022
# The server looks for keys in root's .ssh, so another folder is mounted there. It gets its own locks, and its own
# engine if there is one.
SERVED = """
mount --bind "$1" /root/.ssh && mount -t tmpfs -o mode=1777 none /run/lock || exit 1
[ ! -S "$1/docker.sock" ] || mount --bind "$1/docker.sock" /run/docker.sock || exit 1
exec nsenter --net="$2" dropbear -F -E -s -r "$1/host" -p "$3"
"""
# An engine that makes no network: its containers use the network of the namespace.
ENGINE = "dockerd --bridge=none --iptables=false --ip6tables=false --log-level=error"
# The `ssh` that Docker's client calls to reach an engine on the second machine.
CLIENT = """#!/bin/sh
exec {ssh} -F {folder}/config "$@"
"""
CONFIGURATION = """\
Host {name}
    HostName {address}
    Port {port}
    User root
    IdentityFile {folder}/key
    UserKnownHostsFile {folder}/known
    StrictHostKeyChecking accept-new
"""


def missing() -> str | None:
    """Return why there can be no second machine here; None if there can be one."""
    lacking = [program for program in ("dropbear", "dropbearkey", "ssh", "ssh-keygen") if not shutil.which(program)]
    return f"{lacking[0]} is not installed (scripts/setup/tests.sh)" if lacking else None


@contextlib.contextmanager
def another(folder: Path, engine: bool = False) -> Iterator[tuple[str, ...]]:
    """Yield the words of an ssh command that reaches the machine by its NAME, and remove the machine at the end.

    With `engine`, Docker runs on it, and the folder has an `ssh` for Docker's client.
    """
    Path("/root/.ssh").mkdir(mode=0o700, exist_ok=True)
    output(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", str(folder / "key")])
    (folder / "authorized_keys").write_text((folder / "key.pub").read_text())
    output(["dropbearkey", "-t", "ed25519", "-f", str(folder / "host")])
    take_away()
    here, there = itertools.islice(subnets.free_subnet("a link of a test's", FIRST).hosts(), 2)
    (folder / "config").write_text(CONFIGURATION.format(name=NAME, address=there, port=PORT, folder=folder))
    for path in (folder, folder / "authorized_keys"):
        os.chown(path, 0, 0)
        path.chmod(0o700)
    output(["ip", "netns", "add", NAMESPACE])
    try:
        output(["ip", "link", "add", NEAR, "type", "veth", "peer", "name", "eth0", "netns", NAMESPACE])
        output(["ip", "address", "add", f"{here}/30", "dev", NEAR])
        output(["ip", "link", "set", NEAR, "up"])
        # As from a real second machine: data comes in packets with checksums.
        output(["ethtool", "--offload", NEAR, "tx", "off"])
        output(["nsenter", f"--net=/run/netns/{NAMESPACE}", "ethtool", "--offload", "eth0", "tx", "off"])
        for words in (
            ["address", "add", f"{there}/30", "dev", "eth0"],
            ["link", "set", "eth0", "up"],
            ["link", "set", "lo", "up"],
        ):
            output(["ip", "-n", NAMESPACE, *words])
        with _engine(folder) if engine else contextlib.nullcontext(), _served(folder, f"{there}:{PORT}"):
            yield ("ssh", "-F", str(folder / "config"))
    finally:
        take_away()


def take_away() -> None:
    """Remove the machine with all its processes, if there is one: a killed test leaves it."""
    if not Path(f"/run/netns/{NAMESPACE}").exists():
        return
    # A server that has not noticed that its link was cut keeps the namespace alive.
    output(["sh", "-c", f"ip netns pids {NAMESPACE} | xargs --no-run-if-empty kill -9"])
    output(["ip", "netns", "delete", NAMESPACE])
    output(["sh", "-c", f"ip link delete {NEAR} || true"])


@contextlib.contextmanager
def _engine(folder: Path) -> Iterator[None]:
    client = folder / "ssh"
    client.write_text(CLIENT.format(ssh=shutil.which("ssh"), folder=folder))
    client.chmod(0o755)
    places = {"data-root": folder / "data", "exec-root": folder / "run", "pidfile": folder / "docker.pid"}
    socket = folder / "docker.sock"
    words = [*ENGINE.split(), f"--host=unix://{socket}", *(f"--{key}={path}" for key, path in places.items())]
    with open(folder / "engine.log", "w") as log:
        started = [*("nsenter", f"--net=/run/netns/{NAMESPACE}"), *words]
        process = subprocess.Popen(started, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        output(["sh", "-c", f"until docker --host unix://{socket} info >/dev/null 2>&1; do sleep 0.1; done"], 60)
        yield
    finally:
        process.terminate()
        process.wait(60)
        # An engine leaves its own network namespace mounted.
        output(["sh", "-c", f"umount {folder}/run/netns/* || true"])
        for place in ("data", "run"):
            shutil.rmtree(folder / place, ignore_errors=True)


@contextlib.contextmanager
def _served(folder: Path, address: str) -> Iterator[None]:
    words = ["unshare", "--mount", "sh", "-c", SERVED, "sh", str(folder), f"/run/netns/{NAMESPACE}", address]
    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        reached = f"ssh -F {folder}/config -o BatchMode=yes {NAME} true 2>/dev/null"
        output(["sh", "-c", f"until {reached}; do sleep 0.05; done"], 20)
        yield
    finally:
        server.terminate()
        server.wait()

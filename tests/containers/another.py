"""Another machine for tests of a second host: a namespace with a server for ssh, which a plan knows by name alone.

It has this machine's kernel and files. To the measuring code it is another machine: all goes by ssh, and back by its own route
only to the host's address on the link between them.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from plimsoll.environments.base import output

NAME, NAMESPACE, NEAR = "another", "plimsoll-test", "plimsoll-test"
HERE, THERE, PORT = "10.213.0.1", "10.213.0.2", 2022
# The server looks for keys in root's own folder: it has another one there.
SERVED = 'mount --bind "$1" /root/.ssh && exec nsenter --net="$2" dropbear -F -E -s -r "$1/host" -p "$3"'
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
    """Why there cannot be one; None if there can."""
    lacking = [program for program in ("dropbear", "dropbearkey", "ssh", "ssh-keygen") if not shutil.which(program)]
    return f"{lacking[0]} is not installed (scripts/setup/tests.sh)" if lacking else None


@contextlib.contextmanager
def another(folder: Path) -> Iterator[tuple[str, ...]]:
    """The words of an ssh that reaches it by its NAME, while it is there."""
    Path("/root/.ssh").mkdir(mode=0o700, exist_ok=True)
    output(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", str(folder / "key")])
    (folder / "authorized_keys").write_text((folder / "key.pub").read_text())
    output(["dropbearkey", "-t", "ed25519", "-f", str(folder / "host")])
    (folder / "config").write_text(CONFIGURATION.format(name=NAME, address=THERE, port=PORT, folder=folder))
    for path in (folder, folder / "authorized_keys"):
        os.chown(path, 0, 0)
        path.chmod(0o700)
    output(["ip", "netns", "add", NAMESPACE])
    try:
        output(["ip", "link", "add", NEAR, "type", "veth", "peer", "name", "eth0", "netns", NAMESPACE])
        output(["ip", "address", "add", f"{HERE}/30", "dev", NEAR])
        output(["ip", "link", "set", NEAR, "up"])
        # What comes from another machine has its checksums, and is in packets.
        output(["ethtool", "--offload", NEAR, "tx", "off"])
        output(["nsenter", f"--net=/run/netns/{NAMESPACE}", "ethtool", "--offload", "eth0", "tx", "off"])
        for words in (
            ["address", "add", f"{THERE}/30", "dev", "eth0"],
            ["link", "set", "eth0", "up"],
            ["link", "set", "lo", "up"],
        ):
            output(["ip", "-n", NAMESPACE, *words])
        with _served(folder):
            yield ("ssh", "-F", str(folder / "config"))
    finally:
        # A server that has not heard that its link was cut keeps the namespace.
        output(["sh", "-c", f"ip netns pids {NAMESPACE} | xargs --no-run-if-empty kill -9"])
        output(["ip", "netns", "delete", NAMESPACE])
        output(["sh", "-c", f"ip link delete {NEAR} || true"])


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[None]:
    words = ["unshare", "--mount", "sh", "-c", SERVED, "sh", str(folder), f"/run/netns/{NAMESPACE}", f"{THERE}:{PORT}"]
    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        yield
    finally:
        server.terminate()
        server.wait()

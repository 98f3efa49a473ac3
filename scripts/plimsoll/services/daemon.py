"""A server on bare metal that listens for the time of a run: on this host, in a namespace of it, or on another machine."""

import contextlib
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from plimsoll import environments
from plimsoll.environments.base import HOST, Node, Spec, output
from plimsoll.environments.networks.second_host import Reached
from plimsoll.host import shared
from plimsoll.measuring import noise
from plimsoll.measuring.process import ended_within, kill
from plimsoll.services.kept import wait_for
from plimsoll.workloads.base import InvalidOutput, Role

# How long the end of a server on another machine may take (s).
END_SECONDS = 5.0
# The user without rights.
NOBODY = 65534
# Over so much of another machine's time it has to be idle (s): what asks for it uses some itself.
SETTLED = 0.5


def settled(far: Reached, image: dict, processor: int, idle: dict) -> dict:
    """How idle another machine was, which has the image's files then; `processor` is the one that is to serve. InvalidOutput
    if it was not as `idle` in time as a plan's limits say."""
    far.hold(image)
    far.processor = processor
    return idle_there(far, idle)


def idle_there(far: Reached, idle: dict) -> dict:
    """How idle another machine was. InvalidOutput if it was not as `idle` in time as a plan's limits say."""
    seen = noise.wait_until_idle(far, **{**idle, "window_seconds": SETTLED})
    if not seen["idle"]:
        busy = f"{seen['busy_share']:.0%} of its processors' time"
        raise InvalidOutput(f"the machine {far.name} was not idle within {seen['waited_seconds']:.0f} s ({busy})")
    return seen


@contextlib.contextmanager
def listening(host: Node, spec: Spec, role: Role, log: Path) -> Iterator[Node]:
    """The node on bare metal of a host in which a role's program of the image listens; it ends with the context. `log` takes
    what it says. Unavailable if it does not listen."""
    server = host if isinstance(host, Reached) else environments.find("bare").start([spec], host)[0]
    process, seconds = _started(server, [*_harmless(server), *server.of_image(list(role.command))], log)
    try:
        wait_for(server, role)
        yield server
    finally:
        _end(process, seconds)


def _harmless(server: Node) -> list[str]:
    """Prefix of a server on bare metal. Run by root, netserver makes its host's /dev/null unwritable for all others; so nobody
    runs it."""
    # A shell on another machine may have greeted before.
    if output(server.inside(["id", "-u"])).split()[-1] != "0":
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def _started(server: Node, program: list[str], log: Path) -> tuple[subprocess.Popen, float]:
    """A server in a session of its own, as every daemon is: the kernel's scheduler may group programs by session, and programs
    in containers are in groups of their own. With it, how long it may take to end by itself (s): on another machine it does
    when its standard input is closed."""
    there = isinstance(server, Reached)
    words, stdin = (server.kept(program), subprocess.PIPE) if there else (server.inside(program), subprocess.DEVNULL)
    with shared.new_file(log) as said:
        started = subprocess.Popen(words, stdin=stdin, stdout=said, stderr=said, start_new_session=True)
    return started, END_SECONDS if there else 0.0


def _end(process: subprocess.Popen, seconds: float) -> None:
    """End a server and what it has started for its clients: a client that vanished leaves it waiting."""
    if process.stdin:
        process.stdin.close()
    ended_within(process.pid, seconds)
    kill(process, group=True)


def free_port(host: Node = HOST) -> int:
    """A port that nobody uses on this host, nor on the other one."""
    while True:
        with socket.socket() as one:
            one.bind(("", 0))
            port = one.getsockname()[1]
        if host is HOST or f":{port:04X} " not in output(host.inside(["cat", "/proc/net/tcp"])):
            return port

"""A server on bare metal that listens during a run: on this host, in a namespace of it, or on another machine."""

import contextlib
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from plimsoll import runtimes
from plimsoll.host import run_files
from plimsoll.measuring import noise
from plimsoll.measuring.attempt import Attempt
from plimsoll.measuring.process import ended_within, kill
from plimsoll.runtimes.base import HOST, Node, Spec
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks.second_host import SshMachine
from plimsoll.services.containers import wait_for
from plimsoll.workloads.base import InvalidOutput, Role

# Time limit for a server on another machine to end (s).
END_SECONDS = 5.0
# User number of the user without privileges (`nobody`).
NOBODY = 65534
# Window over which another machine has to be idle (s). The question itself uses some of its processor time.
IDLE_WINDOW = 0.5


def prepare(far: Node | None, attempt: Attempt) -> dict:
    """Prepare the second host of an attempt as the server's host, if it is another machine.

    Give it the image's files, choose the processor that serves, and wait until it is idle. Return how idle it was, in the
    record's key `settled`; empty if it is no other machine. Raise InvalidOutput if it did not become idle in time.
    """
    if not isinstance(far, SshMachine):
        return {}
    far.hold(attempt.image)
    far.processor = attempt.cell["parameters"]["second_host"]["processor"]
    return {"settled": idle_there(far, attempt.plan["limits"]["idle"])}


def idle_there(far: SshMachine, idle: dict) -> dict:
    """Wait until another machine is idle, and return how idle it was.

    Raise InvalidOutput if it did not become idle in time, by the plan's limits `idle`.
    """
    seen = noise.wait_until_idle(far, **{**idle, "window_seconds": IDLE_WINDOW})
    if not seen["idle"]:
        busy = f"{seen['busy_share']:.0%} of its processors' time"
        raise InvalidOutput(f"the machine {far.name} was not idle within {seen['waited_seconds']:.0f} s ({busy})")
    return seen


@contextlib.contextmanager
def listening(host: Node, spec: Spec, role: Role, log: Path) -> Iterator[Node]:
    """Yield the node on bare metal in which a role's program listens. The program ends with the context.

    `host` is where the node runs, `log` takes what the program prints. Raise Unavailable if it does not listen.
    """
    server = host if isinstance(host, SshMachine) else runtimes.find("bare").start([spec], host)[0]
    process, seconds = _started(server, [*_harmless(server), *server.of_image(list(role.command))], log)
    try:
        wait_for(server, role)
        yield server
    finally:
        _end(process, seconds)


def _harmless(server: Node) -> list[str]:
    """Return a prefix that makes a server on bare metal run as `nobody` where it would run as root.

    Run by root, netserver makes its host's /dev/null unwritable for all other users.
    """
    # A shell on another machine may print a greeting before the answer.
    if output(server.inside(["id", "-u"])).split()[-1] != "0":
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def _started(server: Node, program: list[str], log: Path) -> tuple[subprocess.Popen, float]:
    """Start a server in a session of its own, as every daemon is. Return (its process, the time it may take to end, in
    seconds).

    The kernel's scheduler may group programs by session, and programs in containers are in groups of their own. On
    another machine the server ends when its standard input is closed, which takes time.
    """
    there = isinstance(server, SshMachine)
    words, stdin = (server.kept(program), subprocess.PIPE) if there else (server.inside(program), subprocess.DEVNULL)
    with run_files.new_file(log) as said:
        started = subprocess.Popen(words, stdin=stdin, stdout=said, stderr=said, start_new_session=True)
    return started, END_SECONDS if there else 0.0


def _end(process: subprocess.Popen, seconds: float) -> None:
    """End a server and the processes that it has started for its clients.

    Such a process may still wait for a client that is gone.
    """
    if process.stdin:
        process.stdin.close()
    ended_within(process.pid, seconds)
    kill(process, group=True)


def free_port(host: Node = HOST) -> int:
    """Return a TCP port that no program uses on this host or on `host`."""
    while True:
        with socket.socket() as one:
            one.bind(("", 0))
            port = one.getsockname()[1]
        if host is HOST or f":{port:04X} " not in output(host.inside(["cat", "/proc/net/tcp"])):
            return port

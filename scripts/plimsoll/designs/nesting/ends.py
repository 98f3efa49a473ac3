"""The two ends of a network: a client and a server, each on bare metal, in a container, a nested one or a virtual machine."""

import contextlib
import re
import socket
from collections.abc import Iterator
from typing import NamedTuple

from plimsoll import environments
from plimsoll.designs.nesting.factors import OPEN_VSWITCH, PLAIN, TWO, NestingCell
from plimsoll.environments.base import HOST, Node, output
from plimsoll.environments.networks import of_host
from plimsoll.environments.networks.base import HostNetwork, Network
from plimsoll.environments.networks.second_host import Reached
from plimsoll.errors import Unavailable
from plimsoll.services import daemon
from plimsoll.services.kept import Services, wait_for
from plimsoll.workloads import netperf
from plimsoll.workloads.base import InvalidOutput, Role

LOOPBACK = "127.0.0.1"
# What tells a program its network namespace.
NAMESPACE = ("readlink", "/proc/self/ns/net")
# The kernel's table of what TCP has done: a line of names, and a line of numbers.
TCP = re.compile(r"^Tcp: .*$", re.MULTILINE)
# The gateway of a namespace, as the kernel writes addresses: bytes backwards, in hexadecimal digits.
DEFAULT_ROUTE = re.compile(r"^\S+\s+00000000\s+([0-9A-F]{8})\s", re.MULTILINE)


class Pair(NamedTuple):
    """The client's node, the server's, and how the client reaches the server."""

    client: Node
    server: Node
    address: str
    port: int


@contextlib.contextmanager
def between(task) -> Iterator[Pair]:
    """A server that listens, and a client; both are there until the task is taken down, but for a server on bare metal, which
    ends here, and listens only where the client reaches it. Unavailable if one of them does not start."""
    cell: NestingCell = task.cell
    far = task.network.far if cell["hosts"] == TWO else HOST
    port, server = daemon.free_port(far), None
    with contextlib.ExitStack() as stack:
        if task.peers:
            role = _listening(port)
            server = start(task.peers, "server", cell["server"], cell["network"], task.attempt.image, role.command)
            wait_for(server, role)
        client = (
            start(task.services, "client", cell["runtime"], cell["network"], task.attempt.image)
            if task.services
            else task.environment.start(task.specs())[0]
        )
        address = far.address if cell["hosts"] == TWO else address_of(client, server or HOST)
        if not server:
            # Another machine may be behind an address that it has not itself.
            role = _listening(port, "" if isinstance(far, Reached) else address)
            server = stack.enter_context(daemon.listening(far, task.specs()[0], role, task.attempt.folder / "netserver.log"))
        yield Pair(client, server, address, port)


def _listening(port: int, address: str = "") -> Role:
    """A server that listens at a port of one address, or of all."""
    return Role("server", "", netperf.server(port, address), port)


def start(services: Services, what: str, runtime: str, network: str, image: dict, command: tuple[str, ...] = ()) -> Node:
    """A container on a network; Unavailable if it does not start."""
    outer, _, inner = network.partition("+")
    more = {"command": command} if command else {}
    if not environments.find(runtime).nested:
        spec = services.spec(what, image, network=_network(outer), **more)
    else:
        spec = services.spec(what, image, network=_network(inner), parent_network=_network(outer), **more)
    (node,) = services.start([spec])
    return node


def _network(name: str) -> Network | None:
    """What containers are on; None for the environment's own bridge."""
    made = {"host": HostNetwork(), OPEN_VSWITCH: of_host.SWITCH, PLAIN: of_host.PLAIN_BRIDGE}
    return made.get(name)


def address_of(client: Node, server: Node) -> str:
    """How a client reaches a server of the same host: by the loopback within a namespace; a container by its own address, or by
    its parent's if it is on its parent's network; and bare metal by the gateway of the outermost container of the client that
    has a namespace of its own."""
    here = namespace(HOST)
    if namespace(client) == namespace(server):
        return LOOPBACK
    if namespace(server) != here:
        if server.on and namespace(server) == namespace(server.on):
            return given_address(server.on)
        # Not by its name, which a container that was wired later has no address for.
        return output(server.inside(["hostname", "-I"])).split()[0]
    chain = [client, client.on] if client.on else [client]
    outermost = [node for node in chain if namespace(node) != here][-1]
    return gateway(output(outermost.inside(["cat", "/proc/net/route"])))


def given_address(parent: Node) -> str:
    """The address that an engine gave to a container. The container knows others too: its own engine's bridge has one."""
    shown = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    return output([*parent.command, "inspect", "--format", shown, parent.name]).strip()


def gateway(routes: str) -> str:
    """The gateway of the default route in a table of routes (/proc/net/route); Unavailable if there is none."""
    if not (match := DEFAULT_ROUTE.search(routes)):
        raise Unavailable("a container has no way to this host: it has no default route")
    return socket.inet_ntoa(bytes.fromhex(match[1])[::-1])


def namespace(node: Node) -> str:
    """The network namespace of a node, by its kernel's number; with the node's name, if it has a kernel of its own."""
    number = output(node.inside(list(NAMESPACE))).strip()
    return f"{node.name}: {number}" if node.own_kernel else number


def namespaces(task, pair: Pair) -> dict[str, str]:
    """The namespaces of this host, of the client and the server, and of their parents."""
    nodes = {"host": HOST, "client": pair.client, "server": pair.server}
    for end, runtime in (("client", task.cell["runtime"]), ("server", task.cell["server"])):
        if environments.find(runtime).nested:
            nodes[f"parent of the {end}"] = nodes[end].on
    return {name: namespace(node) for name, node in nodes.items()}


def segments(pair: Pair) -> dict[str, int]:
    """TCP segments that the namespaces of client and server have `sent`, and those `sent_again` because they were lost or late,
    since they are there; of a namespace that both have, once."""
    tables = {namespace(node): output(node.inside(["cat", "/proc/net/snmp"])) for node in (pair.client, pair.server)}
    counts = [dict(zip(*(row.split()[1:] for row in TCP.findall(table)), strict=True)) for table in tables.values()]
    names = {"sent": "OutSegs", "sent_again": "RetransSegs"}
    return {name: sum(int(count[key]) for count in counts) for name, key in names.items()}


def refuse_other(seen: dict[str, str], cell: NestingCell) -> None:
    """InvalidOutput if an end is in another namespace than its network is of: that of what it runs on, or one of its own."""
    outer, _, inner = cell["network"].partition("+")
    for end, runtime in (("client", cell["runtime"]), ("server", cell["server"])):
        environment, around = environments.find(runtime), "host"
        if environment.nested:
            _refuse(seen, f"parent of the {end}", around, outer == "host")
            around = f"parent of the {end}"
        shared = (inner if environment.nested else outer) == "host" if environment.containers else True
        if end == "server" and cell["hosts"] == TWO:
            shared = False
        _refuse(seen, end, around, shared)


def _refuse(seen: dict[str, str], one: str, other: str, shared: bool) -> None:
    if (seen[one] == seen[other]) != shared:
        raise InvalidOutput(f"the {one} {'does not share' if shared else 'shares'} the network of the {other}")

"""The two ends of a network test: a client and a server.

Each end is on bare metal, in a container, in a nested container, or in a virtual machine.
"""

import contextlib
import re
import socket
from collections.abc import Iterator
from typing import NamedTuple

from plimsoll import runtimes
from plimsoll.designs.nesting.factors import OPEN_VSWITCH, PLAIN, TWO, NestingCell
from plimsoll.errors import Unavailable
from plimsoll.runtimes.base import HOST, Node
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks import host_networks
from plimsoll.runtimes.networks.base import HostNetwork, Network
from plimsoll.runtimes.networks.second_host import SshMachine
from plimsoll.services import daemon
from plimsoll.services.containers import Services, wait_for
from plimsoll.workloads import netperf
from plimsoll.workloads.base import InvalidOutput, Role

LOOPBACK = "127.0.0.1"
# Command by which a program learns its network namespace.
NAMESPACE = ("readlink", "/proc/self/ns/net")
# The kernel's TCP counters (/proc/net/snmp): a line of names, and a line of numbers.
TCP = re.compile(r"^Tcp: .*$", re.MULTILINE)
# The default route's gateway in /proc/net/route: the address in hexadecimal digits, with its bytes reversed.
DEFAULT_ROUTE = re.compile(r"^\S+\s+00000000\s+([0-9A-F]{8})\s", re.MULTILINE)


class Pair(NamedTuple):
    """The nodes of client and server, and the address and port at which the client reaches the server."""

    client: Node
    server: Node
    address: str
    port: int


@contextlib.contextmanager
def between(task) -> Iterator[Pair]:
    """Start a server that listens and a client, and yield them as a Pair.

    Both stay up until the task is taken down. A server on bare metal is the exception: it ends with this context. On
    this machine it listens only at the address that the client uses, and on another machine at all addresses. Raise
    Unavailable if client or server does not start.
    """
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
            else task.runtime.start(task.specs())[0]
        )
        address = far.address if cell["hosts"] == TWO else address_of(client, server or HOST)
        if not server:
            # Another machine may be reached at an address that no interface of its own has.
            role = _listening(port, "" if isinstance(far, SshMachine) else address)
            server = stack.enter_context(daemon.listening(far, task.specs()[0], role, task.attempt.folder / "netserver.log"))
        yield Pair(client, server, address, port)


def _listening(port: int, address: str = "") -> Role:
    """Return the role of a server that listens at a port, at one address or (if `address` is empty) at all."""
    return Role("server", "", netperf.server(port, address), port)


def start(services: Services, what: str, runtime: str, network: str, image: dict, command: tuple[str, ...] = ()) -> Node:
    """Start a container on a network and return its node. Raise Unavailable if it does not start.

    `network` names the network of the container. For a nested container it names the parent's and the child's:
    parent+child.
    """
    outer, _, inner = network.partition("+")
    more = {"command": command} if command else {}
    if not runtimes.find(runtime).nested:
        spec = services.spec(what, image, network=_network(outer), **more)
    else:
        spec = services.spec(what, image, network=_network(inner), parent_network=_network(outer), **more)
    (node,) = services.start([spec])
    return node


def _network(name: str) -> Network | None:
    """Return the network object for a level's name; None for the runtime's own bridge."""
    made = {"host": HostNetwork(), OPEN_VSWITCH: host_networks.SWITCH, PLAIN: host_networks.PLAIN_BRIDGE}
    return made.get(name)


def address_of(client: Node, server: Node) -> str:
    """Return the address at which a client reaches a server on the same host. It is one of these:

    - the loopback, if both are in one network namespace;
    - the address of the server's parent, if the server shares its parent's namespace and that is not the host's;
    - the server's own address, if it has a namespace of its own;
    - the gateway of the client's outermost container with a namespace of its own, if the server is in the host's
      namespace.
    """
    here = namespace(HOST)
    if namespace(client) == namespace(server):
        return LOOPBACK
    if namespace(server) != here:
        if server.on and namespace(server) == namespace(server.on):
            return given_address(server.on)
        # The server's name would not do: a container that was wired after its start has no address for it.
        return output(server.inside(["hostname", "-I"])).split()[0]
    chain = [client, client.on] if client.on else [client]
    outermost = [node for node in chain if namespace(node) != here][-1]
    return gateway(output(outermost.inside(["cat", "/proc/net/route"])))


def given_address(parent: Node) -> str:
    """Return the address that an engine gave to a container.

    The container itself would also report the address of its own engine's bridge.
    """
    shown = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    return output([*parent.command, "inspect", "--format", shown, parent.name]).strip()


def gateway(routes: str) -> str:
    """Return the gateway of the default route in a text of /proc/net/route. Raise Unavailable if there is no such route."""
    if not (match := DEFAULT_ROUTE.search(routes)):
        raise Unavailable("a container has no way to this host: it has no default route")
    return socket.inet_ntoa(bytes.fromhex(match[1])[::-1])


def namespace(node: Node) -> str:
    """Return the number of a node's network namespace, preceded by the node's name if the node has a kernel of its own."""
    number = output(node.inside(list(NAMESPACE))).strip()
    return f"{node.name}: {number}" if node.own_kernel else number


def namespaces(task, pair: Pair) -> dict[str, str]:
    """Return the network namespaces of this host, of client and server, and of their parents, by name."""
    nodes = {"host": HOST, "client": pair.client, "server": pair.server}
    for end, runtime in (("client", task.cell["runtime"]), ("server", task.cell["server"])):
        if runtimes.find(runtime).nested:
            nodes[f"parent of the {end}"] = nodes[end].on
    return {name: namespace(node) for name, node in nodes.items()}


def segments(pair: Pair) -> dict[str, int]:
    """Return how many TCP segments client and server have sent (`sent`) and retransmitted (`sent_again`).

    The counts are sums over the network namespaces of both ends since these exist. A shared namespace counts once.
    """
    tables = {namespace(node): output(node.inside(["cat", "/proc/net/snmp"])) for node in (pair.client, pair.server)}
    counts = [dict(zip(*(row.split()[1:] for row in TCP.findall(table)), strict=True)) for table in tables.values()]
    names = {"sent": "OutSegs", "sent_again": "RetransSegs"}
    return {name: sum(int(count[key]) for count in counts) for name, key in names.items()}


def refuse_other(seen: dict[str, str], cell: NestingCell) -> None:
    """Raise InvalidOutput if client, server or a parent is in another network namespace than the cell's network says.

    On the network `host` a node shares the namespace of the host or of its parent; on any other network it has its own.
    `seen` is the result of `namespaces`.
    """
    outer, _, inner = cell["network"].partition("+")
    for end, runtime in (("client", cell["runtime"]), ("server", cell["server"])):
        found, around = runtimes.find(runtime), "host"
        if found.nested:
            _refuse(seen, f"parent of the {end}", around, outer == "host")
            around = f"parent of the {end}"
        shared = (inner if found.nested else outer) == "host" if found.has_containers else True
        if end == "server" and cell["hosts"] == TWO:
            shared = False
        _refuse(seen, end, around, shared)


def _refuse(seen: dict[str, str], one: str, other: str, shared: bool) -> None:
    if (seen[one] == seen[other]) != shared:
        raise InvalidOutput(f"the {one} {'does not share' if shared else 'shares'} the network of the {other}")

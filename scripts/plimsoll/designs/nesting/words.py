"""Names for people of the levels and cells of a study of nesting, such as: 4 parents, 1 child in each."""

from plimsoll import runtimes
from plimsoll.designs.nesting.factors import BARE, CPU, NETWORK, NO_CHILDREN, OPEN_VSWITCH, PLAIN, PRELOADED, TWO
from plimsoll.host import topology
from plimsoll.interchange import ABSENT
from plimsoll.pages.glossary import Term

TASKS = {
    "cpu": "a program in each",
    "creation": "created",
    PRELOADED: "created, the child's image being there",
    NETWORK: "a client and a server",
}
NETWORKS = {
    "host": "the host's network",
    "bridge": "a bridge",
    OPEN_VSWITCH: "Open vSwitch",
    PLAIN: "a bridge without offloads",
}
# Runtimes whose label is not a proper name: what they are called inside a sentence, and what one of their nodes is
# called.
INSIDE = {
    "bare": "bare metal",
    "docker-nested": "nested Docker containers",
    "vm": "virtual machines",
    "vm-emulated": "emulated virtual machines",
}
ONE_OF = {
    "docker-nested": "a nested container",
    "vm": "a virtual machine",
    "vm-emulated": "an emulated virtual machine",
}
# A row of the answer with all of these levels is about a network.
BETWEEN = {"runtime", "server", "network"}

GLOSSARY = (
    Term(
        "instances at once",
        "Containers, nested containers, or copies of a program on bare metal, that are started together.",
        ("instances", "instance"),
    ),
    Term("parent", "A container with an engine of its own, in which other containers run: its children.", ("parents",)),
    Term("child", "A container in a container: a nested container.", ("children", "nested container", "nested containers")),
    Term(
        "creation time",
        "From the command that creates a container or a virtual machine to its end, with a program in it that ends at once. "
        "If there are several, until the last one has ended.",
        ("creation times",),
    ),
    Term(
        "the host's network",
        "A container on it has no network of its own, and uses the host's. A nested container on it uses its parent's.",
    ),
    Term(
        "second host",
        "The machine that the configuration names (second_host), reached by ssh. Where it names none, a network namespace of "
        "the same machine stands in for it, behind a link that is shaped to 1 Gbit/s. Packets then cross two shaped devices, "
        "but client and server share the processors of one machine.",
        ("across two hosts",),
    ),
    Term("slowdown", "How many times as long a program takes as one instance on bare metal.", ("slowdowns",)),
)


def level(factor: str, name: str) -> str:
    """Return the name for people of a factor's level.

    A level without such a name keeps its own, with spaces for underscores.
    """
    if factor in ("runtime", "server") and name in runtimes.known():
        return runtimes.find(name).label
    if factor == "network" and name != ABSENT:
        return _network(*name.split("+"))
    if factor == "hosts" and name != ABSENT:
        return f"{name} host{'s' if name == TWO else ''}"
    if factor == "task":
        return TASKS.get(name, name)
    if factor == "instances" and name.isdigit():
        return f"{name} instance{'' if name == '1' else 's'}"
    if factor == "children" and name.isdigit():
        return "not nested" if name == NO_CHILDREN else f"{name} child{'' if name == '1' else 'ren'} in each"
    return name.replace("_", " ")


def _network(own: str, child: str = "") -> str:
    """Return the name of a network; for a nested container, the names of its parent's network and of its own."""
    if not child:
        return NETWORKS[own]
    childs = "the parent's network" if child == "host" else NETWORKS[child]
    return f"{NETWORKS[own]} (the parent) and {childs} (the child)"


def with_switch(words: str, where: str) -> str:
    """Return words about networks, with the place where Open vSwitch switches added to its name.

    Nothing is added if it switches in the kernel. Elsewhere it is another switch than the paper's.
    """
    own = NETWORKS[OPEN_VSWITCH]
    return words if where == topology.KERNEL else words.replace(own, f"{own} ({where})")


def cell(path: str, metric: dict) -> str:
    """Return the name for people of a cell: runtime and numbers, or the ends of a network. `metric` is not used."""
    task, *levels = path.split("/")
    if task == NETWORK:
        return between(*levels)
    runtime, instances, children = levels
    name = level("runtime", runtime)
    if children == NO_CHILDREN or task == CPU:
        words = f"{name}, {level('instances', instances)}"
    else:
        words = f"{name}, {instances} parent{'' if instances == '1' else 's'}, {level('children', children)}"
    return f"{words}, the child's image being there" if task == PRELOADED else words


def between(client: str, server: str, network: str, hosts: str) -> str:
    """Return the name for people of a network cell: from client to server, on which network, across how many hosts."""
    where = f"{runtimes.find(client).label} to {runtimes.find(server).label}"
    over = "" if client == server == BARE else f", on {level('network', network)}"
    return f"{where}{over}{', across two hosts' if hosts == TWO else ''}"


def row(levels: dict[str, str], path: str | None) -> str:
    """Return the name for people of a row of the study's answer, to stand inside a sentence: its levels.

    A row about networks names the ends that are not on bare metal, and their network.
    """
    if levels.keys() >= BETWEEN:
        return _ends(levels["runtime"], levels["server"], levels["network"])
    return ", ".join(_inside(name, INSIDE) if factor == "runtime" else level(factor, name) for factor, name in levels.items())


def _inside(runtime: str, words: dict[str, str]) -> str:
    """Return the name of a runtime to stand inside a sentence, from `words` if they have one."""
    return words.get(runtime) or level("runtime", runtime)


def _ends(client: str, server: str, network: str) -> str:
    """Return the ends of a network to stand inside a sentence, such as: client in Docker on a bridge."""
    if client == server == BARE:
        return INSIDE[BARE]
    ends = [f"{what} in {_inside(end, ONE_OF)}" for what, end in (("client", client), ("server", server)) if end != BARE]
    own, _, child = network.partition("+")
    return f"{' and '.join(ends)} {_nested(own, child) if child else f'on {NETWORKS[own]}'}"


def _nested(own: str, child: str) -> str:
    """Return the networks of a parent and its child, to stand inside a sentence."""
    if own == child == "host":
        return f"(parent and child on {NETWORKS[own]})"
    # Parent and child on two networks of the same kind are on two different ones.
    of_child = {"host": "the parent's network", own: "another"}.get(child, NETWORKS[child])
    return f"(parent on {NETWORKS[own]}, child on {of_child})"

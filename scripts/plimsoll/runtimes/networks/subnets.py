"""Subnets that are free on a node."""

import ipaddress
import json

from plimsoll.errors import Unavailable
from plimsoll.runtimes.base import HOST, Node
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks.base import PREFIX

# A network gets the first subnet that no route overlaps. Candidates are 10.FIRST.0.0 and the next ones up to
# 10.255.0.0, SUBNETS at most.
FIRST, SUBNETS = 77, 50


def free_subnet(what: str, first: int = FIRST, on: Node = HOST) -> ipaddress.IPv4Network:
    """Return a free subnet for `what`, the first from 10.`first`.0.0 on. Raise Unavailable if none is free.

    Programs on a subnet that overlaps another one hang without any message.
    """
    taken = routes(on)
    for second in range(first, min(first + SUBNETS, 256)):
        subnet = ipaddress.ip_network(f"10.{second}.0.0/{PREFIX}")
        if not any(subnet.overlaps(other) for other in taken):
            return subnet
    raise Unavailable(f"no free subnet was found for {what}")


def routes(on: Node = HOST) -> list:
    """Return every network that a node has a route to."""
    table = json.loads(output(on.inside(["ip", "-json", "-4", "route", "show", "table", "all"])) or "[]")
    return [ipaddress.ip_network(route["dst"], strict=False) for route in table if route.get("dst", "default") != "default"]

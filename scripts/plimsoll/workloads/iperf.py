"""iperf 2: a stream of TCP from a client to a server."""

from collections.abc import Mapping

from plimsoll.workloads import printed
from plimsoll.workloads.base import InvalidOutput, Microservice, Role, Room

PROGRAM = "/usr/bin/iperf"
PORT = 5001
# The one line that it prints (-y C): when, from where to where, a number, the interval, bytes, and bit/s.
ADDRESS = "[0-9a-fA-F.:]+,[0-9]+"
PRINTED = (
    rf"[0-9]{{14}}(?:\.[0-9]+)?,{ADDRESS},{ADDRESS},-?[0-9]+,(?P<begin>{printed.fixed(1)})-(?P<end>{printed.fixed(1)}),"
    rf"(?P<bytes>{printed.INTEGER}),(?P<bits>{printed.INTEGER})\n"
)
# The ends of the interval are rounded to a tenth of a second.
ROUNDED = 0.1
# No network has so many bit/s.
MOST = 1e14


def server(port: int, address: str = "") -> Role:
    """What listens at a port of one address, or of all."""
    return Role("iperf server", "iperf", (PROGRAM, "-s", *(("-B", address) if address else ()), "-p", str(port)), port)


class Iperf(Microservice):
    """Throughput from the client to the server, which other nodes have: `hosts` names its address and its port."""

    name, label, short, resources, stage = "iperf", "iperf", "I", ("network",), "iperf"
    software = "iperf"
    roles = (server(PORT),)

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        return {"seconds": sizes["seconds"]}

    def at(self, address: str, port: int) -> Role:
        """Its server, which listens at this port of an address, or of all."""
        return server(port, address)

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        """With a line for machines."""
        where = ["-c", hosts["address"], "-p", hosts["port"]]
        return [PROGRAM, *where, "-t", str(parameters["seconds"]), "-y", "C"]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """`throughput` in Mbit/s. It ends with 0 where no server answers: its line tells."""
        found = printed.numbers(PRINTED, text)
        seconds = found["end"] - found["begin"]
        if not 0 < found["bits"] < MOST or seconds < max(ROUNDED, 0.95 * parameters["seconds"]):
            raise InvalidOutput(f"it printed {found['bits']:g} bit/s after {seconds:g} s")
        printed.agree("bit/s", found["bits"], 8 * found["bytes"] / seconds, 0.01 + ROUNDED / seconds)
        return {"throughput": found["bits"] / 1e6}

    def expected_seconds(self, parameters: dict) -> float:
        return parameters["seconds"] + 0.1


WORKLOADS = (Iperf(),)

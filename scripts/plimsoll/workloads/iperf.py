"""iperf 2: a TCP stream from a client to a server."""

from collections.abc import Mapping

from plimsoll.workloads import program_output
from plimsoll.workloads.base import InvalidOutput, Microservice, Role, Room

PROGRAM = "/usr/bin/iperf"
PORT = 5001
# Form of the one line that it prints (-y C): time, addresses and ports of both ends, a number, the interval, bytes, and
# bit/s.
ADDRESS = "[0-9a-fA-F.:]+,[0-9]+"
PRINTED = (
    rf"[0-9]{{14}}(?:\.[0-9]+)?,{ADDRESS},{ADDRESS},-?[0-9]+,(?P<begin>{program_output.fixed_point(1)})-(?P<end>{program_output.fixed_point(1)}),"
    rf"(?P<bytes>{program_output.INTEGER}),(?P<bits>{program_output.INTEGER})\n"
)
# The ends of the interval are rounded to a tenth of a second.
ROUNDED = 0.1
# Upper limit for a plausible result (bit/s): no network is as fast.
MOST = 1e14


def server(port: int, address: str = "") -> Role:
    """Return the server's role: it listens at a port of one address, or of all addresses if `address` is empty."""
    return Role("iperf server", "iperf", (PROGRAM, "-s", *(("-B", address) if address else ()), "-p", str(port)), port)


class Iperf(Microservice):
    """Throughput from the client to a server that runs in another node. `hosts` names the server's address and port."""

    name, label, short, resources, stage = "iperf", "iperf", "I", ("network",), "iperf"
    software = "iperf"
    roles = (server(PORT),)

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        return {"seconds": sizes["seconds"]}

    def at(self, address: str, port: int) -> Role:
        """Return the role of a server that listens at this port of an address, or of all addresses if `address` is empty."""
        return server(port, address)

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        """Return the client's command, with output in the machine-readable form."""
        where = ["-c", hosts["address"], "-p", hosts["port"]]
        return [PROGRAM, *where, "-t", str(parameters["seconds"]), "-y", "C"]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """Return `throughput` in Mbit/s.

        Raise InvalidOutput if the interval is too short. iperf ends with exit code 0 even if no server answers, so only
        its line shows that.
        """
        found = program_output.numbers(PRINTED, text)
        seconds = found["end"] - found["begin"]
        if not 0 < found["bits"] < MOST or seconds < max(ROUNDED, 0.95 * parameters["seconds"]):
            raise InvalidOutput(f"it printed {found['bits']:g} bit/s after {seconds:g} s")
        program_output.agree("bit/s", found["bits"], 8 * found["bytes"] / seconds, 0.01 + ROUNDED / seconds)
        return {"throughput": found["bits"] / 1e6}

    def expected_seconds(self, parameters: dict) -> float:
        return parameters["seconds"] + 0.1


WORKLOADS = (Iperf(),)

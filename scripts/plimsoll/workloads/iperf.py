"""iperf 2: a stream of TCP from a client to a server."""

from collections.abc import Mapping

from plimsoll.workloads.base import InvalidOutput, Microservice, Role, Room

PROGRAM = "/usr/bin/iperf"
PORT = 5001
# Fields of the one line that it prints (-y C): the interval, bytes, and bit/s are the last.
FIELDS = 9


def server(port: int) -> Role:
    """What listens at a port."""
    return Role("iperf server", "iperf", (PROGRAM, "-s", "-p", str(port)), port)


class Iperf(Microservice):
    """Throughput from the client to the server, which other nodes have: `hosts` names its address and its port."""

    name, label, short, resources, stage = "iperf", "iperf", "I", ("network",), "iperf"
    software = "iperf"
    roles = (server(PORT),)

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        return {"seconds": sizes["seconds"]}

    def at(self, port: int) -> Role:
        """Its server, which listens at another port."""
        return server(port)

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        """With a line for machines."""
        where = ["-c", hosts["address"], "-p", hosts["port"]]
        return [PROGRAM, *where, "-t", str(parameters["seconds"]), "-y", "C"]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """`throughput` in Mbit/s. It ends with 0 where no server answers: its line tells."""
        rows = [line.split(",") for line in text.splitlines() if line.count(",") == FIELDS - 1]
        if len(rows) != 1:
            raise InvalidOutput("it printed no result")
        try:
            begin, _, end = rows[0][-3].partition("-")
            seconds, bits = float(end) - float(begin), float(rows[0][-1])
        except ValueError:
            raise InvalidOutput(f"it printed {','.join(rows[0])}") from None
        if bits <= 0 or seconds < 0.95 * parameters["seconds"]:
            raise InvalidOutput(f"it printed {bits:g} bit/s after {seconds:g} s")
        return {"throughput": bits / 1e6}

    def expected_seconds(self, parameters: dict) -> float:
        return parameters["seconds"] + 0.1


WORKLOADS = (Iperf(),)

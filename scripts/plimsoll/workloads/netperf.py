"""Netperf: a stream to, and request and response with, a server in a container of its own."""

from collections.abc import Mapping

from plimsoll.workloads.base import FOLDER, InvalidOutput, Microservice, Role, Room

PORT = 12865
SERVER = Role("server", "netperf", (f"{FOLDER}/netserver", "-D", "-4", "-p", str(PORT)), PORT)


class Netperf(Microservice):
    """One of Netperf's TCP tests, which runs for the profile's number of seconds. `column` is where its last line has the
    result."""

    resources, stage = ("network",), "netperf"
    roles = (SERVER,)

    def __init__(self, name: str, short: str, test: str, result: str, fields: int, *options: str):
        self.name, self.label, self.short, self.test = name, f"Netperf {test}", short, test
        self.result, self.fields, self.options = result, fields, options

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        return {"seconds": sizes["seconds"]}

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        where = ["-H", hosts[SERVER.name], "-4", "-p", str(PORT)]
        return [f"{FOLDER}/netperf", *where, "-t", self.test, "-l", str(parameters["seconds"]), "-P", "0", *self.options]

    def bound(self, command: list[str], client: int, server: int) -> list[str]:
        return [*command, "-T", f"{client},{server}"]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """`throughput` in Mbit/s, or `transactions` per second."""
        rows = [fields for line in text.splitlines() if len(fields := line.split()) == self.fields]
        try:
            (row,) = rows
            elapsed, value = float(row[-2]), float(row[-1])
        except ValueError:
            raise InvalidOutput(f"it printed no result of {self.test}") from None
        if value <= 0 or elapsed < 0.95 * parameters["seconds"]:
            raise InvalidOutput(f"it printed {value:g} after {elapsed:g} s")
        return {self.result: value, "seconds": elapsed}

    def expected_seconds(self, parameters: dict) -> float:
        return parameters["seconds"]


WORKLOADS = (
    Netperf("netperf_tcp_stream", "NS", "TCP_STREAM", "throughput", 5, "-f", "m"),
    # With -f m it would print the megabits of its one-byte messages, which seems to be what the papers show.
    Netperf("netperf_tcp_rr", "NR", "TCP_RR", "transactions", 6),
)

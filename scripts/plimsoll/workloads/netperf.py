"""Netperf: a stream to, and request and response with, a server in a container of its own."""

from collections.abc import Mapping

from plimsoll.workloads.base import FOLDER, InvalidOutput, Microservice, Role, Room

PORT = 12865


def server(port: int) -> tuple[str, ...]:
    """Words of the server, which stays up."""
    return (f"{FOLDER}/netserver", "-D", "-4", "-p", str(port))


def client(test: str, host: str, port: int, seconds: float, *options: str) -> list[str]:
    """Words of a test against the server of a host."""
    where = ["-H", host, "-4", "-p", str(port)]
    return [f"{FOLDER}/netperf", *where, "-t", test, "-l", str(seconds), *options]


def bound(command: list[str], of_client: int | None, of_server: int | None) -> list[str]:
    """The words of a test, with client and server bound to a processor each; None leaves one of them free."""
    program, *options = command
    places = ",".join("" if place is None else str(place) for place in (of_client, of_server))
    return [program, "-T", places, *options] if places != "," else command


def last_line(text: str, test: str, fields: int, seconds: float) -> tuple[float, float]:
    """(seconds that a test took, its result), from the one line of as many numbers that it printed; InvalidOutput if there is
    none, or if it did not run for its time."""
    rows = [numbers for line in text.splitlines() if len(numbers := _numbers(line)) == fields]
    if len(rows) != 1:
        raise InvalidOutput(f"it printed no result of {test}")
    elapsed, value = rows[0][-2:]
    if value <= 0 or elapsed < 0.95 * seconds:
        raise InvalidOutput(f"it printed {value:g} after {elapsed:g} s")
    return elapsed, value


def _numbers(line: str) -> list[float]:
    """The numbers of a line that has nothing else."""
    try:
        return [float(field) for field in line.split()]
    except ValueError:
        return []


SERVER = Role("server", "netperf", server(PORT), PORT)


class Netperf(Microservice):
    """One of Netperf's TCP tests, which runs for the profile's number of seconds. `column` is where its last line has the
    result."""

    resources, stage = ("network",), "netperf"
    software = "Netperf"
    roles = (SERVER,)

    def __init__(self, name: str, short: str, test: str, result: str, fields: int, *options: str):
        self.name, self.label, self.short, self.test = name, f"Netperf {test}", short, test
        self.result, self.fields, self.options = result, fields, options

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        return {"seconds": sizes["seconds"]}

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        return client(self.test, hosts[SERVER.name], PORT, parameters["seconds"], "-P", "0", *self.options)

    def bound(self, command: list[str], client: int, server: int) -> list[str]:
        return bound(command, client, server)

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """`throughput` in Mbit/s, or `transactions` per second."""
        elapsed, value = last_line(text, self.test, self.fields, parameters["seconds"])
        return {self.result: value, "seconds": elapsed}

    def expected_seconds(self, parameters: dict) -> float:
        return parameters["seconds"]


WORKLOADS = (
    Netperf("netperf_tcp_stream", "NS", "TCP_STREAM", "throughput", 5, "-f", "m"),
    # With -f m it would print the megabits of its one-byte messages, which seems to be what the papers show.
    Netperf("netperf_tcp_rr", "NR", "TCP_RR", "transactions", 6),
)

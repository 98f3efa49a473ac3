"""Netperf: a TCP stream, or request and response, to a server in a container of its own."""

from collections.abc import Mapping

from plimsoll.workloads import program_output
from plimsoll.workloads.base import FOLDER, InvalidOutput, Microservice, Role, Room

PORT = 12865
# Forms of its output, without and with a heading: sizes of sockets and messages, seconds, and Mbit/s or transactions
# per second. After a test of request and response the sizes of the server's sockets follow.
SIZE, SIZES = f"{program_output.INTEGER} +", f"{program_output.INTEGER} +{program_output.INTEGER} *\n"
RESULT = f"(?P<seconds>{program_output.fixed_point(2)}) +(?P<result>{program_output.fixed_point(2)}) *\n"
STREAM = f" *{SIZE * 3}{RESULT}"
TRANSACTIONS = f" *{SIZE * 4}{RESULT}{SIZES}"
HEADING = (
    r"MIGRATED TCP REQUEST/RESPONSE TEST from [^:\n]*(?: : nodelay)? : first burst (?P<burst>[0-9]+)(?: : cpu bind)?"
    "\nLocal /Remote\n"
    "Socket Size +Request +Resp[.] +Elapsed +Trans[.] *\n"
    "Send +Recv +Size +Size +Time +Rate *\n"
    "bytes +Bytes +bytes +bytes +secs[.] +per sec *\n"
    "\n"
)
MESSAGES = f" *{SIZE * 2}(?P<request>{program_output.INTEGER}) +(?P<response>{program_output.INTEGER}) +{RESULT}{SIZES}"
# Upper limit for a plausible result: no network has as many Mbit/s, and no server as many transactions per second.
MOST = 1e8


def server(port: int, address: str = "") -> tuple[str, ...]:
    """Return the command of the server, which keeps running. It listens at one address, or at all if `address` is empty."""
    return (f"{FOLDER}/netserver", "-D", "-4", *(("-L", address) if address else ()), "-p", str(port))


def client(test: str, host: str, port: int, seconds: float, *options: str) -> list[str]:
    """Return the command of a test against the server of a host."""
    where = ["-H", host, "-4", "-p", str(port)]
    return [f"{FOLDER}/netperf", *where, "-t", test, "-l", str(seconds), *options]


def bound_command(command: list[str], of_client: int | None, of_server: int | None) -> list[str]:
    """Return a test's command that binds client and server to one processor each. None leaves that side unbound."""
    program, *options = command
    places = ",".join("" if place is None else str(place) for place in (of_client, of_server))
    return [program, "-T", places, *options] if places != "," else command


def parse(text: str, pattern: str, seconds: float) -> dict[str, float]:
    """Return the numbers of a test's output, with its `result` and the `seconds` that it took.

    Raise InvalidOutput if the output does not match the pattern, the result is not plausible, or the test ended too
    early.
    """
    numbers = program_output.numbers(pattern, text)
    if not 0 < numbers["result"] < MOST or numbers["seconds"] < 0.95 * seconds:
        raise InvalidOutput(f"it printed {numbers['result']:g} after {numbers['seconds']:g} s")
    return numbers


SERVER = Role("server", "netperf", server(PORT), PORT)


class Netperf(Microservice):
    """One of Netperf's TCP tests. It runs for the profile's number of seconds, and `pattern` is the form of its output."""

    resources, stage = ("network",), "netperf"
    software = "Netperf"
    roles = (SERVER,)

    def __init__(self, name: str, short: str, test: str, result: str, pattern: str, *options: str):
        self.name, self.label, self.short, self.test = name, f"Netperf {test}", short, test
        self.result, self.pattern, self.options = result, pattern, options

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        return {"seconds": sizes["seconds"]}

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        return client(self.test, hosts[SERVER.name], PORT, parameters["seconds"], "-P", "0", *self.options)

    def bound(self, command: list[str], client: int, server: int) -> list[str]:
        return bound_command(command, client, server)

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """Return `throughput` in Mbit/s or `transactions` per second, and `seconds`."""
        numbers = parse(text, self.pattern, parameters["seconds"])
        return {self.result: numbers["result"], "seconds": numbers["seconds"]}

    def took(self, values: dict[str, float], parameters: dict) -> float:
        return values["seconds"]

    def expected_seconds(self, parameters: dict) -> float:
        return parameters["seconds"]


WORKLOADS = (
    Netperf("netperf_tcp_stream", "NS", "TCP_STREAM", "throughput", STREAM, "-f", "m"),
    # With -f m it would print the megabits of its one-byte messages, which seems to be what the papers show.
    Netperf("netperf_tcp_rr", "NR", "TCP_RR", "transactions", TRANSACTIONS),
)

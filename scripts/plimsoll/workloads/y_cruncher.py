"""Y-Cruncher, if the user supplies it; otherwise pi by FLINT (containers/microservices/pi.c) in its place."""

import re
from collections.abc import Mapping

from plimsoll.workloads import printed
from plimsoll.workloads.base import FOLDER, SUPPLIED, InvalidOutput, Microservice, Room

# What Y-Cruncher prints (and writes into its validation file), and what follows on the line: the same in minutes or more.
TIMES = {"computation_seconds": "Total Computation Time:", "total_seconds": "Start-to-End Wall Time:"}
SECONDS = rf"\s+(?P<seconds>{printed.GENERAL}) seconds(?:\s+\((?:\s*(?P<minutes>{printed.GENERAL}) minutes\s*|.*)\))?\s*"
# What FLINT's program prints.
PRINTED = (
    printed.named(
        **dict.fromkeys(("digits", "threads", "accuracy_bits", "needed_bits"), printed.INTEGER),
        computation_seconds=printed.fixed(6),
        total_seconds=printed.fixed(6),
    )
    + "last=[0-9]{10}\n"
)
# Bits of a decimal digit, nearly.
BITS = 3.32
# It colours its output.
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class YCruncher(Microservice):
    """Seconds that digits of pi take: their computation alone, and with writing them to the disk."""

    name, label, short, resources, stage = "y_cruncher", "Y-Cruncher", "Y", ("cpu", "memory"), "pi"
    # The substitute: a program that the user supplies is in no image.
    software = "pi"
    supplied = True

    def stands_for(self, parameters: dict) -> str:
        return "" if "sha256" in parameters else self.label

    def label_of(self, parameters: dict) -> str:
        return self.label if "sha256" in parameters else "pi by FLINT"

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        """The profile's number of digits, and the checksum of the archive if there is one."""
        return {"digits": sizes["digits"], **({"sha256": supplied["sha256"]} if supplied else {})}

    def memory_bytes(self, parameters: dict) -> int:
        """More than FLINT was seen to need: 9 to 14 bytes per digit at 3 and 10 million, on one thread and on two."""
        return 22 * parameters["digits"]

    def disk_bytes(self, parameters: dict) -> int:
        return parameters["digits"]

    def flushed_bytes(self, parameters: dict) -> int:
        """The digits, by FLINT's program; Y-Cruncher does not say whether it flushes."""
        return 0 if "sha256" in parameters else parameters["digits"]

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        """pi DIGITS FILE; or Y-Cruncher with its files in a folder that goes with the container."""
        if "sha256" in parameters:
            program = f"{SUPPLIED}/{self.name}/y-cruncher"
            return [program, "skip-warnings", "custom", "pi", f"-dec:{parameters['digits']}", "-o", "/var/tmp"]
        return [f"{FOLDER}/pi", str(parameters["digits"]), f"/var/tmp/pi-{number}"]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """`computation_seconds` and `total_seconds`, of digits that are right by the program's own check."""
        found = _printed(ESCAPES.sub("", text)) if "sha256" in parameters else _of_flint(text, parameters)
        if not 0 < found["computation_seconds"] <= found["total_seconds"]:
            raise InvalidOutput(f"it computed for {found['computation_seconds']:g} of {found['total_seconds']:g} s")
        return found

    def took(self, values: dict[str, float], parameters: dict) -> float:
        return values["total_seconds"]

    def expected_seconds(self, parameters: dict) -> float:
        """As measured with FLINT at some million digits."""
        return 0.6e-6 * parameters["digits"]


def _of_flint(text: str, parameters: dict) -> dict[str, float]:
    """What FLINT's program printed."""
    found = printed.numbers(PRINTED, text)
    needed = max(found["needed_bits"], BITS * parameters["digits"])
    if found["digits"] < parameters["digits"] or found["accuracy_bits"] < needed:
        raise InvalidOutput(f"it has {found['digits']:.0f} digits, right to {found['accuracy_bits']:.0f} bits")
    return found


def _printed(text: str) -> dict[str, float]:
    """Times that Y-Cruncher printed, each on one line of its own."""
    found = {}
    for name, words in TIMES.items():
        lines = [line for line in text.split("\n")[:-1] if words in line]
        match = re.fullmatch(f".*{words}{SECONDS}", lines[0]) if len(lines) == 1 else None
        if not match:
            raise InvalidOutput(f"it printed no '{words}', or not as it should")
        found[name] = printed.number(match["seconds"])
        if match["minutes"]:
            # The minutes are rounded to a thousandth.
            printed.agree(f"'{words}'", found[name], 60 * printed.number(match["minutes"]), 1e-3, 0.06)
    return found


WORKLOADS = (YCruncher(),)

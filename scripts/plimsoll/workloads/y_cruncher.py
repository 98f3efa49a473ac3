"""Y-Cruncher, if the user supplies it; otherwise pi by FLINT (containers/microservices/pi.c) in its place."""

import re
from collections.abc import Mapping

from plimsoll.workloads.base import FOLDER, SUPPLIED, InvalidOutput, Microservice, Room, numbers

# What Y-Cruncher prints (and writes into its validation file).
TIMES = {"computation_seconds": "Total Computation Time:", "total_seconds": "Start-to-End Wall Time:"}
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
        if "sha256" in parameters:
            return _printed(ESCAPES.sub("", text))
        printed = numbers(text, "digits", "threads", "accuracy_bits", "needed_bits", "computation_seconds", "total_seconds")
        if printed["digits"] < parameters["digits"] or printed["accuracy_bits"] < printed["needed_bits"]:
            raise InvalidOutput(f"it has {printed['digits']:.0f} digits, right to {printed['accuracy_bits']:.0f} bits")
        return printed

    def expected_seconds(self, parameters: dict) -> float:
        """As measured with FLINT at some million digits."""
        return 0.6e-6 * parameters["digits"]


def _printed(text: str) -> dict[str, float]:
    """Times that Y-Cruncher printed."""
    printed = {}
    for name, words in TIMES.items():
        match = re.search(rf"{words}\s+([0-9.]+)\s+seconds", text)
        if not match:
            raise InvalidOutput(f"it printed no '{words}'")
        printed[name] = float(match.group(1))
    return printed


WORKLOADS = (YCruncher(),)

"""Y-Cruncher if the user supplies it; otherwise pi by FLINT (containers/microservices/pi.c) as its substitute."""

import re
from collections.abc import Mapping

from plimsoll.workloads import program_output
from plimsoll.workloads.base import FOLDER, SUPPLIED, InvalidOutput, Microservice, Room

# Words before each time that Y-Cruncher prints (and writes into its validation file), and the rest of the line. The
# rest may repeat the time in minutes or a larger unit.
TIMES = {"computation_seconds": "Total Computation Time:", "total_seconds": "Start-to-End Wall Time:"}
MINUTES = rf"\s*(?P<minutes>{program_output.GENERAL}) minutes\s*"
SECONDS = rf"\s+(?P<seconds>{program_output.GENERAL}) seconds(?:\s+\((?:{MINUTES}|.*)\))?\s*"
# Form of the output of FLINT's program.
PRINTED = (
    program_output.named_numbers(
        **dict.fromkeys(("digits", "threads", "accuracy_bits", "needed_bits"), program_output.INTEGER),
        computation_seconds=program_output.fixed_point(6),
        total_seconds=program_output.fixed_point(6),
    )
    + "last=[0-9]{10}\n"
)
# Bits per decimal digit, rounded down.
BITS = 3.32
# Y-Cruncher colours its output.
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class YCruncher(Microservice):
    """Seconds that computing digits of pi takes: the computation alone, and with writing them to the disk."""

    name, label, short, resources, stage = "y_cruncher", "Y-Cruncher", "Y", ("cpu", "memory"), "pi"
    # The name of the substitute: a supplied program is in no image.
    software = "pi"
    supplied = True

    def stands_for(self, parameters: dict) -> str:
        return "" if "sha256" in parameters else self.label

    def label_of(self, parameters: dict) -> str:
        return self.label if "sha256" in parameters else "pi by FLINT"

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        """Return the profile's number of digits, and the checksum of the supplied archive if there is one."""
        return {"digits": sizes["digits"], **({"sha256": supplied["sha256"]} if supplied else {})}

    def memory_bytes(self, parameters: dict) -> int:
        """Return 22 bytes per digit: more than the 9 to 14 that FLINT needed at 3 and 10 million digits, on one thread
        and on two."""
        return 22 * parameters["digits"]

    def disk_bytes(self, parameters: dict) -> int:
        return parameters["digits"]

    def flushed_bytes(self, parameters: dict) -> int:
        """Return the size of the digits for FLINT's program. It is 0 for Y-Cruncher, which does not say whether it flushes."""
        return 0 if "sha256" in parameters else parameters["digits"]

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        """Return `pi DIGITS FILE`, or Y-Cruncher's command.

        Files of both lie in a folder that is removed with the container.
        """
        if "sha256" in parameters:
            program = f"{SUPPLIED}/{self.name}/y-cruncher"
            return [program, "skip-warnings", "custom", "pi", f"-dec:{parameters['digits']}", "-o", "/var/tmp"]
        return [f"{FOLDER}/pi", str(parameters["digits"]), f"/var/tmp/pi-{number}"]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """Return `computation_seconds` and `total_seconds`. Raise InvalidOutput if the digits fail the program's own check."""
        found = _printed(ESCAPES.sub("", text)) if "sha256" in parameters else _of_flint(text, parameters)
        if not 0 < found["computation_seconds"] <= found["total_seconds"]:
            raise InvalidOutput(f"it computed for {found['computation_seconds']:g} of {found['total_seconds']:g} s")
        return found

    def took(self, values: dict[str, float], parameters: dict) -> float:
        return values["total_seconds"]

    def expected_seconds(self, parameters: dict) -> float:
        """Return the time as measured with FLINT at some million digits."""
        return 0.6e-6 * parameters["digits"]


def _of_flint(text: str, parameters: dict) -> dict[str, float]:
    """Return the numbers that FLINT's program printed.

    Raise InvalidOutput if it has too few digits, or digits that are not exact.
    """
    found = program_output.numbers(PRINTED, text)
    needed = max(found["needed_bits"], BITS * parameters["digits"])
    if found["digits"] < parameters["digits"] or found["accuracy_bits"] < needed:
        raise InvalidOutput(f"it has {found['digits']:.0f} digits, right to {found['accuracy_bits']:.0f} bits")
    return found


def _printed(text: str) -> dict[str, float]:
    """Return the times that Y-Cruncher printed. Raise InvalidOutput unless each is on one line."""
    found = {}
    for name, words in TIMES.items():
        lines = [line for line in text.split("\n")[:-1] if words in line]
        match = re.fullmatch(f".*{words}{SECONDS}", lines[0]) if len(lines) == 1 else None
        if not match:
            raise InvalidOutput(f"it printed no '{words}', or not as it should")
        found[name] = program_output.number(match["seconds"])
        if match["minutes"]:
            # The minutes are rounded to a thousandth.
            program_output.agree(f"'{words}'", found[name], 60 * program_output.number(match["minutes"]), 1e-3, 0.06)
    return found


WORKLOADS = (YCruncher(),)

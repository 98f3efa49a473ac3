"""Linpack: a dense linear system solved by dgesv (containers/microservices/linpack.c)."""

import re
from collections.abc import Mapping

from plimsoll.workloads import kernels, program_output
from plimsoll.workloads.base import FOLDER, InvalidOutput, Microservice, Room

# HPL's threshold for the scaled residual.
RESIDUAL = 16.0
PRINTED = (
    program_output.named_numbers(order=program_output.INTEGER, threads=program_output.INTEGER)
    + f"kernel={program_output.REST}\nprocessor={program_output.REST}\n"
    + program_output.named_numbers(
        seconds=program_output.fixed_point(6), gflops=program_output.fixed_point(6), residual=program_output.GENERAL
    )
)
CHOSEN = re.compile(r"^kernel=(?P<kernels>.*)\nprocessor=(?P<processor>.*)$", re.MULTILINE)
# Seconds are rounded to a millionth.
ROUNDED = 1e-6


def operations(order: float) -> float:
    """Return the operation count of the LINPACK rules for a system of this order."""
    return 2 / 3 * order**3 + 2 * order**2


class Linpack(Microservice):
    """Floating-point rate in GFLOP/s, by the operation count of the LINPACK rules."""

    name, label, short, resources, stage = "linpack", "Linpack", "L", ("cpu",), "linpack"
    software = "Linpack"

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        return {"order": sizes["order"]}

    def memory_bytes(self, parameters: dict) -> int:
        """Return the size of the matrix, and a tenth for LAPACK and the program."""
        return int(1.1 * 8 * parameters["order"] ** 2)

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        given = [f"{name}={value}" for name, value in kernels.variables().items()]
        return [*(["/usr/bin/env", *given] if given else []), f"{FOLDER}/linpack", str(parameters["order"])]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """Return what the program printed, `gflops` among it, if the residual is small enough.

        Raise InvalidOutput otherwise. Raise Lasting if the processor has wider vector instructions than the kernels
        use.
        """
        found = program_output.numbers(PRINTED, text)
        kernels.refuse_narrow(**CHOSEN.search(text).groupdict())
        if found["order"] != parameters["order"] or 0 in (found["gflops"], found["seconds"]):
            raise InvalidOutput(f"it solved {found['order']:.0f} equations at {found['gflops']} GFLOP/s")
        rate = operations(found["order"]) / found["seconds"] / 1e9
        program_output.agree("GFLOP/s", found["gflops"], rate, 1e-4 + ROUNDED / found["seconds"])
        if found["residual"] > RESIDUAL:
            raise InvalidOutput(f"its scaled residual is {found['residual']:g}, at most {RESIDUAL:g} is allowed")
        return found

    def kernels(self, text: str) -> dict[str, str]:
        """Return the kernels that OpenBLAS has chosen."""
        chosen = CHOSEN.search(text)
        return {kernels.LIBRARY: chosen["kernels"]} if chosen else {}

    def took(self, values: dict[str, float], parameters: dict) -> float:
        return values["seconds"]

    def expected_seconds(self, parameters: dict) -> float:
        """Return the time at 35 GFLOP/s."""
        return 2 / 3 * parameters["order"] ** 3 / 35e9


WORKLOADS = (Linpack(),)

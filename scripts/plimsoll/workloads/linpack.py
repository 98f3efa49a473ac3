"""Linpack: a dense system solved by dgesv (containers/microservices/linpack.c)."""

from collections.abc import Mapping

from plimsoll.workloads.base import FOLDER, InvalidOutput, Microservice, Room, numbers

# HPL's threshold for the scaled residual.
RESIDUAL = 16.0


class Linpack(Microservice):
    """Floating-point rate by the operation count of the LINPACK rules."""

    name, label, short, resources, stage = "linpack", "Linpack", "L", ("cpu",), "linpack"
    software = "Linpack"

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        return {"order": sizes["order"]}

    def memory_bytes(self, parameters: dict) -> int:
        """The matrix, and a tenth for what LAPACK and the program need."""
        return int(1.1 * 8 * parameters["order"] ** 2)

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        return [f"{FOLDER}/linpack", str(parameters["order"])]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """`gflops`, of a solution whose residual is small enough."""
        printed = numbers(text, "order", "threads", "seconds", "gflops", "residual")
        if printed["order"] != parameters["order"] or printed["gflops"] == 0:
            raise InvalidOutput(f"it solved {printed['order']:.0f} equations at {printed['gflops']} GFLOP/s")
        if printed["residual"] > RESIDUAL:
            raise InvalidOutput(f"its scaled residual is {printed['residual']:g}, at most {RESIDUAL:g} is allowed")
        return printed

    def expected_seconds(self, parameters: dict) -> float:
        """At 35 GFLOP/s."""
        return 2 / 3 * parameters["order"] ** 3 / 35e9


WORKLOADS = (Linpack(),)

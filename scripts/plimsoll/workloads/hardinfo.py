"""The six benchmarks of HardInfo that li2018 uses (table 2), without a display."""

import math
from collections.abc import Mapping

from plimsoll.workloads.base import InvalidOutput, Microservice, Room

PROGRAM = "/usr/bin/hardinfo"
# All modules have to be loaded for the one that is wanted. The short form has more digits than the others, and tells nothing of
# the machine.
OPTIONS = ("-a", "-m", "benchmark.so", "-g", "short", "-b")
# What a line of it has: the result, the seconds that it took, and the number of threads.
FIELDS = 3


class HardInfo(Microservice):
    """One benchmark; HardInfo calls it `title`. The number of its threads follows from the processors that it sees. `seconds`
    is about how long it takes."""

    resources, stage = ("processor",), "hardinfo"
    software = "HardInfo"

    def __init__(self, name: str, title: str, short: str, seconds: float):
        self.name, self.title, self.short, self.seconds = name, title, short, seconds
        self.label = f"HardInfo {title}"

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        """None: what it does is fixed in the program."""
        return {}

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        return [PROGRAM, *OPTIONS, self.title]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """`result`, in HardInfo's unit, and `threads`."""
        rows = [line.split(";") for line in text.splitlines() if line.count(";") == FIELDS - 1]
        try:
            ((result, _, threads),) = rows
            found = {"result": float(result), "threads": float(threads)}
        except ValueError:
            raise InvalidOutput("it printed no result") from None
        if not all(math.isfinite(value) and value > 0 for value in found.values()):
            raise InvalidOutput(f"it printed the result {found['result']:g} of {found['threads']:g} threads")
        return found

    def expected_seconds(self, parameters: dict) -> float:
        return self.seconds


WORKLOADS = (
    HardInfo("cpu_blowfish", "CPU Blowfish", "Bf", 1.8),
    HardInfo("cpu_cryptohash", "CPU CryptoHash", "Ch", 0.5),
    HardInfo("cpu_fibonacci", "CPU Fibonacci", "Fi", 0.5),
    HardInfo("cpu_nqueens", "CPU N-Queens", "Nq", 2.8),
    HardInfo("fpu_fft", "FPU FFT", "Ff", 1.4),
    HardInfo("fpu_raytracing", "FPU Raytracing", "Rt", 2.2),
)

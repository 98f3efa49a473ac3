"""The six benchmarks of HardInfo that li2018 uses (table 2), run without a display."""

from collections.abc import Mapping

from plimsoll.workloads import program_output
from plimsoll.workloads.base import InvalidOutput, Microservice, Room

PROGRAM = "/usr/bin/hardinfo"
# All modules have to be loaded to run one benchmark. The short form has more digits than the others, and says nothing
# about the machine.
OPTIONS = ("-a", "-m", "benchmark.so", "-g", "short", "-b")
# Form of the line that it prints: the result, the seconds that it took, and the number of threads.
NUMBER = program_output.fixed_point(6)
PRINTED = f"(?P<result>{NUMBER}); (?P<seconds>{NUMBER}); (?P<threads>{program_output.INTEGER})\n"
# Upper limit for a plausible result: no processor reaches it.
MOST = 1e9


class HardInfo(Microservice):
    """One benchmark, which HardInfo calls `title`. It takes about `seconds`.

    The number of its threads follows from the processors that it sees.
    """

    resources, stage = ("processor",), "hardinfo"
    software = "HardInfo"

    def __init__(self, name: str, title: str, short: str, seconds: float):
        self.name, self.title, self.short, self.seconds = name, title, short, seconds
        self.label = f"HardInfo {title}"

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        """Return no parameters: the problem is fixed in the program."""
        return {}

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        return [PROGRAM, *OPTIONS, self.title]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """Return `result`, in HardInfo's unit, and `threads`."""
        found = program_output.numbers(PRINTED, text)
        if not 0 < found["result"] < MOST or 0 in found.values():
            raise InvalidOutput(f"it printed the result {found['result']:g} of {found['threads']:g} threads")
        return {name: found[name] for name in ("result", "threads")}

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

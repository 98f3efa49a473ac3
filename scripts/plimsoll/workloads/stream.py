"""STREAM by McCalpin's rules (containers/microservices/stream.c)."""

import math
from collections.abc import Mapping

from plimsoll.workloads import program_output
from plimsoll.workloads.base import FOLDER, InvalidOutput, Microservice, Room

KERNELS = ("copy", "scale", "add", "triad")
# Words that each kernel moves per element.
WORDS = dict(zip(KERNELS, (2, 2, 3, 3), strict=True))
ARRAYS = 3
WORD = 8
# McCalpin's limit for the mean relative error of doubles.
ERROR = 1e-13
# One thread in every case, as it seems to have been in the papers. Beside Bonnie++, which leaves the second core idle
# most of the time, their STREAM gained 0.7 % (jha2018, table IV). Two STREAMs on a core each moved 1.67 times as much
# as one.
THREADS = 1
# Upper limit for a plausible result (GB/s): no memory is as fast.
FASTEST = 1e5
PRINTED = program_output.named_numbers(
    **dict.fromkeys(("elements", "times", "threads"), program_output.INTEGER),
    error=program_output.GENERAL,
    **dict.fromkeys(KERNELS, program_output.fixed_point(6)),
)


def words(cache_multiple: float, cache_bytes: int) -> float:
    """Return the number of elements of an array that is `cache_multiple` times the last-level caches (the STREAM
    author's rule). It applies wherever STREAM runs."""
    return cache_multiple * cache_bytes / WORD


class Stream(Microservice):
    """Memory bandwidth of four kernels. Each is the best of its repetitions, without the first."""

    name, label, short, resources, stage = "stream", "STREAM", "S", ("memory",), "stream"
    software = "STREAM"

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        """Return the profile's number of elements, raised until an array is `cache_multiple` times the last-level caches."""
        elements = max(sizes["elements"], math.ceil(words(sizes["cache_multiple"], room.cache_bytes)))
        return {"elements": elements, "times": sizes["times"], "threads": THREADS}

    def memory_bytes(self, parameters: dict) -> int:
        return ARRAYS * WORD * parameters["elements"] + 2**23

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        return [f"{FOLDER}/stream", *(str(parameters[name]) for name in ("elements", "times", "threads"))]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """Return the bandwidth in GB/s by kernel. Raise InvalidOutput if an array has wrong contents."""
        found = program_output.numbers(PRINTED, text)
        rates = [found[kernel] for kernel in KERNELS]
        if found["elements"] != parameters["elements"] or found["times"] != parameters["times"] or min(rates) == 0:
            raise InvalidOutput("it did not run all its kernels over all elements, as often as it should")
        if max(rates) > FASTEST:
            raise InvalidOutput(f"it printed {max(rates):g} GB/s")
        if found["threads"] != parameters["threads"]:
            raise InvalidOutput(f"it ran {found['threads']:.0f} threads, not {parameters['threads']}")
        if found["error"] > ERROR:
            raise InvalidOutput(f"its arrays are wrong by {found['error']:g} on average, at most {ERROR:g} is allowed")
        return found

    def took(self, values: dict[str, float], parameters: dict) -> float:
        """Return the time of all repetitions if each took as long as the best one."""
        best = sum(WORDS[kernel] * WORD * parameters["elements"] / values[kernel] for kernel in KERNELS) / 1e9
        return parameters["times"] * best

    def expected_seconds(self, parameters: dict) -> float:
        """Return the time for ten words per element and repetition, at 25 GB/s."""
        return 80 * parameters["elements"] * (parameters["times"] + 1) / 25e9


WORKLOADS = (Stream(),)

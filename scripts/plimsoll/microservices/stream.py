"""STREAM by McCalpin's rules (containers/microservices/stream.c)."""

import math

from plimsoll.benchmarks.base import InvalidOutput
from plimsoll.microservices.base import FOLDER, Microservice, Room, numbers

KERNELS = ("copy", "scale", "add", "triad")
# McCalpin's limit for the mean relative error of doubles.
ERROR = 1e-13


class Stream(Microservice):
    """Memory bandwidth of four kernels, each the best of its repetitions but the first."""

    name, label, short, resources, stage = "stream", "STREAM", "S", ("memory",), "stream"

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        """The profile's elements, raised until an array is `cache_multiple` times the last-level caches."""
        elements = max(sizes["elements"], math.ceil(sizes["cache_multiple"] * room.cache_bytes / 8))
        return {"elements": elements, "times": sizes["times"]}

    def memory_bytes(self, parameters: dict) -> int:
        """Three arrays, and a little for the program."""
        return 3 * 8 * parameters["elements"] + 2**23

    def command(self, parameters: dict, number: int, server: str) -> list[str]:
        """stream ELEMENTS NTIMES."""
        return [f"{FOLDER}/stream", str(parameters["elements"]), str(parameters["times"])]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """Bandwidth in GB/s by kernel, of arrays with the right contents."""
        found = numbers(text, "elements", "times", "threads", "error", *KERNELS)
        if found["elements"] != parameters["elements"] or min(found[kernel] for kernel in KERNELS) == 0:
            raise InvalidOutput("it did not run all its kernels over all elements")
        if found["error"] > ERROR:
            raise InvalidOutput(f"its arrays are wrong by {found['error']:g} on average, at most {ERROR:g} is allowed")
        return found

    def expected_seconds(self, parameters: dict) -> float:
        """Ten words an element and repetition, at 25 GB/s."""
        return 80 * parameters["elements"] * (parameters["times"] + 1) / 25e9


MICROSERVICES = (Stream(),)

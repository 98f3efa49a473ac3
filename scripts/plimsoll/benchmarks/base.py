"""What the workflow asks of a benchmark."""

from abc import ABC, abstractmethod
from pathlib import Path


class InvalidOutput(Exception):
    """The benchmark's output is truncated, or its own checks failed; the text is the reason."""


class Benchmark(ABC):
    """A program that runs as MPI ranks in a working directory of its own.

    `name` is what a study calls it, `sections` what it can measure in one run, `program` its path in the image.
    """

    name: str
    program: str
    sections: tuple[str, ...]

    @abstractmethod
    def parameters(self, section: str, profile: dict, sizes: str, ranks: int, memory_bytes: int, cache_bytes: int) -> dict:
        """Problem size of a section: plain values, the same for every deployment of as many ranks.

        `sizes` names one of the profile's sets of sizes, `memory_bytes` is the memory that a run may use, `cache_bytes` the sum
        of the last-level caches.
        """

    @abstractmethod
    def of_one_rank(self, parameters: dict, ranks: int) -> dict:
        """The problem of a single rank that is as large as one rank's part of the problem of so many ranks."""

    @abstractmethod
    def region(self, parameters: dict) -> str:
        """What the program calls the part of itself that is measured, where it announces that part by MPI_Pcontrol."""

    @abstractmethod
    def expected_seconds(self, parameters: dict, ranks: int, cores: int) -> float:
        """About how long a run takes where ranks share memory: for a plan's estimate, not for a limit."""

    @abstractmethod
    def prepare(self, folder: Path, parameters: dict) -> None:
        """Write the input files into an empty working directory."""

    @abstractmethod
    def results(self, folder: Path, parameters: dict) -> dict[str, float]:
        """Values that the benchmark printed, by the name it gives them; InvalidOutput unless its own checks passed."""

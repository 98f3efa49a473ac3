"""What the workflow asks of a workload: a program that runs as MPI ranks, or a microservice that runs over and over."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

FOLDER = "/opt/plimsoll/bin"
# Where a container sees the folders of programs that the user has supplied (plimsoll.images.supplied).
SUPPLIED = "/opt/plimsoll/supplied"


class InvalidOutput(Exception):
    """A program's output is truncated, or its own checks failed; the text is the reason."""


class Role(NamedTuple):
    """A node that a workload needs beside the one that it is measured in: a server, say. `command` stays up in a container of
    the image's `stage`, and is ready when it listens on the TCP `port`. Workloads with the same role share its node."""

    name: str
    stage: str
    command: tuple[str, ...]
    port: int


class Workload(ABC):
    """A program that is measured. `name` is what a study calls it, `software` what the `versions` of an image call it,
    `in_words` what a workload of its kind is called, `roles` are the nodes with programs of their own that it needs."""

    in_words = "workload"
    name: str
    software: str
    roles: tuple[Role, ...] = ()


# The seconds at which each piece of work began and ended, by rank.
Work = Sequence[Sequence[tuple[float, float]]]


class Application(Workload):
    """A program that runs as MPI ranks in a working directory of its own.

    `name` is what a study calls it, `sections` what it can measure in one run, `brief` the same from the one that shows soonest
    that ranks reach each other, `program` its path in the image.
    """

    in_words = "MPI application"
    program: str
    sections: tuple[str, ...]
    brief: tuple[str, ...]

    @abstractmethod
    def parameters(self, section: str, profile: dict, sizes: str, ranks: int, memory_bytes: int, cache_bytes: int) -> dict:
        """Problem size of a section: plain values, the same for every deployment of as many ranks.

        `sizes` names one of the profile's sets of sizes, `memory_bytes` is the memory that a run may use, `cache_bytes` the sum
        of the last-level caches.
        """

    @abstractmethod
    def of_one_rank(self, parameters: dict, ranks: int) -> dict:
        """The problem of a single rank, as large as one rank's part of the problem of `ranks` ranks."""

    @abstractmethod
    def smallest(self, parameters: dict) -> dict:
        """The same with a problem that takes next to no time, at most as large."""

    @abstractmethod
    def short(self, section: str, profile: dict, sizes: str, memory_bytes: int, cache_bytes: int) -> str:
        """Return why a section's problem is smaller than the profile asks for, in words; empty if it is not."""

    @abstractmethod
    def memory_bytes(self, parameters: dict) -> int:
        """Return the memory that the problem of all ranks takes."""

    @abstractmethod
    def region(self, parameters: dict) -> str:
        """What the program calls the part of itself that is measured, where it announces that part by MPI_Pcontrol."""

    @abstractmethod
    def expected_seconds(self, parameters: dict, ranks: int, cores: int) -> float:
        """About how long a section takes where ranks share memory: for a plan's estimate, not for a limit."""

    @abstractmethod
    def starting_seconds(self, ranks: int) -> float:
        """About how long a launch takes beside its sections, with what it runs in: for a plan's estimate."""

    @abstractmethod
    def prepare(self, folder: Path, parameters: dict) -> None:
        """Write the input files into an empty working directory."""

    @abstractmethod
    def results(self, folder: Path, parameters: dict) -> dict[str, float]:
        """Values that the benchmark printed, by the name it gives them; InvalidOutput unless its own checks passed."""

    def rates(self, parameters: dict, values: dict[str, float], work: Work) -> dict[str, float]:
        """Return rates of work that ranks do side by side.

        `values` are what `results` gave. InvalidOutput if the pieces are not those of a whole run.
        """
        return {}


class Room(NamedTuple):
    """What a microservice's problem is sized by, in bytes: the memory of a container with limits, that of all containers
    together, and the sum of the last-level caches."""

    container_bytes: int
    all_bytes: int
    cache_bytes: int


class Microservice(Workload):
    """`label` is its name for people, `short` the papers' letter, `resources` what it wants most, `stage` its image of
    containers/microservices/Dockerfile; `supplied` says that the user may supply its program (plimsoll.images.supplied)."""

    in_words = "microservice"
    label: str
    short: str
    resources: tuple[str, ...]
    stage: str
    supplied = False

    def stands_for(self, parameters: dict) -> str:
        """The program that it is a substitute for, which pages name wherever they name it; empty if it is no substitute."""
        return ""

    def label_of(self, parameters: dict) -> str:
        """Its name for people, with these parameters."""
        return self.label

    @abstractmethod
    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        """Problem size from the profile's `sizes` of it: plain values, the same in every case. `supplied` is the program that
        the user has for it, if any."""

    def memory_bytes(self, parameters: dict) -> int:
        """Memory that one of it needs."""
        return 0

    def disk_bytes(self, parameters: dict) -> int:
        """Disk that one of it fills at most."""
        return 0

    def flushed_bytes(self, parameters: dict) -> int:
        """What one iteration writes and flushes to the disk before it ends, at least."""
        return 0

    @abstractmethod
    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        """One iteration: program in the image, and arguments. `number` tells the members of a container apart, `hosts` gives
        the host name of each role's node."""

    def bound(self, command: list[str], client: int, server: int) -> list[str]:
        """The command of an iteration, with it and its server bound to a processor each: of microservices with roles only."""
        raise NotImplementedError

    @abstractmethod
    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """Values of one iteration's output; InvalidOutput unless it is complete and its own checks passed."""

    def kernels(self, text: str) -> dict[str, str]:
        """Return the kernels that each library chose for the processor, by an iteration's output."""
        return {}

    def took(self, values: dict[str, float], parameters: dict) -> float:
        """Seconds that an iteration took at least, by the values that it printed: its process cannot have ended sooner."""
        return 0.0

    def check_use(self, used: dict, parameters: dict) -> None:
        """InvalidOutput if what an iteration used (`read_bytes`, `written_bytes`) cannot be of a right one."""

    @abstractmethod
    def expected_seconds(self, parameters: dict) -> float:
        """About how long an iteration takes alone on one core: for a plan's estimate."""

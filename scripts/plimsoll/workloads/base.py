"""Interface of a workload: a program that runs as MPI ranks, or a microservice that runs over and over."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

FOLDER = "/opt/plimsoll/bin"
# Where containers mount the folders of programs that the user has supplied (plimsoll.images.supplied_programs).
SUPPLIED = "/opt/plimsoll/supplied"


class InvalidOutput(Exception):
    """A program's output is incomplete, or its own checks failed. The text is the reason."""


class Role(NamedTuple):
    """A node that a workload needs besides the one that it is measured in, such as a server.

    `command` keeps running in a container of the image's `stage`. The node is ready when the command listens on the TCP
    `port`. Workloads with the same role share its node.
    """

    name: str
    stage: str
    command: tuple[str, ...]
    port: int


class Workload(ABC):
    """A program that is measured.

    `name` is its name in a study, `software` its name in the `versions` of an image, `in_words` the name of its kind.
    `roles` are the nodes with programs of their own that it needs.
    """

    in_words = "workload"
    name: str
    software: str
    roles: tuple[Role, ...] = ()


# (begin, end) of each piece of work in seconds, by rank.
Work = Sequence[Sequence[tuple[float, float]]]


class Application(Workload):
    """A program that runs as MPI ranks in a working directory of its own.

    `name` is its name in a study and `program` its path in the image. `sections` are what it can measure, one per run.
    `brief` has the same sections, first those that show soonest that ranks reach each other.
    """

    in_words = "MPI application"
    program: str
    sections: tuple[str, ...]
    brief: tuple[str, ...]

    @abstractmethod
    def parameters(self, section: str, profile: dict, sizes: str, ranks: int, memory_bytes: int, cache_bytes: int) -> dict:
        """Return the problem size of a section as plain values, the same for every deployment of this number of ranks.

        `sizes` names one of the profile's sets of sizes, `memory_bytes` is the memory that a run may use, `cache_bytes`
        the sum of the last-level caches.
        """

    @abstractmethod
    def of_one_rank(self, parameters: dict, ranks: int) -> dict:
        """Return the parameters of a problem for one rank, as large as one rank's part of the problem of `ranks` ranks."""

    @abstractmethod
    def smallest(self, parameters: dict) -> dict:
        """Return the parameters of a problem that takes next to no time, and is at most as large."""

    @abstractmethod
    def short(self, section: str, profile: dict, sizes: str, memory_bytes: int, cache_bytes: int) -> str:
        """Return why a section's problem is smaller than the profile requests, in words; empty if it is not."""

    @abstractmethod
    def memory_bytes(self, parameters: dict) -> int:
        """Return the memory that the problem of all ranks takes."""

    @abstractmethod
    def region(self, parameters: dict) -> str:
        """Return the program's name for the part of itself that is measured, as it announces that part by MPI_Pcontrol."""

    @abstractmethod
    def expected_seconds(self, parameters: dict, ranks: int, cores: int) -> float:
        """Return about how long a section takes where ranks share memory: for a plan's estimate, not for a limit."""

    @abstractmethod
    def starting_seconds(self, ranks: int) -> float:
        """Return about how long a launch takes besides its sections, containers included: for a plan's estimate."""

    @abstractmethod
    def prepare(self, folder: Path, parameters: dict) -> None:
        """Write the input files into an empty working directory."""

    @abstractmethod
    def results(self, folder: Path, parameters: dict) -> dict[str, float]:
        """Return the values that the benchmark printed, by the benchmark's own names.

        Raise InvalidOutput if its own checks did not pass.
        """

    def rates(self, parameters: dict, values: dict[str, float], work: Work) -> dict[str, float]:
        """Return rates of work that all ranks do at the same time, by name.

        `values` are the result of `results`. Raise InvalidOutput if the pieces of `work` are not those of a whole run.
        """
        return {}


class Room(NamedTuple):
    """Amounts that a microservice's problem size follows from, in bytes.

    They are the memory of a container with limits, the memory of all containers together, and the sum of the last-level
    caches.
    """

    container_bytes: int
    all_bytes: int
    cache_bytes: int


class Microservice(Workload):
    """A small program that runs over and over in a container.

    `label` is its name for people, `short` its letter in the papers, `resources` what it uses most, `stage` its image
    in containers/microservices/Dockerfile. `supplied` says that the user may supply its program
    (plimsoll.images.supplied_programs).
    """

    in_words = "microservice"
    label: str
    short: str
    resources: tuple[str, ...]
    stage: str
    supplied = False

    def stands_for(self, parameters: dict) -> str:
        """Return the name of the program that this one is a substitute for; empty if it is no substitute. Pages show it."""
        return ""

    def label_of(self, parameters: dict) -> str:
        """Return its name for people, with these parameters."""
        return self.label

    @abstractmethod
    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        """Return the problem size as plain values, from the profile's `sizes` for this microservice. It is the same in
        every case.

        `supplied` is the program that the user has supplied for it, if any.
        """

    def memory_bytes(self, parameters: dict) -> int:
        """Return the memory that one instance needs."""
        return 0

    def disk_bytes(self, parameters: dict) -> int:
        """Return the most disk space that one instance fills."""
        return 0

    def flushed_bytes(self, parameters: dict) -> int:
        """Return the least number of bytes that one iteration writes and flushes to the disk before it ends."""
        return 0

    @abstractmethod
    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        """Return the command of one iteration: the program's path in the image, and its arguments.

        `number` distinguishes the instances in one container, `hosts` gives the host name of each role's node.
        """

    def bound(self, command: list[str], client: int, server: int) -> list[str]:
        """Return an iteration's command that binds the client and its server to one processor each.

        Only microservices with roles have it.
        """
        raise NotImplementedError

    @abstractmethod
    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """Return the values in one iteration's output.

        Raise InvalidOutput if it is incomplete or the program's own checks did not pass.
        """

    def kernels(self, text: str) -> dict[str, str]:
        """Return the kernels that each library chose for the processor, from an iteration's output."""
        return {}

    def took(self, values: dict[str, float], parameters: dict) -> float:
        """Return the least time that an iteration took, in seconds, by the values that it printed.

        Its process cannot have ended sooner.
        """
        return 0.0

    def check_use(self, used: dict, parameters: dict) -> None:
        """Raise InvalidOutput if an iteration's use of the disk (`read_bytes`, `written_bytes`) cannot be that of a
        correct one."""

    @abstractmethod
    def expected_seconds(self, parameters: dict) -> float:
        """Return about how long an iteration takes alone on one core, in seconds: for a plan's estimate."""

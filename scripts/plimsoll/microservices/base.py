"""What the workflow asks of a microservice."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from plimsoll.benchmarks.base import InvalidOutput

FOLDER = "/opt/plimsoll/bin"


@dataclass(frozen=True)
class Room:
    """What a microservice's problem is sized by, in bytes: the memory of a container with limits, that of all containers
    together, and the sum of the last-level caches."""

    container_bytes: int
    all_bytes: int
    cache_bytes: int


class Microservice(ABC):
    """`label` is its name for people, `short` the papers' letter, `resources` what it wants most, `stage` its image of
    containers/microservices/Dockerfile; `server` is the command of a container that it needs beside its own, if any;
    `supplied` says that the user may supply its program (plimsoll.programs)."""

    name: str
    label: str
    short: str
    resources: tuple[str, ...]
    stage: str
    server: tuple[str, ...] = ()
    supplied = False

    def stands_for(self, parameters: dict) -> str:
        """What it is a substitute of, which is said wherever its name is; empty if it is itself."""
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
    def command(self, parameters: dict, number: int, server: str) -> list[str]:
        """One iteration: program in the image, and arguments. `number` tells the members of a container apart, `server` is
        the name of the server's container."""

    @abstractmethod
    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """Values of one iteration's output; InvalidOutput unless it is complete and its own checks passed."""

    def check_use(self, used: dict, parameters: dict) -> None:  # noqa: B027 - most have nothing to check
        """InvalidOutput if what an iteration used (`read_bytes`, `written_bytes`) cannot be of a right one."""

    @abstractmethod
    def expected_seconds(self, parameters: dict) -> float:
        """About how long an iteration takes alone on one core: for a plan's estimate."""


def numbers(text: str, *names: str) -> dict[str, float]:
    """Values of lines `name=value`; InvalidOutput if one of the names is missing, or no positive number."""
    found = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and name in names:
            try:
                found[name] = float(value)
            except ValueError:
                raise InvalidOutput(f"it printed {line!r}") from None
    for name in names:
        if not (found.get(name, -1) >= 0 and math.isfinite(found[name])):
            raise InvalidOutput(f"it printed {name}={found.get(name)}")
    return found

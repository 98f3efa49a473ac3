"""What `plimsoll doctor` reads of the machine, once. Every finding is made from it."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import psutil

from plimsoll import designs
from plimsoll.config import configuration, studies
from plimsoll.host import cgroup, inventory, slowdowns, system
from plimsoll.host.topology import read
from plimsoll.interchange import Topology
from plimsoll.measuring import noise
from plimsoll.terminal import listing, machine

SECONDS = 1.0


class Window(NamedTuple):
    """What happened while nothing of ours ran: `during` (noise.neighbours), the busiest processes in words, and all
    memory of the machine in bytes before and after."""

    during: dict
    busiest: str
    memory: tuple[int, int]

    def disturbs(self, seconds: float, processors: int) -> bool:
        """Return whether so many seconds of processor time would disturb a run in this window, as runs are judged."""
        threshold = self.during["threshold"]
        return seconds > threshold["seconds"] and seconds / (self.during["seconds"] * processors) > threshold["share"]


class Readings(NamedTuple):
    """All that is known of the machine.

    `host` is what plans are made from, and `facts` are its settings. `throttled` has the seconds since boot in which a
    quota or heat kept processors from this process, by cause. `clock` is the clock source. `swap` has the bytes of swap
    space in use and in all. `available` is the memory that programs can still take (bytes). Results are kept below
    the `folder`.
    """

    host: Topology
    facts: Mapping[str, str]
    clock: str
    cgroup: str
    throttled: Mapping[str, float]
    swap: tuple[int, int]
    available: int
    window: Window
    runtimes: Mapping[str, listing.Runtime]
    folder: Path


def look(settings: list[str], folder: Path, seconds: float = SECONDS) -> Readings:
    """Return what is seen of this machine. It takes some `seconds` and one more.

    `settings` are those of the configuration. Results are kept below the `folder`.
    """
    config, mounted = configuration.read(settings), cgroup.mounts()
    chosen = [studies.load(name, designs.known()) for name in studies.select(config["studies"])]
    wishes = studies.wishes_of_all(chosen, config["runtimes"])
    swap = psutil.swap_memory()
    limits = studies.profile(config["profile"])["neighbours"]
    return Readings(
        inventory.here(),
        system.facts(),
        clock(),
        cgroup.version(mounted),
        slowdowns.throttled_seconds([], mounted),
        (swap.used, swap.total),
        psutil.virtual_memory().available,
        watch(limits, seconds),
        machine.look(wishes),
        folder,
    )


def clock(sysfs: Path = Path("/sys")) -> str:
    """Return the kernel's clock source."""
    return read(sysfs / "devices/system/clocksource/clocksource0/current_clocksource", system.NOT_READABLE)


def watch(limits: Mapping[str, float], seconds: float) -> Window:
    """Return what the machine does in a window in which this process sleeps.

    `limits` are the shares and seconds from which neighbours disturb a run (a profile's `neighbours`).
    """
    counters = noise.Machine()
    memory, before = psutil.virtual_memory().total, noise.snapshot(counters, None, [], ())
    busiest = noise.busiest(seconds)
    after = noise.snapshot(counters, None, [], ())
    during = noise.neighbours([(before, after)], counters.processors, limits["share"], limits["seconds"], apart=True)
    return Window(during, busiest, (memory, psutil.virtual_memory().total))

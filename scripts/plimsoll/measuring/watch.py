"""What is looked at now and then while a run is measured: whether it fills a disk, and whether somebody stops its programs."""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll.host import cgroup, processes
from plimsoll.host.disk import Room

# The looks at processes take no more than this share of one processor's time, unless there are so many processes that the next
# look would come later than this (s): a look takes 30 to 50 µs for each.
SHARE, LONGEST = 0.001, 2.0
# A process that wakes so much later than it should was stopped, or this host was (s).
LATE = 1.0


class Stops:
    """Programs of a run that somebody stops and lets go on. A stopped program uses no processor, and nothing tells it later
    from a slow one."""

    def __init__(self, mounted: dict[str, Path]):
        self._mounted = mounted
        self._groups: list[Path] = []
        self._account: Path | None = None
        self._next = 0.0
        # (moment of CLOCK_MONOTONIC, in words what happened)
        self._seen: list[tuple[float, str]] = []

    def of(self, groups: list[Path], account: Path | None) -> None:
        """From now on the run's programs are those of the containers' cgroups, and those of the group that counts this process
        and its children; where there is none, what this process has started."""
        if (groups, account) != (self._groups, self._account):
            self._groups, self._account, self._next = groups, account, 0.0

    def look(self) -> None:
        """Note what is stopped now, unless the last look is too short a time ago for what a look takes."""
        if (now := time.monotonic()) < self._next:
            return
        begun = time.thread_time()
        self._seen += [(now, what) for what in self._stopped()]
        self._next = now + min(LONGEST, (time.thread_time() - begun) / SHARE)

    def woken(self, due: float) -> None:
        """Note if this process was to wake at a moment of CLOCK_MONOTONIC and did not: it was stopped itself, and could not
        look."""
        if (late := time.monotonic() - due) > LATE:
            self._seen.append((time.monotonic(), f"the measuring process did not run for {late:.1f} s"))

    def within(self, spans: Iterable[tuple[float, float]]) -> list[str]:
        """In words, what happened within one of these spans (moments of CLOCK_MONOTONIC)."""
        spans = list(spans)
        return sorted({what for when, what in self._seen if any(first <= when <= last for first, last in spans)})

    def _stopped(self) -> Iterator[str]:
        members = cgroup.members(self._groups)
        members |= cgroup.members([self._account]) if self._account else processes.descendants(os.getpid())
        for number in sorted(processes.stopped(members)):
            yield f"{processes.name(number)} (process {number}) was stopped"
        for group in cgroup.frozen(self._groups, self._mounted):
            # As engines name the groups that they have a service manager make.
            name = group.name.removeprefix("docker-").removeprefix("libpod-")
            yield f"a container (cgroup {name[:12]}) was paused"


class Watch:
    """What a run may not fill (`room`), and what may not be done to it (`stops`)."""

    def __init__(self, room: Room, stops: Stops):
        self.room, self.stops = room, stops

    def look(self) -> None:
        """Look at both. Unavailable if a disk is about to be full."""
        self.stops.look()
        self.room.refuse_filling()

    def sleep(self, seconds: float) -> None:
        """Sleep, and note if that took much longer."""
        due = time.monotonic() + seconds
        time.sleep(seconds)
        self.stops.woken(due)

"""What is looked at now and then while a run is measured: whether it fills a disk, and whether its programs are stopped."""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll.host import cgroup, freezer, processes
from plimsoll.host.disk import Room

# The looks at processes take at most SHARE of one processor's time. A look takes 30 to 50 µs for each process. With
# very many processes the share is larger, because the next look comes at the latest after LONGEST (s).
SHARE, LONGEST = 0.001, 2.0
# A process that wakes this much later than it should was stopped, or this host was (s).
LATE = 1.0


class Stops:
    """Programs of a run that were stopped and continued.

    A stopped program uses no processor. Later nothing tells it from a slow one, so stops are noted while they last.
    """

    def __init__(self, mounted: dict[str, Path]):
        self._mounted = mounted
        self._groups: list[Path] = []
        self._account: Path | None = None
        self._next = 0.0
        # (moment of CLOCK_MONOTONIC, what happened in words)
        self._seen: list[tuple[float, str]] = []

    def of(self, groups: list[Path], account: Path | None) -> None:
        """Set the run's programs: those in the containers' cgroups, and those in the cgroup that counts this process
        and its children.

        If `account` is None, all that this process has started takes the place of the latter.
        """
        if (groups, account) != (self._groups, self._account):
            self._groups, self._account, self._next = groups, account, 0.0

    def look(self) -> None:
        """Note what is stopped now. Do nothing if the last look was so recent that looks would take more than SHARE of
        a processor."""
        if (now := time.monotonic()) < self._next:
            return
        begun = time.thread_time()
        self._seen += [(now, what) for what in self._stopped()]
        self._next = now + min(LONGEST, (time.thread_time() - begun) / SHARE)

    def woken(self, due: float) -> None:
        """Note if this process woke more than LATE after the moment `due` of CLOCK_MONOTONIC.

        It was stopped itself then, and could not look.
        """
        if (late := time.monotonic() - due) > LATE:
            self._seen.append((time.monotonic(), f"the measuring process did not run for {late:.1f} s"))

    def within(self, spans: Iterable[tuple[float, float]]) -> list[str]:
        """Return in words what happened within one of these spans (moments of CLOCK_MONOTONIC)."""
        spans = list(spans)
        return sorted({what for when, what in self._seen if any(first <= when <= last for first, last in spans)})

    def _stopped(self) -> Iterator[str]:
        members = cgroup.members(self._groups)
        members |= cgroup.members([self._account]) if self._account else processes.descendants(os.getpid())
        for number in sorted(processes.stopped_pids(members)):
            yield f"{processes.name(number)} (process {number}) was stopped"
        for group in freezer.frozen(self._groups, self._mounted):
            # Engines give these prefixes to the groups that a service manager makes for them.
            name = group.name.removeprefix("docker-").removeprefix("libpod-")
            yield f"a container (cgroup {name[:12]}) was paused"


class Watch:
    """Disks that a run must not fill (`room`), and stops of its programs (`stops`)."""

    def __init__(self, room: Room, stops: Stops):
        self.room, self.stops = room, stops

    def look(self) -> None:
        """Look at the disks and the programs. Raise Unavailable if a disk is about to be full."""
        self.stops.look()
        self.room.refuse_filling()

    def sleep(self, seconds: float) -> None:
        """Sleep, and note if that took much longer."""
        due = time.monotonic() + seconds
        time.sleep(seconds)
        self.stops.woken(due)

"""Snapshots of the machine in which the time of what an engine starts is the run's own, however soon that ends."""

import contextlib
from collections.abc import Callable, Iterator

from plimsoll.host import cgroup, processes
from plimsoll.measuring import noise
from plimsoll.measuring.attempt import Attempt
from plimsoll.services.kept import Services

# What starts containers, and what starts what starts them.
ENGINE = ("dockerd", "containerd")


@contextlib.contextmanager
def snapshots(attempt: Attempt, services: Services) -> Iterator[Callable[[], noise.Snapshot]]:
    """What takes snapshots. What the engine starts for a container, or for a program in it, has often ended before anybody
    looks, so groups count the engine meanwhile. The containers' own groups are taken in the same hierarchy: no process is in
    two of these."""
    mounted = cgroup.mounts()
    with cgroup.counting(processes.named(ENGINE), mounted) as engine:

        def snapshot() -> noise.Snapshot:
            programs = contained = services.groups()
            if engine:
                moved = (cgroup.moved(group, mounted, mounted["unified"]) for group in contained)
                contained = [*engine, *filter(None, moved)]
            daemons = () if engine else services.environment.daemons
            # The engine may share its group with somebody else's programs.
            return attempt.snapshot(contained, daemons, programs=programs)

        yield snapshot

"""Snapshots of the machine that count the processor time of everything an engine starts for a run, however soon that ends."""

import contextlib
from collections.abc import Callable, Iterator

from plimsoll.host import cgroup, processes
from plimsoll.measuring import noise
from plimsoll.measuring.attempt import Attempt
from plimsoll.services.containers import Services

# The processes that start containers, directly or through another process.
ENGINE = ("dockerd", "containerd")


@contextlib.contextmanager
def snapshots(attempt: Attempt, services: Services) -> Iterator[Callable[[], noise.Snapshot]]:
    """Yield a function that takes snapshots of the machine during a run.

    What the engine starts for a container, or for a program in it, often ends before a snapshot sees it. So cgroups
    count the engine's time in the meantime. The containers' own groups are taken in the same hierarchy, where no
    process is in two groups.
    """
    mounted = cgroup.mounts()
    with cgroup.counting(processes.pids_by_name(ENGINE), mounted) as engine:

        def snapshot() -> noise.Snapshot:
            programs = contained = services.groups()
            if engine:
                moved = (cgroup.counterpart(group, mounted, mounted["unified"]) for group in contained)
                contained = [*engine, *filter(None, moved)]
            daemons = () if engine else services.runtime.daemons
            # The engine may share its group with other users' programs, so only the containers' own groups are watched
            # for stopped programs.
            return attempt.snapshot(contained, daemons, programs=programs)

        yield snapshot

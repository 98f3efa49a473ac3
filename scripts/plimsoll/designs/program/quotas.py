"""Waits that the quota of a container itself causes. What a container costs includes them, so they disturb no run."""

from collections.abc import Mapping
from pathlib import Path

from plimsoll.host import slowed
from plimsoll.measuring.noise import Snapshot


def apart(before: Snapshot, after: Snapshot, mounted: Mapping[str, Path]) -> tuple[tuple[Snapshot, Snapshot], float]:
    """Return the span without waits for the containers' own quotas, and these waits (s).

    A quota is a container's own if this process, which is on the host, is not under it.
    """
    others = slowed.throttled_seconds((), dict(mounted)).keys()
    own = (before.throttled.keys() & after.throttled.keys()) - others
    waited = sum(max(0.0, after.throttled[group] - before.throttled[group]) for group in own)
    return (_without(own, before), _without(own, after)), waited


def _without(groups: set[str], snapshot: Snapshot) -> Snapshot:
    return snapshot._replace(throttled={group: seconds for group, seconds in snapshot.throttled.items() if group not in groups})

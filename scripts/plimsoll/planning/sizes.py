"""Problem sizes are decided once per study and system: what they follow from is kept in the study's folder while they fit.

The memory of a virtual machine may grow and shrink. Sizes that followed it from start to start would measure everything again.
"""

import contextlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path

from plimsoll import documents
from plimsoll.config import studies
from plimsoll.config.studies import Study
from plimsoll.errors import Damaged, PlimsollError
from plimsoll.host import sizing, topology
from plimsoll.interchange import Plan, Sizes, Topology
from plimsoll.measuring import record, system
from plimsoll.planning import planner, sessions

# In a study's folder.
FILE = "sizes.json"
ANEW = "delete it, and problem sizes are decided again; runs of other sizes are then put aside"
# No problem whose size is kept takes more of a memory node. A profile may ask for 0.8, and memory differs a little from boot to
# boot.
MOST_SHARE = 0.85
# Less growth than this is no news.
GROWN = 1.1
# Bytes that a problem has more room for than it takes, so that a share of its memory is not rounded down below it.
ROUNDED = 8

# From a profile, and what sizes follow from, to the plan of a study.
Make = Callable[[dict, Sizes], Plan]


def of(results: Path, study: Study, profile: dict, host: Topology, make: Make) -> Sizes:
    """Return what a study's sizes follow from on a host: what was noted in `results`, as far as the sizes still fit.

    Damaged if the note is.
    """
    seen = sizing.seen(host)
    noted = next(filter(None, (_noted(folder, study, seen, make) for folder in _folders(results, study["id"]))), None)
    if not noted or not topology.is_identity(noted["host"], host):
        return seen
    share = study.design.cells.memory_share(profile)
    fitting = noted if share * noted["node_bytes"] <= MOST_SHARE * seen["node_bytes"] else seen
    cluster = {name: noted["cluster_bytes"].get(name, memory) for name, memory in seen["cluster_bytes"].items()}
    return {**noted, "node_bytes": fitting["node_bytes"], "cluster_bytes": cluster}


def _folders(results: Path, study: str) -> Iterator[Path]:
    """The study's folder, and then its earlier sessions on this system, the newest first: sessions are put together."""
    yield results / study
    for session in reversed(sessions.of(results, study)[:-1]):
        noted = system.read(session.folder)
        if noted and not system.differences(noted["parts"], system.now([])):
            yield session.folder


def _noted(folder: Path, study: Study, seen: Sizes, make: Make) -> Sizes | None:
    if (folder / FILE).exists():
        return _read(folder / FILE)
    try:
        plan = documents.of(folder / "plan.json", Plan)
    except documents.Misfit:
        return None
    if "sizes" in plan:
        # A user has deleted the file: the sizes are decided again, and the host is the same.
        return {**seen, "host": plan["sizes"]["host"]}
    return _of_earlier_version(plan, study, seen, make)


def _read(path: Path) -> Sizes:
    found = documents.read(path, Sizes, ANEW)
    if found["node_bytes"] <= 0 or found["cache_bytes"] < 0:
        raise Damaged(f"{path} is damaged (memory of no bytes): {ANEW}.")
    return found


def _of_earlier_version(plan: Plan, study: Study, seen: Sizes, make: Make) -> Sizes:
    """What the sizes of a plan follow from that does not say so."""
    known: Sizes = {**seen, "host": next((cell["host"] for cell in plan["cells"].values()), seen["host"])}
    # A profile that is no longer there, or a plan that says less than today's.
    with contextlib.suppress(PlimsollError, KeyError, TypeError):
        profile = studies.profile(plan["profile"])
        share = study.design.cells.memory_share(profile)
        if share and planner.other_sizes(plan, make(profile, known)):
            # With the least memory that its largest problem fits into, all problems are what they were.
            return {**known, "node_bytes": math.ceil((study.design.cells.problem_bytes(plan) + ROUNDED) / share)}
    return known


def note(folder: Path, plan: Plan, host: Topology) -> list[str]:
    """Write down what a plan's sizes follow from, in its study's folder. Return sentences on sizes that did not fit any more,
    and on those that could be larger now."""
    sizes, there = plan["sizes"], sizing.seen(host)["node_bytes"]
    before = _read(folder / FILE) if (folder / FILE).exists() else sizes
    if before != sizes or not (folder / FILE).exists():
        record.write(folder / FILE, sizes)
    if sizes["node_bytes"] != before["node_bytes"] and sizes["host"] == before["host"]:
        return [
            f"{plan['study']}: problem sizes are decided again, as they no longer fit: the smallest memory node has "
            f"{_gib(there)}, and had {_gib(before['node_bytes'])} when they were decided."
        ]
    short = dict.fromkeys(cell["short"] for cell in plan["cells"].values() if cell.get("short"))
    if not short or there < GROWN * sizes["node_bytes"]:
        return []
    return [
        f"{plan['study']}: {'; '.join(short)}. It has {_gib(there)} now, and the sizes are kept: `rm {folder / FILE}` has them "
        "decided again at the next start, and puts aside what was measured with others."
    ]


def _gib(number: int) -> str:
    return f"{number / 2**30:.1f} GiB"

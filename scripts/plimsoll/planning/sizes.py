"""Decide problem sizes once per study and system, and keep them while they fit.

The facts that sizes follow from are saved in the study's folder. The memory of a virtual machine may grow and shrink:
if sizes followed it from start to start, everything would be measured again.
"""

import contextlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path

from plimsoll import documents
from plimsoll.config import studies
from plimsoll.config.studies import Study
from plimsoll.errors import DamagedFile, PlimsollError
from plimsoll.host import sizing, topology
from plimsoll.interchange import Plan, Sizes, Topology
from plimsoll.measuring import record, system
from plimsoll.planning import planner, sessions

# File in a study's folder.
FILE = "sizes.json"
AGAIN = "delete it, and problem sizes are decided again; runs of other sizes are then put aside"
# A size is kept only if the problem takes at most this share of a memory node. A profile may ask for 0.8, and memory
# differs a little from boot to boot.
MOST_SHARE = 0.85
# Memory that has grown by less than this factor is not reported.
GROWN = 1.1
# Spare bytes beyond a problem's size, so that rounding does not make its share of the memory too small for it.
ROUNDED = 8

# Function from (a profile, what sizes follow from) to the plan of a study.
Make = Callable[[dict, Sizes], Plan]


def of_study(results: Path, study: Study, profile: dict, host: Topology, make: Make) -> Sizes:
    """Return what a study's problem sizes follow from on a host: what was saved in `results`, as far as the sizes still
    fit.

    Raise DamagedFile if the saved file is damaged.
    """
    seen = sizing.present(host)
    noted = next(filter(None, (_noted(folder, study, seen, make) for folder in _folders(results, study["id"]))), None)
    if not noted or not topology.is_identity(noted["host"], host):
        return seen
    share = study.design.cells.memory_share(profile)
    fitting = noted if share * noted["node_bytes"] <= MOST_SHARE * seen["node_bytes"] else seen
    cluster = {name: noted["cluster_bytes"].get(name, memory) for name, memory in seen["cluster_bytes"].items()}
    return {**noted, "node_bytes": fitting["node_bytes"], "cluster_bytes": cluster}


def _folders(results: Path, study: str) -> Iterator[Path]:
    """Yield the study's folder, then its earlier sessions on this system, the newest first.

    Sessions are combined, so they should have the same sizes.
    """
    yield results / study
    for session in reversed(sessions.of_study(results, study)[:-1]):
        noted = system.read(session.folder)
        if noted and not system.differences(noted["parts"], system.now([])):
            yield session.folder


def _noted(folder: Path, study: Study, seen: Sizes, make: Make) -> Sizes | None:
    if (folder / FILE).exists():
        return _read(folder / FILE)
    try:
        plan = documents.load(folder / "plan.json", Plan)
    except documents.Misfit:
        return None
    if "sizes" in plan:
        # The user has deleted the file: the sizes are decided again for the same host.
        return {**seen, "host": plan["sizes"]["host"]}
    return _of_earlier_version(plan, study, seen, make)


def _read(path: Path) -> Sizes:
    found = documents.read(path, Sizes, AGAIN)
    if found["node_bytes"] <= 0 or found["cache_bytes"] < 0:
        raise DamagedFile(f"{path} is damaged (memory of no bytes): {AGAIN}.")
    return found


def _of_earlier_version(plan: Plan, study: Study, seen: Sizes, make: Make) -> Sizes:
    """Return what the sizes of a plan follow from, for a plan of an earlier version that does not say so."""
    known: Sizes = {**seen, "host": next((cell["host"] for cell in plan["cells"].values()), seen["host"])}
    # The profile may no longer exist, or the plan may have fewer keys than today's.
    with contextlib.suppress(PlimsollError, KeyError, TypeError):
        profile = studies.profile(plan["profile"])
        share = study.design.cells.memory_share(profile)
        if share and planner.other_sizes(plan, make(profile, known)):
            # With the least memory that the plan's largest problem fits into, all problems keep their sizes.
            return {**known, "node_bytes": math.ceil((study.design.cells.problem_bytes(plan) + ROUNDED) / share)}
    return known


def note(folder: Path, plan: Plan, host: Topology) -> list[str]:
    """Save what a plan's problem sizes follow from, in its study's folder.

    Return sentences about sizes that no longer fit, and about sizes that could be larger now.
    """
    sizes, there = plan["sizes"], sizing.present(host)["node_bytes"]
    before = _read(folder / FILE) if (folder / FILE).exists() else sizes
    if before != sizes or not (folder / FILE).exists():
        record.write(folder / FILE, sizes)
    if sizes["node_bytes"] != before["node_bytes"] and sizes["host"] == before["host"]:
        return [
            f"{plan['study']}: problem sizes are decided again, as they no longer fit: the smallest memory node has "
            f"{_gib(there)}, and had {_gib(before['node_bytes'])} when they were decided. What was measured with other "
            "sizes is put aside."
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

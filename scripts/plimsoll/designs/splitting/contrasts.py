"""Finds the cells that a claim compares on this host.

A claim names the levels of side a, the levels of side b, and the levels of both sides (`scope`). Every cell of side a is
compared with the cell of side b that is like it in all other factors.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from plimsoll import design
from plimsoll.claims import book
from plimsoll.claims.matching import Matcher
from plimsoll.claims.sides import Contrast, PrintedSide, Side
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT, SplittingCell, SplittingPlan
from plimsoll.designs.splitting.scheme import ALONE
from plimsoll.host.capabilities import OF_KERNEL

# Number of ranks in the paper's exactly subscribed runs.
RANKS = 16
# Factor of claims that is not a factor of cells: the number of containers, in the claims' words.
GRANULARITY = "granularity"
# Levels that a claim is about if it names no level of the factor. The paper's section 4 runs everything free (ANY) and pinned.
# One rank alone is not among them: it only serves as a reference. Its runtimes are the paper's. So a runtime that is added
# enters no claim that does not name it.
USUAL = {
    "affinity": ("any", "pin"),
    "sizes": ("standard",),
    "runtime": ("bare", "docker", "singularity", "singularity-instance", "singularity-cgroup"),
    GRANULARITY: ("every", "beyond"),
}
# What the paper leaves open, and a claim may depend on: whether its Docker let ranks copy from each other's memory. Each
# arrangement in words, with the runtimes that are replaced and those that are measured in their place.
ARRANGEMENTS: dict[str, dict[str, str]] = {
    "Docker's default seccomp filter": {},
    "process_vm_readv allowed in Docker": {"docker": "docker-ptrace"},
}
# Sections whose ranks send each other next to nothing, so that copying does not matter.
WITHOUT_COPIES = ("dgemm", "stream")
# Needs of claims for runtimes that most configurations leave off: the runtimes, and what they are in words.
OFF = {
    "docker_host_network": ({"docker-host-network"}, "Docker containers on the host's network"),
    "shared_ipc": ({"docker-shared", "docker-shared-ptrace"}, "Docker containers on the host's IPC, processes and network"),
}
# The first version of Linux whose scheduler is EEVDF in place of CFS.
EEVDF = (6, 6)
# The level of affinity on one socket that section 5.4.4 calls CPU affinity. Equation 3 defines none there.
ON_ONE_SOCKET = {"cpu": "cpumem"}


def granularities(cell: SplittingCell) -> set[str]:
    """Return the claims' words for the number of containers of a cell, whatever the number of cores of the host.

    `one`, `two`, `four` and `eight` are numbers of containers. `several` is more than one and at most one per core; `every` is
    one or several. `finest` is the last scheme of table 4, with one container per core. `beyond` is more containers than
    cores. `alone` is one rank on one core.
    """
    containers, cores = cell["containers"], cell["cores"]
    if containers > cores:
        return {"beyond"}
    if cell["scheme"] == ALONE:
        return {"alone"}
    words = {"every", "one" if containers == 1 else "several"}
    words |= {word for word, number in (("two", 2), ("four", 4), ("eight", 8)) if number == containers}
    return words | ({"finest"} if containers == cores > 1 else set())


class Cells(Matcher):
    """Index of a plan's cells by their levels."""

    factors = OF_DEPLOYMENT

    def __init__(self, plan: SplittingPlan, study: dict):
        self.metrics, self.baseline, self.levels = study["metrics"], study["baseline"], study["factors"]
        self.by_section: dict[str, list[dict]] = defaultdict(list)
        # Cache: a claim looks up the same levels once for each cell of its other side.
        self.answers: dict[tuple, list[dict]] = {}
        for cell in plan["cells"].values():
            self.by_section[cell["section"]].append({**cell, GRANULARITY: granularities(cell)})

    def of(self, metric: str, wanted: dict[str, list[str]]) -> list[dict]:
        """Return the cells with the `wanted` levels in which a metric is measured.

        They have the `USUAL` levels of factors for which `wanted` names none.
        """
        asked = (metric, *((factor, tuple(levels)) for factor, levels in wanted.items()))
        if asked not in self.answers:
            self.answers[asked] = self._find(metric, wanted)
        return self.answers[asked]

    def _find(self, metric: str, wanted: dict[str, list[str]]) -> list[dict]:
        described = self.metrics.get(metric)
        if described is None:
            return []
        usual = {factor: levels for factor, levels in USUAL.items() if factor not in wanted}
        if "yield" in wanted:
            usual["sizes"] = ("yielding",)
        levels = {**usual, **{factor: levels for factor, levels in wanted.items() if factor != "metric"}}
        return [
            cell
            for cell in self.by_section[described["section"]]
            if described.get("sizes", cell["sizes"]) == cell["sizes"]
            and described["instrument"] == cell["instrument"]
            and all(self.has(cell, factor, allowed) for factor, allowed in levels.items())
        ]

    def others(self, cell: SplittingCell, metric: str, wanted: dict[str, list[str]], varying: set[str]) -> list[dict]:
        """Return the cells with the `wanted` levels that are like `cell` in every factor except the `varying` ones.

        Where containers have no cores of their own, bare metal has one cell per mode. That cell then stands for every scheme.
        """
        others = super().others(cell, metric, wanted, varying)
        if others or "runtime" not in varying or self.baseline not in wanted.get("runtime", ()):
            return others
        alone = {**wanted, "runtime": [self.baseline], GRANULARITY: ["one"]}
        return super().others(cell, metric, alone, {*varying, "scheme"})

    def factor(self, named: str) -> str:
        """Return the factor of cells that a claim calls by this name."""
        return "scheme" if named == GRANULARITY else named

    def varying(self, claim: dict, metric_a: str, metric_b: str) -> set[str]:
        """Return the factors that a side names. Different metrics may also be measured with different sizes."""
        named = {self.factor(factor) for side in ("a", "b") for factor in claim.get(side, {})} - {book.METRIC}
        return named if metric_a == metric_b else {*named, "sizes"}

    def has(self, cell: SplittingCell, factor: str, levels) -> bool:
        """Return whether a cell has one of the levels of a factor. A number of containers has several words."""
        value = cell.get(factor)
        return bool(value & set(levels)) if isinstance(value, set) else value in levels

    def sides(self, claim: dict, metric: str, cell: SplittingCell) -> list[Side]:
        """Return the side once for each reference cell of its loss, or the side alone if the claim is not about losses."""
        side = Side(metric, cell["path"])
        if "relative_to" not in claim:
            return [side]
        wanted = claim["relative_to"]
        varying = {self.factor(factor) for factor in wanted}
        references = self.others(cell, metric, _levels_of(cell, wanted), varying)
        return [replace(side, reference=o["path"], quantity=claim["quantity"]) for o in references]

    def printed(self, claim: dict) -> list[PrintedSide]:
        """Return each printed value of a claim with each cell that it is about.

        The name of a value is one of the claim's metrics, or a level.
        """
        values = []
        for name, value in claim["values"].items():
            metrics = [name] if name in claim["metrics"] else claim["metrics"]
            level = {factor: [name] for factor, of in self.levels.items() if isinstance(of, (list, dict)) and name in of}
            own = {"metrics": metrics, "a": {**claim.get("a", {}), **level}, "values": {name: value}}
            values += super().printed({**claim, **own})
        return values


class Contrasts(design.Contrasts):
    """Comparisons of a splitting study."""

    def comparison_finder(self, plan: SplittingPlan, study: dict):
        """Return a function from a claim to what it compares: contrasts, lists of sides along a trend, or printed values."""
        cells = Cells(plan, study)
        return lambda claim: _arranged(cells.comparisons(claim), plan["cells"], plan.get("in_place_of", {}))

    def arrangements(self, plan: SplittingPlan) -> dict[str, SplittingPlan]:
        """Return one plan for each arrangement (ARRANGEMENTS) whose runtimes are all planned, by the arrangement in words.

        `in_place_of` of a plan maps a runtime that claims name to the runtime whose cells are compared instead.
        """
        there = {cell["runtime"] for cell in plan["cells"].values()}
        possible = {words: moved for words, moved in ARRANGEMENTS.items() if {*moved, *moved.values()} <= there}
        return {words: {**plan, "in_place_of": moved} for words, moved in possible.items()}

    def unmet_needs(self, plan: SplittingPlan) -> dict[str, str]:
        """Return what claims may need and this host does not have, or Plimsoll does not measure, in words."""
        known = [cell for cell in plan["cells"].values() if not cell["reason"]]
        exact = [cell for cell in known if cell["mode"] == "exact"]
        most = max((cell["cores"] for cell in exact), default=0)
        missing = {
            "core_samples": "samples of the core that each rank is on, which Plimsoll does not take",
            "unprofiled": "times of G-RandomAccess that the profiling library does not inflate",
        }
        # A planned cell that cannot be measured has a reason of its own.
        planned = {cell["runtime"] for cell in plan["cells"].values()}
        off = {need: what for need, (runtimes, what) in OFF.items() if not runtimes <= planned}
        missing |= {need: f"{what}, which the configuration has off" for need, what in off.items()}
        if not any(cell["hardware"] == "numa" for cell in known):
            missing["numa"] = "two sockets with a memory node each"
        if max((cell["ranks"] for cell in exact), default=0) != RANKS:
            missing["ranks_16"] = (
                f"{RANKS} ranks, and here are {most}: shares of time, counts and what splitting costs depend on their number"
            )
        if most < 4:
            missing["cores_4"] = f"four cores of a socket, and here are {most}"
        if set(plan["instruments"]["events"]["events"]) <= OF_KERNEL:
            missing["hw_perf_counters"] = "the processor's performance counters, which perf cannot read here"
        if _version(plan.get("kernel", "")) >= EEVDF:
            missing["cfs"] = f"the scheduler CFS, and Linux {plan['kernel']} has EEVDF"
        return missing

    def transferred_claim(self, claim: dict) -> dict | None:
        """Return a claim about two sockets, moved to one socket; None if it cannot be moved.

        Claims about containers can be moved. Claims about memory nodes cannot: their `transfer` is false. A claim about CPU
        affinity is moved to the level that section 5.4.4 calls so on one socket (ON_ONE_SOCKET).
        """
        if claim.get("scope", {}).get("hardware") != ["numa"] or not claim.get("transfer", True):
            return None
        moved = {**claim, "scope": {**claim["scope"], "hardware": ["uma"]}}
        affinity = claim.get("a", {}).get("affinity", [])
        if set(affinity) <= set(ON_ONE_SOCKET) and affinity:
            moved["a"] = {**claim["a"], "affinity": [ON_ONE_SOCKET[level] for level in affinity]}
        return moved


def _version(kernel: str) -> tuple[int, ...]:
    """Return the first two numbers of a kernel's release; none if the release is not known."""
    return tuple(map(int, re.findall(r"[0-9]+", kernel)[:2]))


def _arranged(asked: list, cells: dict[str, SplittingCell], in_place_of: Mapping[str, str]) -> list:
    """Return comparisons with the cells of some runtimes replaced by cells of other runtimes (`in_place_of`).

    The list is empty if a cell has no counterpart, because the arrangement then says nothing about the claim. A comparison of
    sections without copies between ranks (WITHOUT_COPIES) needs no counterparts: without them it stays as it is.
    """
    if not in_place_of:
        return asked
    counterparts = {}
    for path, cell in cells.items():
        other = path.replace(f"/{cell['runtime']}/", f"/{in_place_of.get(cell['runtime'], cell['runtime'])}/")
        if other in cells:
            counterparts[path] = other
    moved = [_moved(one, counterparts, cells) for one in asked]
    return [] if None in moved else moved


def _moved(
    asked: Contrast | Side | list[Side], counterparts: Mapping[str, str], cells: dict[str, SplittingCell]
) -> Contrast | Side | list[Side] | None:
    """Return a contrast, a side or a trend with its cells replaced by their counterparts.

    If a cell has no counterpart, the result is unchanged where ranks copy nothing (WITHOUT_COPIES), and otherwise None.
    """
    sides = asked if isinstance(asked, list) else [asked.a, asked.b] if isinstance(asked, Contrast) else [asked]
    paths = [path for side in sides for path in side.cells]
    if not all(path in counterparts for path in paths):
        return asked if all(cells[path]["section"] in WITHOUT_COPIES for path in paths) else None
    moved = [replace(s, cell=counterparts[s.cell], reference=s.reference and counterparts[s.reference]) for s in sides]
    return moved if isinstance(asked, list) else Contrast(*moved) if isinstance(asked, Contrast) else moved[0]


def _levels_of(cell: SplittingCell, changed: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the levels of a cell, with some changed: the levels that its reference must have."""
    kept = ("hardware", "mode", "runtime", "affinity", "sizes")
    return {**{factor: [cell[factor]] for factor in kept if factor not in changed}, **changed}

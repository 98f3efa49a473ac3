"""Which cells a claim compares on this host.

A claim names levels: those of side a, those of side b, and those that hold on both (`scope`). Every cell of side a is set
against the cells of side b that are like it in all factors that the two sides do not name differently.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from plimsoll.claims import quantities
from plimsoll.claims.sides import Contrast, Side
from plimsoll.designs.nesting.factors import (
    ABOVE,
    BARE,
    CHILD_NETWORK,
    CORES,
    CREATION,
    EMULATED_MACHINE,
    ENVIRONMENT,
    EVERY,
    FACTORS,
    FROM,
    MACHINE,
    MOST,
    NO_CHILDREN,
    PARENT_NETWORK,
    PLACEMENTS,
    TWICE,
    UP_TO,
    NestingCell,
    NestingPlan,
    total,
)
from plimsoll.host import topology
from plimsoll.interchange import ABSENT

# What a claim about no task in particular is about.
USUAL = {"creation_time": CREATION}
# What claims about virtual machines need, in words: emulated ones say nothing about speed, and no claim is asked of them.
MACHINES = "virtual machines on the host's own processor"
NO_SPEED = "emulated ones say nothing about speed"
# A network between two hosts that is the bottleneck carries no more (Mbit/s), as the paper's.
FILLED = 1000
# Children that the paper's claims are about.
CHILDREN = 256
# Of a trend, at least.
LEVELS = 3
# What claims vary by saying so.
VARIED = {PARENT_NETWORK: {"network"}, CHILD_NETWORK: {"network"}, ENVIRONMENT: {"runtime", "server"}}


def words_of(instances: int, levels: set[int], cores: int) -> set[str]:
    """The claims' words for a number of instances, of the `levels` that are planned."""
    words = {UP_TO if instances <= cores else ABOVE}
    largest = max((level for level in levels if level <= cores), default=None)
    if instances == largest:
        words.add(CORES)
    if instances == min((level for level in levels if level >= 2 * cores), default=None):
        words.add(TWICE)
    if largest is not None and instances >= largest:
        words.add(FROM)
    return words


class Cells:
    """The cells of a plan, findable by their levels; `words` has the claims' words for each path."""

    def __init__(self, plan: NestingPlan, metrics: dict[str, dict]):
        self.cells = {path: cell for path, cell in plan["cells"].items() if not emulated(cell)}
        self.metrics = metrics
        levels = defaultdict(set)
        numbered = {path: cell for path, cell in self.cells.items() if cell["instances"] != ABSENT}
        for cell in numbered.values():
            levels[cell["task"], cell["runtime"]].add(int(cell["instances"]))
        self.words = {
            path: words_of(int(cell["instances"]), levels[cell["task"], cell["runtime"]], plan["cores"])
            for path, cell in numbered.items()
        }
        self.most = most_children(plan)
        self.placement = plan.get("placement", "")

    def placed(self, metric: str, cell: NestingCell) -> str:
        """The name of a metric of a cell in the placement that claims are asked of; its own, if it has only one there."""
        return f"{metric}_{self.placement}" if self.placement and self.placement in cell.get("bindings", {}) else metric

    def of(self, metric: str, wanted: dict[str, list[str]]) -> list[NestingCell]:
        """Cells in which a metric is measured, with these levels. Children matter to a claim that names them, or parents; every
        other claim about nested containers is about one child in each parent."""
        if metric not in self.metrics:
            return []
        tasks = wanted.get("task") or ([USUAL[metric]] if metric in USUAL else self.metrics[metric]["task"])
        one_each = not {"children", "total"} & set(wanted)
        return [
            cell
            for cell in self.cells.values()
            if cell["task"] in tasks
            and (not one_each or cell["children"] in (NO_CHILDREN, "1", ABSENT))
            and all(self._has(cell, factor, levels) for factor, levels in wanted.items())
        ]

    def _has(self, cell: NestingCell, factor: str, levels: list[str]) -> bool:
        if factor == "total":
            nested = cell["children"] != NO_CHILDREN
            return nested and str(total(cell)) in [str(self.most) if level == MOST else level for level in levels]
        if factor in (PARENT_NETWORK, CHILD_NETWORK):
            outer, _, inner = cell["network"].partition("+")
            return bool(inner) and (outer if factor == PARENT_NETWORK else inner) in levels
        if factor == ENVIRONMENT:
            return BARE in (cell["runtime"], cell["server"]) and other_end(cell) in levels
        if levels == [EVERY]:
            return cell[factor] != NO_CHILDREN
        if factor == "instances":
            return bool((self.words[cell["path"]] | {cell["instances"]}) & set(levels))
        return cell[factor] in levels

    def half(self, cell: NestingCell) -> str | None:
        """Path of the cell that has half as many instances."""
        instances = int(cell["instances"])
        path = f"{cell['task']}/{cell['runtime']}/{instances // 2}/{cell['children']}"
        return path if instances % 2 == 0 and path in self.cells else None


def most_children(plan: NestingPlan) -> int:
    """The most children that are measured both in one parent and in parents of their own."""
    there = [cell for cell in plan["cells"].values() if cell["task"] == CREATION and cell["reason"] is None]
    in_one = {total(cell) for cell in there if cell["instances"] == "1" and cell["children"] not in (NO_CHILDREN, ABSENT)}
    in_own = {total(cell) for cell in there if cell["children"] == "1"}
    return max(in_one & in_own, default=0)


def emulated(cell: NestingCell) -> bool:
    """Whether a virtual machine of a cell is emulated: of speed it says nothing, so that no claim is asked of it."""
    return EMULATED_MACHINE in (cell["runtime"], cell["server"])


def other_end(cell: NestingCell) -> str:
    """The environment at the end of a network that is not bare metal; bare metal if both are."""
    return cell["server"] if cell["runtime"] == BARE else cell["runtime"]


def asking(plan: NestingPlan, study: dict) -> Callable[[dict], list]:
    """A function from a claim to what it compares: contrasts, or lists of sides along a trend."""
    cells = Cells(plan, study["metrics"])

    def asked(claim: dict) -> list:
        return series(claim, cells) if "along" in claim else find(claim, cells)

    return asked


def find(claim: dict, cells: Cells) -> list[Contrast]:
    """Contrasts of a claim that has two sides, over all cells of the plan, including those that cannot be measured."""
    a, b, scope = (claim.get(side, {}) for side in ("a", "b", "scope"))
    # Named alike on both sides, a factor is like a scope's.
    varying = {factor for factor in {*a, *b} - {"metric"} if a.get(factor) != b.get(factor)}
    if "total" in scope:
        # It is divided in two ways: parents and children both vary.
        varying |= {"instances", "children"}
    contrasts: dict[Contrast, None] = {}
    for metric_a, metric_b in _metrics(claim):
        for cell in cells.of(metric_a, _levels(scope, a)):
            for other in cells.of(metric_b, _levels(scope, b)):
                same_side = (metric_a, cell["path"]) == (metric_b, other["path"])
                if not same_side and _alike(cell, other, varying):
                    metrics = cells.placed(metric_a, cell), cells.placed(metric_b, other)
                    sides = _referred(claim, cells, metrics[0], cell), _referred(claim, cells, metrics[1], other)
                    if all(sides):
                        contrasts.setdefault(Contrast(*sides))
    return list(contrasts)


def _levels(scope: dict, side: dict) -> dict[str, list[str]]:
    return {factor: levels for factor, levels in {**scope, **side}.items() if factor != "metric"}


def _metrics(claim: dict) -> list[tuple[str, str]]:
    """Pairs of metrics: a metric against itself, unless the claim compares metrics."""
    a, b = claim.get("a", {}).get("metric"), claim.get("b", {}).get("metric")
    if a and b:
        return [(one, other) for one in a for other in b]
    return [(metric, metric) for metric in claim["metrics"]]


def _alike(cell: NestingCell, other: NestingCell, varying: set[str]) -> bool:
    """Whether two cells are alike in all that does not vary. Where runtimes vary, containers that are not nested are like
    parents with one child; where parents and children vary, there are as many children in all."""
    if {"instances", "children"} <= varying and total(cell) != total(other):
        return False
    fixed = set(FACTORS) - varying - {factor for name in varying for factor in VARIED.get(name, ())}
    if ENVIRONMENT in varying and not _same_way(cell, other):
        return False
    if "runtime" in varying and NO_CHILDREN in (cell["children"], other["children"]):
        fixed -= {"children"}
    return all(cell[factor] == other[factor] for factor in fixed)


def _same_way(cell: NestingCell, other: NestingCell) -> bool:
    """Whether bare metal is at the same end of two networks; if it is at both ends of one, it is."""
    ways = [(one["runtime"] == BARE, one["server"] == BARE) for one in (cell, other)]
    return ways[0] == ways[1] or (True, True) in ways


def _referred(claim: dict, cells: Cells, metric: str, cell: NestingCell) -> Side | None:
    """The side with the cell that its growth is relative to, if the claim is about that; None if there is no such cell."""
    side = Side(metric, cell["path"])
    if not quantities.find(claim.get("quantity")).relative:
        return side
    reference = cells.half(cell)
    return replace(side, reference=reference, quantity=claim["quantity"]) if reference else None


def series(claim: dict, cells: Cells) -> list[list[Side]]:
    """For a claim about a trend along instances or children: sides in the order of the numbers, one list for each combination
    of the other factors. The numbers are all there are, or those of the claim's levels or words. Those that cannot be measured
    here are left out of a series, as it ends where the profile or the memory ends."""
    along = claim["along"]
    wanted = dict(claim.get("scope", {}))
    if "levels" in along:
        wanted[along["factor"]] = along["levels"]
    groups: dict[tuple, list[tuple[int, Side]]] = defaultdict(list)
    for metric in claim["metrics"]:
        for cell in cells.of(metric, wanted):
            key = (metric, *(cell[factor] for factor in FACTORS if factor != along["factor"]))
            groups[key].append((int(cell[along["factor"]]), Side(metric, cell["path"])))
    whole = [[side for _, side in sorted(group, key=lambda one: one[0])] for group in groups.values()]
    measured = [[side for side in group if cells.cells[side.cell]["reason"] is None] for group in whole]
    # Of a series that has nothing, what it lacks is the reason.
    return [some or all_ for some, all_ in zip(measured, whole, strict=True)]


def arrangements(plan: NestingPlan) -> dict[str, NestingPlan]:
    """One for each placement of clients and servers, which the paper does not tell. What has neither is the same in all."""
    there = dict.fromkeys(name for cell in plan["cells"].values() for name in cell.get("bindings", {}))
    return {PLACEMENTS[name]: {**plan, "placement": name} for name in there} or {"": plan}


def unfit(cell: NestingCell) -> str | None:
    """None: every cell is what its levels say, however it is arranged."""
    return None


def lacks(plan: NestingPlan) -> dict[str, str]:
    """What claims may need and this host does not have, or nobody measures, in words."""
    cores = plan["cores"]
    reason = no_machines(plan)
    missing = {}
    if reason:
        missing = dict.fromkeys(("vm", "hardware_virtualisation"), f"{MACHINES} ({reason}); {NO_SPEED}")
    elif plan.get("hypervisor"):
        missing["hardware_virtualisation"] = "a host that is no virtual machine itself, as those on it are nested"
    if plan["open_vswitch"] != topology.KERNEL:
        missing["kernel_openvswitch"] = "a kernel with Open vSwitch; in user space, as on this host, it is another switch"
    if "second_host" not in plan:
        missing["two_machines"] = (
            "a second machine (second_host in config/config.yaml); the link here is as fast as we shape it"
        )
    elif plan["second_host"].get("megabits", math.inf) > FILLED:
        missing["filled_link"] = "a network between the hosts that is the bottleneck, of 1 Gbit/s at most and of a known speed"
    if cores < 4:
        missing["cores_4"] = f"4 cores, and here are {cores}"
    if (numbers := _from_the_cores_on(plan)) < LEVELS:
        missing["nested_trend"] = (
            f"{LEVELS} numbers of nested containers from {cores} cores on, and {numbers} can be measured (nesting.children in "
            f"a profile, and make reproduce PROFILE=<its name> STUDIES={plan['study']})"
        )
    if (most := most_children(plan)) < CHILDREN:
        missing["children_256"] = (
            f"{CHILDREN} children in one parent and in several, and here are {most} (nesting.children of the profile)"
        )
    return missing


def _from_the_cores_on(plan: NestingPlan) -> int:
    """How many numbers of nested containers with a child each are measured, from as many as there are cores on."""
    there = [
        cell for cell in plan["cells"].values() if (cell["task"], cell["children"], cell["reason"]) == (CREATION, "1", None)
    ]
    levels = {int(cell["instances"]) for cell in there}
    return sum(FROM in words_of(level, levels, plan["cores"]) for level in levels)


def no_machines(plan: NestingPlan) -> str | None:
    """Why no virtual machine on the host's own processor is measured; None if one is."""
    reasons = {cell["reason"]: None for cell in plan["cells"].values() if MACHINE in (cell["runtime"], cell["server"])}
    return None if None in reasons else next(iter(reasons), "the configuration leaves them out")


def elsewhere(claim: dict) -> dict | None:
    """A finding about 256 children can be asked of the most that can be measured, and one about more than 8 parents on the
    paper's 12 cores of more parents than the host has cores."""
    if claim.get("scope", {}).get("total") == ["256"]:
        return {**claim, "scope": {**claim["scope"], "total": [MOST]}}
    if claim.get("along", {}).get("levels") == ["8", "16", "32", "64"]:
        return {**claim, "along": {**claim["along"], "levels": [FROM]}}
    return None

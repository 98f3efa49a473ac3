"""Find the cells that a claim about nesting compares on this host (claims.matching)."""

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from plimsoll import design, spelling
from plimsoll.claims import quantities
from plimsoll.claims.matching import Matcher
from plimsoll.claims.sides import Side
from plimsoll.designs.nesting.factors import (
    ABOVE,
    BARE,
    CHILD_NETWORK,
    CORES,
    CREATION,
    ENVIRONMENT,
    EVERY,
    FROM,
    MOST,
    NO_CHILDREN,
    PARENT_NETWORK,
    PLACEMENTS,
    TWICE,
    UP_TO,
    Factors,
    NestingCell,
    NestingPlan,
    total,
)
from plimsoll.host import topology
from plimsoll.interchange import ABSENT
from plimsoll.planning import virtual_machines

# The task of a claim that names none, by its metric.
USUAL = {"creation_time": CREATION}
# A network between two hosts that is no faster than this is the bottleneck, as in the paper (Mbit/s).
FILLED = 1000
# Number of children in the paper's claims.
CHILDREN = 256
# A trend has at least this many levels.
LEVELS = 3
# Factors that vary if a claim's sides differ in one of these words.
VARIED = {PARENT_NETWORK: {"network"}, CHILD_NETWORK: {"network"}, ENVIRONMENT: {"runtime", "server"}}


def words_of(instances: int, levels: set[int], cores: int) -> set[str]:
    """Return the claims' words that fit a number of instances, given the `levels` that are planned and the host's cores."""
    words = {UP_TO if instances <= cores else ABOVE}
    largest = max((level for level in levels if level <= cores), default=None)
    if instances == largest:
        words.add(CORES)
    if instances == min((level for level in levels if level >= 2 * cores), default=None):
        words.add(TWICE)
    if largest is not None and instances >= largest:
        words.add(FROM)
    return words


class Cells(Matcher):
    """The cells of a plan without emulated virtual machines, to be found by their levels.

    `words` has the claims' words for the number of instances of each cell, by path.
    """

    factors = Factors.FACTORS

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
        """Return the name of a metric of a cell in the placement for which claims are tested.

        It is the metric's own name in the free placement, for cells without the placement, and for a metric of one
        placement.
        """
        placed = f"{metric}_{self.placement}"
        return placed if self.placement in cell.get("bindings", {}) and placed in self.metrics else metric

    def of(self, metric: str, wanted: dict[str, list[str]]) -> list[NestingCell]:
        """Return the cells with the `wanted` levels in which a metric is measured.

        If the claim names children (`children` or `total`), all numbers of children fit. Otherwise it is about
        containers that are not nested, and about nested ones with one child in each parent.
        """
        if metric not in self.metrics:
            return []
        tasks = wanted.get("task") or ([USUAL[metric]] if metric in USUAL else self.metrics[metric]["task"])
        one_each = not {"children", "total"} & set(wanted)
        return [
            cell
            for cell in self.cells.values()
            if cell["task"] in tasks
            and (not one_each or cell["children"] in (NO_CHILDREN, "1", ABSENT))
            and all(self.has(cell, factor, levels) for factor, levels in wanted.items())
        ]

    def others(self, cell: NestingCell, metric: str, wanted: dict[str, list[str]], varying: set[str]) -> list[NestingCell]:
        """Return the cells with the `wanted` levels that are like `cell` in every factor that does not vary."""
        return [other for other in self.of(metric, wanted) if _alike(cell, other, varying)]

    def varying(self, claim: dict, metric_a: str, metric_b: str) -> set[str]:
        """Return the factors that the sides name differently.

        A total number of children is divided in two ways, so parents and children both vary.
        """
        divided = {"instances", "children"} if "total" in claim.get("scope", {}) else set()
        return super().varying(claim, metric_a, metric_b) | divided

    def sides(self, claim: dict, metric: str, cell: NestingCell) -> list[Side]:
        """Return a metric in a cell as a side.

        If the claim is about growth, the side also names the cell with half as many instances as its reference. The list is
        empty if there is no such cell.
        """
        side = Side(self.placed(metric, cell), cell["path"])
        if not quantities.find(claim.get("quantity")).relative:
            return [side]
        reference = self.half(cell)
        return [replace(side, reference=reference, quantity=claim["quantity"])] if reference else []

    def has(self, cell: NestingCell, factor: str, levels: list[str]) -> bool:
        """Return whether a cell has one of the levels of a factor, or of a word for several factors."""
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
        """Return the path of the cell that has half as many instances; None if the plan has no such cell."""
        instances = int(cell["instances"])
        path = f"{cell['task']}/{cell['runtime']}/{instances // 2}/{cell['children']}"
        return path if instances % 2 == 0 and path in self.cells else None

    def steps(self, along: dict) -> list[dict[str, list[str]]]:
        """Return the levels of a trend in one step: several words may name the same number."""
        return [{along["factor"]: along["levels"]} if "levels" in along else {}]

    def trends(self, claim: dict) -> list[list[Side]]:
        """Return the trends of a claim along instances or children, in the order of the numbers.

        The numbers are all that are planned, or those of the claim's levels or words. Numbers that cannot be measured here
        are left out, so a trend ends where the profile or the memory ends. If nothing of a trend can be measured, all its
        sides are returned.
        """
        factor = claim["along"]["factor"]
        whole = [sorted(sides, key=lambda side: int(self.cells[side.cell][factor])) for sides in super().trends(claim)]
        measured = [[side for side in sides if self.cells[side.cell]["reason"] is None] for sides in whole]
        # If no side of a trend can be measured, the reasons of all its sides are the reason.
        return [some or all_ for some, all_ in zip(measured, whole, strict=True)]


def most_children(plan: NestingPlan) -> int:
    """Return the largest number of children that is measured both in one parent and in a parent each.

    It is 0 if no number is measured in both ways.
    """
    there = [cell for cell in plan["cells"].values() if cell["task"] == CREATION and cell["reason"] is None]
    in_one = {total(cell) for cell in there if cell["instances"] == "1" and cell["children"] not in (NO_CHILDREN, ABSENT)}
    in_own = {total(cell) for cell in there if cell["children"] == "1"}
    return max(in_one & in_own, default=0)


def emulated(cell: NestingCell) -> bool:
    """Return whether a cell has an emulated virtual machine. It says nothing about speed, so no claim is tested on it."""
    return virtual_machines.is_of(virtual_machines.EMULATED_MACHINE, cell)


def other_end(cell: NestingCell) -> str:
    """Return the runtime at the end of a network that is not on bare metal; bare metal if both ends are."""
    return cell["server"] if cell["runtime"] == BARE else cell["runtime"]


class Contrasts(design.Contrasts):
    """Comparisons of a study of nesting."""

    def comparison_finder(self, plan: NestingPlan, study: dict) -> Callable[[dict], list]:
        """Return a function from a claim to what it compares: contrasts, or a list of sides for each trend."""
        return Cells(plan, study["metrics"]).comparisons

    def arrangements(self, plan: NestingPlan) -> dict[str, NestingPlan]:
        """Return the plan once for each placement of clients and servers, by the placement's description.

        The paper does not say where they ran. Cells without client and server are the same in every placement.
        """
        there = dict.fromkeys(name for cell in plan["cells"].values() for name in cell.get("bindings", {}))
        return {PLACEMENTS[name]: {**plan, "placement": name} for name in there} or {"": plan}

    def unmet_needs(self, plan: NestingPlan) -> dict[str, str]:
        """Return what claims may need and is unavailable or not measured on this host, in words, by the name of the need."""
        cores = plan["cores"]
        missing = virtual_machines.unmet_needs(plan)
        if plan["open_vswitch"] != topology.KERNEL:
            missing["kernel_openvswitch"] = "a kernel with Open vSwitch; in user space, as on this host, it is another switch"
        if "second_host" not in plan:
            missing["two_machines"] = (
                "a second machine (second_host in config/config.yaml); the link here is as fast as we shape it"
            )
        elif plan["second_host"].get("megabits", math.inf) > FILLED:
            missing["filled_link"] = (
                "a network between the hosts that is the bottleneck, of 1 Gbit/s at most and of a known speed"
            )
        for number in (2, 4):
            if cores < number:
                missing[f"cores_{number}"] = f"{number} cores, and here {'is' if cores == 1 else 'are'} {cores}"
        if (numbers := _from_the_cores_on(plan)) < LEVELS:
            missing["nested_trend"] = (
                f"{LEVELS} numbers of nested containers from {cores} cores on, and {numbers} can be measured "
                f"(nesting.children in a profile, and {spelling.command('reproduce', plan['study'], profile='<its name>')})"
            )
        if (most := most_children(plan)) < CHILDREN:
            missing["children_256"] = (
                f"{CHILDREN} children in one parent and in several, and here are {most} (nesting.children of the profile)"
            )
        return missing

    def transferred_claim(self, claim: dict) -> dict | None:
        """Return a claim for other cells, if it can be tested on those; None if it cannot.

        A claim about 256 children can be tested on the largest number that can be measured (MOST). A claim about 8 to 64
        instances, on the paper's 12 cores, can be tested on numbers of instances from this host's number of cores on
        (FROM).
        """
        if claim.get("scope", {}).get("total") == ["256"]:
            return {**claim, "scope": {**claim["scope"], "total": [MOST]}}
        if claim.get("along", {}).get("levels") == ["8", "16", "32", "64"]:
            return {**claim, "along": {**claim["along"], "levels": [FROM]}}
        return None


def _alike(cell: NestingCell, other: NestingCell, varying: set[str]) -> bool:
    """Return whether two cells have the same levels in every factor that does not vary.

    If runtimes vary, a container that is not nested is like a parent with one child. If parents and children both vary,
    the cells must have the same number of children in all.
    """
    if {"instances", "children"} <= varying and total(cell) != total(other):
        return False
    fixed = set(Factors.FACTORS) - varying - {factor for name in varying for factor in VARIED.get(name, ())}
    if ENVIRONMENT in varying and not _same_way(cell, other):
        return False
    if "runtime" in varying and NO_CHILDREN in (cell["children"], other["children"]):
        fixed -= {"children"}
    return all(cell[factor] == other[factor] for factor in fixed)


def _same_way(cell: NestingCell, other: NestingCell) -> bool:
    """Return whether bare metal is at the same end of two networks.

    A network with bare metal at both ends fits either way.
    """
    ways = [(one["runtime"] == BARE, one["server"] == BARE) for one in (cell, other)]
    return ways[0] == ways[1] or (True, True) in ways


def _from_the_cores_on(plan: NestingPlan) -> int:
    """Return how many numbers of nested containers, one child each, are measured from the number of cores on."""
    there = [
        cell for cell in plan["cells"].values() if (cell["task"], cell["children"], cell["reason"]) == (CREATION, "1", None)
    ]
    levels = {int(cell["instances"]) for cell in there}
    return sum(FROM in words_of(level, levels, plan["cores"]) for level in levels)

"""Which cells a claim compares on this host.

A claim names levels: those of side a, those of side b, and those that hold on both (`scope`). Every cell of side a is set
against the cell of side b that is like it in all other factors.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from plimsoll.claims import book, quantities
from plimsoll.claims.sides import Contrast, Printed, Side
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT, SplittingCell, SplittingPlan
from plimsoll.designs.splitting.scheme import ALONE

# Ranks of the paper's exactly subscribed runs.
RANKS = 16
# A factor that claims have and cells do not: the number of containers, in the claims' words.
GRANULARITY = "granularity"
# A claim that names no level of a factor is about these. The paper's section 4 runs everything free and pinned. One rank alone
# is only ever what others are relative to.
USUAL = {"affinity": ("any", "pin"), "sizes": ("standard",), GRANULARITY: ("every", "beyond")}
# What the paper leaves open and a finding may depend on: whether its Docker let ranks copy from each other's memory. In each
# arrangement, the runtimes in whose place others are measured.
ARRANGEMENTS: dict[str, dict[str, str]] = {
    "Docker's default seccomp filter": {},
    "process_vm_readv allowed in Docker": {"docker": "docker-ptrace"},
}
# Sections whose ranks send each other next to nothing.
WITHOUT_COPIES = ("dgemm", "stream")
# Runtimes of a need that are off in most configurations, and what they are, in words.
OFF = {
    "docker_host_network": ({"docker-host-network"}, "Docker containers on the host's network"),
    "shared_ipc": ({"docker-shared", "docker-shared-ptrace"}, "Docker containers on the host's IPC, processes and network"),
}
# The level of affinity that section 5.4.4 calls CPU affinity on one socket, where equation 3 has none.
ON_ONE_SOCKET = {"cpu": "cpumem"}


def granularities(cell: SplittingCell) -> set[str]:
    """The claims' words for the number of containers of a cell, whatever the number of cores of the host.

    `one`, `two`, `four`, `eight` containers; `several`: more than one, at most one per core; `every`: one or several; `finest`:
    the last scheme of table 4, one container per core; `beyond`: more containers than cores; `alone`: one rank on one core.
    """
    containers, cores = cell["containers"], cell["cores"]
    if containers > cores:
        return {"beyond"}
    if cell["scheme"] == ALONE:
        return {"alone"}
    words = {"every", "one" if containers == 1 else "several"}
    words |= {word for word, number in (("two", 2), ("four", 4), ("eight", 8)) if number == containers}
    return words | ({"finest"} if containers == cores > 1 else set())


class Cells:
    """The cells of a plan, findable by their levels."""

    def __init__(self, cells: dict[str, SplittingCell], metrics: dict[str, dict], baseline: str, variants: set[str]):
        self.metrics, self.baseline, self.variants = metrics, baseline, variants
        self.by_section: dict[str, list[dict]] = defaultdict(list)
        # Claims ask for the same levels again and again: once for each cell of their other side.
        self.answers: dict[tuple, list[dict]] = {}
        for cell in cells.values():
            self.by_section[cell["section"]].append({**cell, GRANULARITY: granularities(cell)})

    def of(self, metric: str, wanted: dict[str, list[str]]) -> list[dict]:
        """Cells in which a metric is measured, with these levels; variants of a runtime only where they are asked for."""
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
            and ("runtime" in wanted or cell["runtime"] not in self.variants)
            and all(_has(cell, factor, allowed) for factor, allowed in levels.items())
        ]

    def other(self, cell: SplittingCell, metric: str, wanted: dict[str, list[str]], varying: set[str]) -> list[dict]:
        """Cells with the levels `wanted` that are like `cell` in every factor but the `varying` ones.

        Where containers are given no cores, bare metal has one cell per mode, which stands for every scheme.
        """
        fixed = [factor for factor in OF_DEPLOYMENT if factor not in varying]
        others = [o for o in self.of(metric, wanted) if all(o[factor] == cell[factor] for factor in fixed)]
        if others or "runtime" not in varying or self.baseline not in wanted.get("runtime", ()):
            return others
        alone = {factor: levels for factor, levels in wanted.items() if factor != GRANULARITY}
        alone = {**alone, "runtime": [self.baseline], GRANULARITY: ["one"]}
        return [o for o in self.of(metric, alone) if all(o[f] == cell[f] for f in fixed if f != "scheme")]


def asking(plan: SplittingPlan, study: dict):
    """A function from a claim to what it compares: contrasts, lists of sides along a trend, or printed values."""
    from plimsoll import environments

    known = environments.known()
    variants = {name for name in study["factors"]["runtime"] if known[name].variant_of}
    cells = Cells(plan["cells"], study["metrics"], study["baseline"], variants)

    def asked(claim: dict) -> list:
        return _arranged(_asked(claim, cells, study["factors"]), plan["cells"], plan.get("in_place_of", {}))

    return asked


def _asked(claim: dict, cells: Cells, factors: dict) -> list:
    quantity = quantities.find(claim.get("quantity"))
    if "along" in claim:
        return series(claim, cells)
    if quantity.printed:
        return printed_values(claim, cells, factors)
    return alone(claim, cells) if quantity.one_side else find(claim, cells)


def _arranged(asked: list, cells: dict[str, SplittingCell], in_place_of: Mapping[str, str]) -> list:
    """What is asked, with the cells of some runtimes in the place of those of others (`in_place_of`).

    Nothing is asked if a cell has no counterpart, as the arrangement says nothing of it. Where ranks copy nothing from each
    other (WITHOUT_COPIES) it changes nothing, and a comparison stays as it is.
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
    """A contrast, a side or a trend with the counterparts of its cells; None if one has none and ranks copy in it."""
    sides = asked if isinstance(asked, list) else [asked.a, asked.b] if isinstance(asked, Contrast) else [asked]
    paths = [path for side in sides for path in side.cells]
    if not all(path in counterparts for path in paths):
        return asked if all(cells[path]["section"] in WITHOUT_COPIES for path in paths) else None
    moved = [replace(s, cell=counterparts[s.cell], reference=s.reference and counterparts[s.reference]) for s in sides]
    return moved if isinstance(asked, list) else Contrast(*moved) if isinstance(asked, Contrast) else moved[0]


def find(claim: dict, cells: Cells) -> list[Contrast]:
    """Contrasts of a claim that has two sides, over all cells of the plan, including those that cannot be measured."""
    a, b, scope = (claim.get(side, {}) for side in ("a", "b", "scope"))
    varying = {_factor(factor) for factor in (*a, *b)} - {"metric"}
    contrasts: dict[Contrast, None] = {}
    for metric_a, metric_b in _metrics(claim):
        for cell in without(cells.of(metric_a, {**scope, **a}), book.listed(claim, "except")):
            others = cells.other(cell, metric_b, {**scope, **b}, varying | _moving(metric_a, metric_b))
            for other in without(others, book.listed(claim, "except_b")):
                if (metric_a, cell["path"]) == (metric_b, other["path"]):
                    continue
                for side_a in _referred(claim, cells, Side(metric_a, cell["path"]), cell):
                    for side_b in _referred(claim, cells, Side(metric_b, other["path"]), other):
                        contrasts.setdefault(Contrast(side_a, side_b))
    return list(contrasts)


def alone(claim: dict, cells: Cells) -> list[Contrast]:
    """Each cell of side a, for a claim that compares it with nothing."""
    wanted = {**claim.get("scope", {}), **claim.get("a", {})}
    sides = [Side(metric, cell["path"]) for metric in claim["metrics"] for cell in cells.of(metric, wanted)]
    return [Contrast(side, side) for side in sides]


def without(cells: list[dict], exceptions: list[dict]) -> list[dict]:
    """Cells that have none of these combinations of levels."""

    def left_out(cell: SplittingCell) -> bool:
        return any(all(_has(cell, factor, levels[factor]) for factor in levels) for levels in exceptions)

    return [cell for cell in cells if not left_out(cell)]


def series(claim: dict, cells: Cells) -> list[list[Side]]:
    """For a claim about a trend along a factor: sides in the order of its levels, one list for every combination of the others.

    Two levels that are the same cell on this host (the finest scheme may have two containers) count once.
    """
    along = claim["along"]
    groups: dict[tuple, list[Side]] = defaultdict(list)
    for metric in claim["metrics"]:
        for level in along.get("levels", []):
            wanted = {**claim.get("scope", {}), along["factor"]: [level]}
            for cell in cells.of(metric, wanted):
                key = (metric, *(cell[factor] for factor in OF_DEPLOYMENT if factor != _factor(along["factor"])))
                side = Side(metric, cell["path"])
                for whole in _referred(claim, cells, side, cell):
                    if whole not in groups[key]:
                        groups[key].append(whole)
    return list(groups.values())


def printed_values(claim: dict, cells: Cells, factors: dict) -> list[Printed]:
    """Each value of a claim with the cells that it is about: a value's name is one of the claim's metrics, or a level."""
    values = []
    for name, value in claim["values"].items():
        metrics = [name] if name in claim["metrics"] else claim["metrics"]
        level = {factor: [name] for factor, levels in factors.items() if isinstance(levels, (list, dict)) and name in levels}
        wanted = {**claim.get("scope", {}), **claim.get("a", {}), **level}
        values += [Printed(metric, cell["path"], value=value) for metric in metrics for cell in cells.of(metric, wanted)]
    return values


def _metrics(claim: dict) -> list[tuple[str, str]]:
    """Pairs of metrics to set against each other: a metric against itself, unless the claim compares metrics."""
    a, b = claim.get("a", {}).get("metric"), claim.get("b", {}).get("metric")
    if a and b:
        return [(one, other) for one in a for other in b]
    return [(metric, metric) for metric in claim["metrics"]]


def _moving(metric_a: str, metric_b: str) -> set[str]:
    # Other metrics may be of other sizes; the section is no factor.
    return set() if metric_a == metric_b else {"sizes"}


def _referred(claim: dict, cells: Cells, side: Side, cell: SplittingCell) -> list[Side]:
    """The side with the cell that its loss is relative to, if the claim is about losses."""
    if "relative_to" not in claim:
        return [side]
    wanted = claim["relative_to"]
    varying = {_factor(factor) for factor in wanted}
    references = cells.other(cell, side.metric, _levels_of(cell, wanted), varying)
    return [replace(side, reference=o["path"], quantity=claim["quantity"]) for o in references]


def _levels_of(cell: SplittingCell, changed: dict[str, list[str]]) -> dict[str, list[str]]:
    """Levels of a cell, with some changed: what a reference of it must have."""
    kept = ("hardware", "mode", "runtime", "affinity", "sizes")
    return {**{factor: [cell[factor]] for factor in kept if factor not in changed}, **changed}


def _factor(factor: str) -> str:
    return "scheme" if factor == GRANULARITY else factor


def _has(cell: SplittingCell, factor: str, allowed) -> bool:
    """Whether a cell has one of these levels; a cell without the factor has not."""
    value = cell.get(factor)
    return bool(value & set(allowed)) if isinstance(value, set) else value in allowed


def arrangements(plan: SplittingPlan) -> dict[str, SplittingPlan]:
    """One for each of ARRANGEMENTS whose runtimes are all planned; a plan says whose cells are asked `in_place_of` which."""
    there = {cell["runtime"] for cell in plan["cells"].values()}
    possible = {words: moved for words, moved in ARRANGEMENTS.items() if {*moved, *moved.values()} <= there}
    return {words: {**plan, "in_place_of": moved} for words, moved in possible.items()}


def unfit(cell: SplittingCell) -> str | None:
    """None: every cell is what its levels say, however it is arranged."""
    return None


def lacks(plan: SplittingPlan) -> dict[str, str]:
    """What claims may need and this host does not have, or nobody measures, in words."""
    known = [cell for cell in plan["cells"].values() if not cell["reason"]]
    exact = [cell for cell in known if cell["mode"] == "exact"]
    most = max((cell["cores"] for cell in exact), default=0)
    missing = {
        "core_samples": "samples of the core that each rank is on, which Plimsoll does not take",
        "unprofiled": "times of G-RandomAccess that the profiling library does not inflate",
    }
    # Cells that are planned and cannot be measured say why themselves.
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
    return missing


def elsewhere(claim: dict) -> dict | None:
    """A finding about containers and not about memory nodes can be asked on one socket too; one about CPU affinity of the level
    that has it there (ON_ONE_SOCKET)."""
    if claim.get("scope", {}).get("hardware") != ["numa"] or not claim.get("transfer", True):
        return None
    moved = {**claim, "scope": {**claim["scope"], "hardware": ["uma"]}}
    affinity = claim.get("a", {}).get("affinity", [])
    if set(affinity) <= set(ON_ONE_SOCKET) and affinity:
        moved["a"] = {**claim["a"], "affinity": [ON_ONE_SOCKET[level] for level in affinity]}
    return moved

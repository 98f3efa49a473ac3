"""Which cells a claim compares on this host.

A claim names levels: those of side a, those of side b, and those that hold on both (`scope`). Every cell of side a is set
against the cells of side b that are like it in all factors that the two sides do not name differently.
"""

from collections.abc import Callable
from itertools import product

from plimsoll.claims import book, quantities
from plimsoll.claims.sides import Contrast, Side
from plimsoll.designs.overhead.factors import BARE, EMULATED_MACHINE, FACTORS, MACHINE, OWN, OverheadCell, OverheadPlan
from plimsoll.interchange import ABSENT
from plimsoll.planning import availability

# What claims about virtual machines need, in words: emulated ones say nothing about speed, and no claim is asked of them.
MACHINES = "virtual machines on the host's own processor"
NO_SPEED = "emulated ones say nothing about speed"
# Statements about variation over a day are asked of windows of minutes, and not of seconds (s).
LONG_WINDOW = 600


def asking(plan: OverheadPlan, study: dict) -> Callable[[dict], list]:
    """A function from a claim to what it compares."""
    cells = [cell for cell in plan["cells"].values() if cell["runtime"] != EMULATED_MACHINE]

    def asked(claim: dict) -> list[Contrast]:
        a, b, scope = (claim.get(side, {}) for side in ("a", "b", "scope"))
        if not a or not b:
            return []
        # Named alike on both sides, a factor is like a scope's.
        varying = {factor for factor in {*a, *b} if a.get(factor) != b.get(factor)}
        if book.METRIC in varying:
            # Metrics are of benchmarks, and storage is what those of the disk have.
            varying |= {"benchmark", "storage"}
        contrasts: dict[Contrast, None] = {}
        for of_a, of_b in _pairs(claim, study["metrics"], varying):
            for cell in _of(cells, study["metrics"][of_a], {**scope, **a}):
                for other in _of(cells, study["metrics"][of_b], {**scope, **b}):
                    if (of_a == of_b and cell is other) or _left_out(claim, of_a, cell):
                        continue
                    if all(cell[factor] == other[factor] for factor in set(FACTORS) - varying):
                        contrasts.setdefault(Contrast(*(_side(claim, *one) for one in ((of_a, cell), (of_b, other)))))
        return list(contrasts)

    return asked


def _pairs(claim: dict, known: dict[str, dict], varying: set[str]) -> list[tuple[str, str]]:
    """Pairs of metrics: one against itself, unless the claim sets metrics or benchmarks against each other."""
    a, b = (claim[side].get(book.METRIC) for side in ("a", "b"))
    if a and b:
        return list(product(a, b))
    metrics = [metric for metric in claim["metrics"] if metric in known]
    if "benchmark" not in varying:
        return [(metric, metric) for metric in metrics]
    return [(one, other) for one in metrics for other in metrics if known[one]["benchmark"] != known[other]["benchmark"]]


def _of(cells: list[OverheadCell], metric: dict, wanted: dict[str, list[str]]) -> list[OverheadCell]:
    """Cells in which a metric is measured, with these levels; what a claim does not say of storage is each environment's
    own."""
    wanted = {"storage": [OWN], **wanted, "benchmark": wanted.get("benchmark", [metric["benchmark"]])}
    return [
        cell
        for cell in cells
        if cell["benchmark"] == metric["benchmark"]
        and cell["benchmark"] in wanted["benchmark"]
        and cell["storage"] in (ABSENT, *wanted["storage"])
        and cell["runtime"] in wanted.get("runtime", [cell["runtime"]])
    ]


def _left_out(claim: dict, metric: str, cell: OverheadCell) -> bool:
    """Whether the claim leaves out a combination of side a."""
    there = {**{factor: cell[factor] for factor in FACTORS}, "metric": metric}
    exceptions = book.listed(claim, "except")
    return any(all(there[factor] in levels for factor, levels in one.items()) for one in exceptions)


def _side(claim: dict, metric: str, cell: OverheadCell) -> Side:
    """A side, with bare metal as its reference if the claim is about losses."""
    if not quantities.find(claim.get("quantity")).relative:
        return Side(metric, cell["path"])
    return Side(metric, cell["path"], cell["path"].replace(f"/{cell['runtime']}", f"/{BARE}"), claim["quantity"])


def arrangements(plan: OverheadPlan) -> dict[str, OverheadPlan]:
    """One: the paper leaves nothing of it open."""
    return {"": plan}


def unfit(cell: OverheadCell) -> str | None:
    """None: every cell is what its levels say, however it is arranged."""
    return None


def lacks(plan: OverheadPlan) -> dict[str, str]:
    """What claims may need and this host does not have, or nobody measures, in words."""
    missing = {}
    if reason := no_machines(plan):
        missing |= dict.fromkeys(("vm", "hardware_virtualisation"), f"{MACHINES} ({reason}); {NO_SPEED}")
    elif plan.get("hypervisor"):
        missing["hardware_virtualisation"] = "a host that is no virtual machine itself, as those on it are nested"
    if "second_host" not in plan:
        missing["remote_host"] = "another machine at the other end of the network (second_host in config/config.yaml)"
    longest = max((cell["window_seconds"] for cell in plan["cells"].values()), default=0)
    if longest < LONG_WINDOW:
        wanted = f"overhead.window_seconds and storage_window_seconds: {LONG_WINDOW}"
        missing["long_windows"] = (
            f"windows of {LONG_WINDOW} s or more, as the paper's were of a day: how iterations vary within {longest:g} s is "
            f"another question{availability.in_time(plan, len(plan['cells']), LONG_WINDOW, wanted)}"
        )
    missing["rotating_disk"] = "a disk that turns, over a day: nobody has said that this one does"
    return missing


def no_machines(plan: OverheadPlan) -> str | None:
    """Why no virtual machine on the host's own processor is measured; None if one is."""
    reasons = {cell["reason"]: None for cell in plan["cells"].values() if cell["runtime"] == MACHINE}
    return None if None in reasons else next(iter(reasons), "the configuration leaves them out")


def elsewhere(claim: dict) -> dict | None:
    """None: a claim about overhead is asked of no other cells."""
    return None

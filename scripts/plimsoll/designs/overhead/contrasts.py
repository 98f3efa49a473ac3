"""Finds the cells that a claim compares on this host (claims.matching)."""

from collections.abc import Callable

from plimsoll import design
from plimsoll.claims import book, quantities
from plimsoll.claims.matching import Matcher, named_differently
from plimsoll.claims.sides import Side
from plimsoll.designs.overhead.factors import BARE, OWN, Factors, OverheadCell, OverheadPlan
from plimsoll.interchange import ABSENT
from plimsoll.planning import availability, virtual_machines

# Claims about variation over a day are tested with windows of minutes, and not with windows of seconds (s).
LONG_WINDOW = 600


class Cells(Matcher):
    """The cells of a plan without emulated virtual machines, which say nothing about speed."""

    factors = Factors.FACTORS

    def __init__(self, plan: OverheadPlan, known: dict[str, dict]):
        emulated = virtual_machines.EMULATED_MACHINE
        self.cells = [cell for cell in plan["cells"].values() if cell["runtime"] != emulated]
        self.known = known

    def of(self, metric: str, wanted: dict[str, list[str]]) -> list[OverheadCell]:
        """Return the cells with the wanted levels in which a metric is measured.

        If a claim names no storage, it is about each runtime's own storage.
        """
        benchmark = self.known[metric]["benchmark"]
        wanted = {"storage": [OWN], **wanted, "benchmark": wanted.get("benchmark", [benchmark])}
        return [
            cell
            for cell in self.cells
            if cell["benchmark"] == benchmark
            and cell["benchmark"] in wanted["benchmark"]
            and cell["storage"] in (ABSENT, *wanted["storage"])
            and cell["runtime"] in wanted.get("runtime", [cell["runtime"]])
        ]

    def compared_metrics(self, claim: dict) -> list[tuple[str, str]]:
        """Return the pairs of metrics to compare: each with itself, unless the claim compares metrics or benchmarks."""
        if book.METRIC in claim["a"] and book.METRIC in claim["b"]:
            return super().compared_metrics(claim)
        metrics = [metric for metric in claim["metrics"] if metric in self.known]
        if not {"benchmark", book.METRIC} & named_differently(claim):
            return [(metric, metric) for metric in metrics]
        of = {metric: self.known[metric]["benchmark"] for metric in metrics}
        return [(one, other) for one in metrics for other in metrics if of[one] != of[other]]

    def varying(self, claim: dict, metric_a: str, metric_b: str) -> set[str]:
        """Return the factors that the sides name differently.

        A metric belongs to a benchmark, and only benchmarks of the disk have a storage.
        """
        of_metric = {"benchmark", "storage"} if book.METRIC in named_differently(claim) else set()
        return super().varying(claim, metric_a, metric_b) | of_metric

    def sides(self, claim: dict, metric: str, cell: OverheadCell) -> list[Side]:
        """Return a metric in a cell as a side, with bare metal as its reference if the claim is about losses."""
        if not quantities.find(claim.get("quantity")).relative:
            return [Side(metric, cell["path"])]
        return [Side(metric, cell["path"], cell["path"].replace(f"/{cell['runtime']}", f"/{BARE}"), claim["quantity"])]


class Contrasts(design.Contrasts):
    """Comparisons of a study of overhead."""

    def comparison_finder(self, plan: OverheadPlan, study: dict) -> Callable[[dict], list]:
        """Return a function from a claim to what it compares."""
        return Cells(plan, study["metrics"]).comparisons

    def unmet_needs(self, plan: OverheadPlan) -> dict[str, str]:
        """Return what claims may need and this host does not have, or Plimsoll does not measure, in words."""
        missing = virtual_machines.unmet_needs(plan)
        if "second_host" not in plan:
            missing["remote_host"] = "another machine at the other end of the network (second_host in config/config.yaml)"
        longest = max((cell["window_seconds"] for cell in plan["cells"].values()), default=0)
        if longest < LONG_WINDOW:
            wanted = f"overhead.window_seconds and storage_window_seconds: {LONG_WINDOW}"
            missing["long_windows"] = (
                f"windows of {LONG_WINDOW} s or more, as the paper's were of a day: how iterations vary within {longest:g} s "
                f"is another question{availability.in_time(plan, len(plan['cells']), LONG_WINDOW, wanted)}"
            )
        missing["rotating_disk"] = "a rotating disk, over a day (whether this disk rotates is not known)"
        return missing

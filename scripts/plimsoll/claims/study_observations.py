"""Observations of a study, in the form that claims use."""

from collections.abc import Hashable, Iterable, Iterator, Set
from functools import cached_property
from itertools import chain

import numpy as np
import pandas as pd

from plimsoll.analysis import blocks, cell_paths, neighbours, spreads
from plimsoll.analysis.blocks import Sample
from plimsoll.analysis.spreads import NOTHING, Lent, Spread
from plimsoll.analysis.summaries import Summary
from plimsoll.claims import quantities
from plimsoll.claims.sides import Contrast, Side
from plimsoll.errors import Unavailable
from plimsoll.interchange import Plan
from plimsoll.measuring import status
from plimsoll.planning import availability

# Column of the table of runs: seconds of the run itself, without the rest of its launch.
OWN = "run_seconds"
EMPTY = Sample(np.empty(0), np.empty(0), np.empty(0, bool))


class StudyObservations:
    """What was observed of a study: samples by side, and what carried the messages by cell.

    `unwatched` are the cells with a run whose neighbours could not be distinguished from the run itself. `brief` leaves
    out the paper's own procedure and the bootstrap intervals. They are reported beside a comparison, take most of the
    time, and decide nothing.
    """

    unwatched: Set[str] = frozenset()
    brief = False

    def __init__(self, study: dict, plan: Plan, observations: pd.DataFrame, runs: pd.DataFrame, brief: bool = False):
        self.brief = brief
        self.study, self.plan, self.metrics = study, plan, study["metrics"]
        self.unavailable_metrics = availability.metrics(plan, study, list(self.metrics))
        self._single: dict[tuple[str, str], Sample] = {}
        observations = observations.assign(block=blocks.numbers(observations)).sort_values(["block", "repetition"])
        for key, group in observations.groupby(["metric", *plan["factors"]], sort=False):
            values, censored = group["value"].to_numpy(), group["censored"].to_numpy()
            path = cell_paths.of_row(dict(zip(plan["factors"], key[1:], strict=True)), plan["factors"])
            self._single[key[0], path] = Sample(values.astype(float), blocks.numbers(group), censored.astype(bool))
        self._by_block = {key: blocks.by_block(sample, blocks.geometric_mean) for key, sample in self._single.items()}
        valid = runs[runs["status"] == status.VALID] if "transport" in runs else runs.head(0)
        self._seconds = _seconds(runs, plan["factors"])
        self.unwatched = neighbours.cells(runs, plan["factors"])
        self.transports = (
            valid["transport"].groupby(cell_paths.of_table(valid, plan["factors"])).agg(list).to_dict() if len(valid) else {}
        )

    def unavailable(self, asked) -> Unavailable | None:
        """Return why a contrast, a trend or a printed value cannot be measured here; None if it can."""
        sides = asked if isinstance(asked, list) else [asked]
        reasons = (self.plan["cells"][path]["reason"] for side in sides for path in side.cells)
        metrics = (self.unavailable_metrics.get(metric) for side in sides for metric in side.metrics)
        return next(chain((Unavailable(reason) for reason in reasons if reason), filter(None, metrics)), None)

    def short_of_time(self, cells: Iterable[str]) -> bool:
        """Return whether a cell has fewer blocks than a comparison needs because the given time was too short for more."""
        enough = min(blocks.SMALLEST, self.plan["repetitions"])
        planned = (self.plan["cells"][path] for path in cells if path in self.plan["cells"])
        few = any(cell["reason"] is None and cell["repetitions"] < enough * cell.get("per_block", 1) for cell in planned)
        # Designs without stages may plan fewer blocks of some cells, whatever time is given.
        return few and self.study.design.factors.STAGES

    def seconds(self, cell: str) -> float:
        """Return the mean seconds of a cell's runs, from the wait for an idle machine to the removal of the containers.

        If the cell was not run, it is the plan's estimate.
        """
        return self._seconds.get(cell, self.plan["cells"][cell]["expected_seconds"])

    @cached_property
    def unmet_needs(self) -> dict[str, str]:
        """What claims may need and this host does not have, in words, by the name of the need."""
        return self.study.design.contrasts.unmet_needs(self.plan)

    def values(self, metric: str, cell: str) -> Sample:
        """Return the observations of a metric in a cell, one value per block: the geometric mean of the block's values."""
        return self._by_block.get((metric, cell), EMPTY)

    def summary(self, metric: str, cell: str) -> Summary | None:
        """Return the mean of a metric in a cell if nothing pairs its values with those of other cells; here blocks do."""
        return None

    def single(self, metric: str, cell: str) -> Sample:
        """Return every single value. A block may have several values, such as iterations of a loop."""
        return self._single.get((metric, cell), EMPTY)

    @cached_property
    def _lent(self) -> dict[str, dict[Hashable, Lent]]:
        """Cache of what comparisons lend, by metric and by kinds of cells, for the metrics that were needed so far."""
        return {}

    def lent(self, contrast: Contrast) -> Lent:
        """Return what differences of a metric within a block, between cells of the same kinds, lend to one of them.

        NOTHING for two metrics, and for two values of one cell: these have more in common than two cells.
        """
        a, b = contrast.a, contrast.b
        if a.metric != b.metric or a.cell == b.cell:
            return NOTHING
        if a.metric not in self._lent:
            self._lent[a.metric] = spreads.of_kinds(self._compared(a.metric))
        return self._lent[a.metric].get(self._kinds(a.cell, b.cell), NOTHING)

    def _compared(self, metric: str) -> Iterator[tuple[Hashable, Spread]]:
        """Yield (kinds, spread) of differences of a metric between cells that differ in one factor.

        Counts and shares are left out. They may be the same in every run, which says nothing about the metrics that vary.
        """
        unit = self.metrics[metric]["unit"]
        if unit == "count" or unit.startswith("share"):
            return
        levels = {
            cell: [str(self.plan["cells"][cell].get(factor)) for factor in self.plan["factors"]]
            for (name, cell), one in self._by_block.items()
            if name == metric and cell in self.plan["cells"] and (one.values > 0).all() and not one.censored.any()
        }
        for a, b in spreads.neighbours(levels):
            in_a, in_b = blocks.within_blocks(self.values(metric, a), self.values(metric, b))
            if len(in_a) >= blocks.SMALLEST:
                yield self._kinds(a, b), Spread(float(np.log(in_a / in_b).std(ddof=1)), len(in_a) - 1)

    def _kinds(self, *cells: str) -> frozenset:
        """Return the kinds of cells: their levels of the factors in `OF_LEVELS`, by which variance is reported."""
        factors = self.study.design.factors.OF_LEVELS
        return frozenset(tuple(self.plan["cells"].get(cell, {}).get(factor) for factor in factors) for cell in cells)

    def sample(self, side: Side) -> Sample:
        """Return what a side is about, one value per block, as the quantity of the side defines it."""
        return quantities.find(side.quantity).sample(self, side)


def _seconds(runs: pd.DataFrame, factors: list[str]) -> dict[str, float]:
    """Return the mean seconds of a run, by cell: the sum of what its phases took (columns that end with _seconds).

    Of phases that are common to a launch, a run has its share.
    """
    phases = [column for column in runs if column.endswith("_seconds")]
    # A run without a record has no times.
    runs = runs[runs[phases].notna().any(axis=1)]
    if runs.empty:
        return {}
    shared = [column for column in phases if column != OWN]
    own = runs[OWN].fillna(0) if OWN in runs else 0
    each = own + runs[shared].sum(axis=1) / runs.get("runs_in_launch", 1)
    return each.groupby(cell_paths.of_table(runs, factors)).mean().to_dict()

"""What was observed of a study, as claims ask for it."""

from dataclasses import replace

import numpy as np
import pandas as pd

from plimsoll import contention, designs
from plimsoll import plan as planning
from plimsoll.claims import estimates
from plimsoll.claims.estimates import Sample
from plimsoll.claims.sides import Side
from plimsoll.interference import statistics as interference

# Statistics that a claim may set against each other, of the values of a block.
MIDDLES = {"mean": np.mean, "median": np.median, "trimmed_mean": lambda values: interference.summary(values)["trimmed_mean"]}


class Measured:
    """What was observed of a study: samples by side, and what carried the messages by cell."""

    def __init__(self, study: dict, plan: dict, observations: pd.DataFrame, runs: pd.DataFrame):
        self.study, self.plan, self.metrics = study, plan, study["metrics"]
        self.design = designs.find(plan["design"])
        self.unseen = planning.unseen(plan, study, list(self.metrics))
        # Every single value, of which a block may have several: iterations of a loop.
        self.single: dict[tuple[str, str], Sample] = {}
        observations = observations.sort_values("repetition")
        for key, group in observations.groupby(["metric", *plan["factors"]], sort=False):
            columns = (group[name].to_numpy() for name in ("value", "repetition", "censored"))
            values, blocks, censored = columns
            self.single[key[0], "/".join(key[1:])] = Sample(values.astype(float), blocks, censored.astype(bool))
        self.samples = {key: estimates.by_block(sample, np.mean) for key, sample in self.single.items()}
        valid = runs[runs["status"] == "valid"] if "transport" in runs else runs.head(0)
        paths = valid[plan["factors"]].agg("/".join, axis=1) if len(valid) else pd.Series(dtype=str)
        self.transports = valid["transport"].groupby(paths).agg(list).to_dict() if len(valid) else {}

    def reason(self, asked) -> str | None:
        """Why a contrast, a trend or a printed value cannot be measured here; None if it can."""
        sides = asked if isinstance(asked, list) else [asked]
        cells = (self.plan["cells"][path]["reason"] for side in sides for path in side.cells)
        unseen = (self.unseen.get(metric) for side in sides for metric in side.metrics)
        return next(filter(None, (*cells, *unseen)), None)

    def sample(self, side: Side) -> Sample:
        """Observations of a side, one a block: values of the metric; or with a reference losses relative to it (fractions,
        positive is worse), or the memory contention ratio; or a statistic of each block's values. A count is half a count
        more, so that none has a logarithm."""
        empty = Sample(np.empty(0), np.empty(0), np.empty(0, bool))
        if side.quantity in MIDDLES:
            return estimates.by_block(self.single.get((side.metric, side.cell), empty), MIDDLES[side.quantity])
        own = self.samples.get((side.metric, side.cell), empty)
        if side.reference is None:
            return replace(own, values=own.values + 0.5) if self.metrics[side.metric]["unit"] == "count" else own
        reference = self.samples.get((side.metric, side.reference), empty)
        blocks = np.intersect1d(own.blocks, reference.blocks)
        value, before = estimates.within_blocks(own, reference)
        if side.quantity == "memory contention ratio":
            return Sample(contention.ratio(value, before), blocks, np.zeros(len(value), bool))
        kept = value / before if self.metrics[side.metric]["better"] == "higher" else before / value
        return Sample(1 - kept, blocks, np.zeros(len(kept), bool))

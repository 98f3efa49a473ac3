"""Recommend which microservices may share a container, from their interference ratios there (jha2021, second question)."""

import numpy as np
import pandas as pd

from plimsoll.designs.interference.cells import NOBODY

MAY, MAY_NOT, OPEN = "may share", "should not share", "undecided"


def pairs(statistics: pd.DataFrame, study: dict) -> pd.DataFrame:
    """Return one row per pair of microservices with the `verdict` on sharing a container (case 2).

    For each of the cases 2, 3a and 3b a row has the worst interference ratio of all metrics of both members. Its
    columns are `ratio`, the interval `low` and `high`, and `what`, the metric's label. The interval belongs to that one
    ratio; it does not account for having chosen the worst. Metrics that only explain others are left out.

    A pair may share a container if the intervals of all its ratios in case 2 lie above `tolerable`, and should not if
    one lies below. The verdict must be the same in every placement of clients and servers that was measured; otherwise
    it is undecided.
    """
    explaining = [name for name, metric in study["metrics"].items() if metric.get("why")]
    beside = statistics[(statistics["co_runner"] != NOBODY) & ~statistics["metric"].isin(explaining)]
    names = [" + ".join(sorted(pair)) for pair in zip(beside["benchmark"], beside["co_runner"], strict=True)]
    rows = []
    for pair, group in beside.groupby(np.array(names), sort=False):
        row = {"pair": pair, "a": group["benchmark"].iloc[0], "b": group["co_runner"].iloc[0]}
        for case, of_case in group.groupby("case"):
            known = of_case.dropna(subset=["interference_ratio"])
            if known.empty:
                continue
            worst = known.loc[known["interference_ratio"].idxmin()]
            row.update({f"ratio_{case}": worst["interference_ratio"], f"low_{case}": worst["ratio_low"]})
            row.update({f"high_{case}": worst["ratio_high"], f"what_{case}": worst["label"]})
        rows.append({**row, "verdict": _of_placements(group[group["case"] == "2"], study["tolerable"])})
    table = pd.DataFrame(rows) if rows else pd.DataFrame(columns=["pair", "a", "b", "verdict"])
    return table.sort_values("ratio_2", ascending=False, ignore_index=True) if "ratio_2" in table else table


def _of_placements(shared: pd.DataFrame, tolerable: float) -> str:
    verdicts = {_verdict(group, tolerable) for _, group in shared.groupby("placement")}
    return verdicts.pop() if len(verdicts) == 1 else OPEN


def _verdict(shared: pd.DataFrame, tolerable: float) -> str:
    low, high = shared["ratio_low"], shared["ratio_high"]
    if (high < tolerable).any():
        return MAY_NOT
    if len(shared) and (low > tolerable).all():
        return MAY
    return OPEN

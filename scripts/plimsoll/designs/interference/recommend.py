"""Which microservices may share a container, by how they fare there: jha2021's second research question."""

import numpy as np
import pandas as pd

from plimsoll.designs.interference.cells import NOBODY

MAY, MAY_NOT, OPEN = "may share", "should not share", "undecided"


def pairs(statistics: pd.DataFrame, study: dict) -> pd.DataFrame:
    """One row per pair: for cases 2, 3a and 3b the worst interference ratio of all metrics of both its members with its
    interval (`ratio`, `low`, `high`), `what` it is a ratio of, and the `verdict` on sharing a container (case 2).

    A pair may share one if the worst ratio's interval lies above `tolerable`, and should not if it lies below, in every
    placement of clients and servers that was measured. The interval is that of the one ratio that is worst, and takes no
    account of the choice. Metrics that only explain others are left out.
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

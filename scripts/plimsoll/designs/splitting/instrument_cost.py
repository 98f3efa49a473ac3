"""The cost of instruments: ordinary values of runs under an instrument, compared with runs without one.

Also compares two ways to count the same thing.
"""

import pandas as pd

from plimsoll.analysis import paper_tests
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.instruments.base import Instrument

KEYS = ["metric", *(factor for factor in OF_DEPLOYMENT if factor != "instrument")]


def cross_checks(observations: pd.DataFrame, pairs: dict[str, str]) -> list[dict]:
    """Return one row per metric, hardware setting and mode, with the means of two metrics that should agree.

    `mean` is the mean of the metric, and `mean_other` of its partner in `pairs`, over the same runs; `n` is their number.
    """
    rows = []
    for metric, other in pairs.items():
        run = [*OF_DEPLOYMENT, "section", "repetition"]
        both = (observations.loc[observations["metric"] == name, [*run, "label", "value"]] for name in (metric, other))
        joined = pd.merge(*both, on=run, suffixes=("", "_other"))
        for (hardware, mode), group in joined.groupby(["hardware", "mode"]):
            means = {"mean": group["value"].mean(), "mean_other": group["value_other"].mean()}
            rows.append({"label": group["label"].iloc[0], "hardware": hardware, "mode": mode, "n": len(group), **means})
    return rows


def cost(observations: pd.DataFrame, alpha: float) -> list[dict]:
    """Return one row per instrument, metric and cell that was measured both with and without the instrument.

    A row has the number of runs with (`n`) and without it (`n_plain`). It also has the ratio with / without of the geometric
    means, with its 95 % interval (Welch's test on logarithms) and p. `p_holm` is p adjusted for the number of rows, and
    `differs` says whether it is below alpha.
    """
    metrics = observations.loc[observations["instrument"] == Instrument.name, "metric"].unique()
    usable = observations[observations["metric"].isin(metrics) & ~observations["censored"].astype(bool)]
    groups = dict(iter(usable.groupby([*KEYS, "instrument"])))
    rows = []
    for key, watched in groups.items():
        plain = groups.get((*key[:-1], Instrument.name))
        if key[-1] == Instrument.name or plain is None or min(len(watched), len(plain)) < 2:
            continue
        compared = paper_tests.compare(watched["value"].to_numpy(float), plain["value"].to_numpy(float), alpha)
        described = dict(zip([*KEYS, "instrument"], key, strict=True))
        numbers = {name: compared[name] for name in ("ratio", "ratio_low", "ratio_high", "p")}
        label = watched[["label", "unit"]].iloc[0].to_dict()
        rows.append({**described, **label, "n": len(watched), "n_plain": len(plain), **numbers, "p_holm": float("nan")})
    # Values that are all equal have no p.
    paper_tests.adjust(rows, "p", "p_holm")
    for row in rows:
        row["differs"] = row["p_holm"] < alpha
    return sorted(rows, key=lambda row: (row["instrument"], row["mode"], row["scheme"], row["metric"]))

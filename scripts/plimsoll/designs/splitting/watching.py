"""What watching costs: the ordinary values of runs under an instrument, compared with those of runs without. Also whether two
ways to count agree."""

import pandas as pd

from plimsoll.analysis import paper_tests
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.instruments.base import Instrument

KEYS = ["metric", *(factor for factor in OF_DEPLOYMENT if factor != "instrument")]


def cross_checks(observations: pd.DataFrame, pairs: dict[str, str]) -> list[dict]:
    """One row per metric, hardware setting and mode: its mean, the mean of the metric that should agree with it over the same
    runs, and the number of these runs."""
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
    """One row per instrument, metric and cell that was measured both ways: n of both, the ratio with / without of the geometric
    means with its 95 % interval (Welch's test on logarithms), p, that adjusted for their number (`p_holm`), and whether the
    adjusted one is below alpha (`differs`)."""
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
    # Values that are all the same have no p.
    paper_tests.adjust(rows, "p", "p_holm")
    for row in rows:
        row["differs"] = row["p_holm"] < alpha
    return sorted(rows, key=lambda row: (row["instrument"], row["mode"], row["scheme"], row["metric"]))

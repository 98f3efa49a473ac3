"""From observations to one row a cell: what every chart of measurements starts from."""

import numpy as np
import pandas as pd

from plimsoll import statistics
from plimsoll.splitting.cells import FACTORS

MODES = {"exact": "exactly subscribed", "over": "over-subscribed"}
LEVELS = {"any": "ANY", "pin": "PIN", "cpu": "CPU", "cpumem": "CPUMEM", "cpumempin": "CPUMEMPIN"}
COLUMNS = (
    *FACTORS,
    *("containers", "ranks_per_container", "n", "censored", "planned", "mean", "median", "minimum", "maximum", "sd"),
    *("mean_low", "mean_high", "ratio_to_bare"),
)


def summarise(observations: pd.DataFrame, metric: str, plan: dict) -> pd.DataFrame:
    """One row a cell of the plan: n, how many of them hit their limit, mean, median, minimum, maximum, SD, the mean's 95 %
    interval, and the ratio to bare metal with the same cores (or, where that does not exist, bare metal's only scheme).

    A cell without runs that count is a row with n = 0. Where runs hit their limit the mean is only a bound; it has no interval.
    """
    factors = list(FACTORS)
    chosen = observations[observations["metric"] == metric]
    groups = {tuple(key): group for key, group in chosen.groupby(factors)}
    rows = [_row(cell, groups, plan["repetitions"]) for cell in plan["cells"]]
    unit = chosen["unit"].iloc[0] if len(chosen) else ""
    table = pd.DataFrame(rows).reindex(columns=list(COLUMNS)).assign(metric=metric, unit=unit)
    return table.sort_values(["hardware", "mode", "affinity", "scheme", "runtime", "yield"], ignore_index=True)


def _row(cell: dict, groups: dict[tuple, pd.DataFrame], planned: int) -> dict:
    group = groups.get(tuple(cell[factor] for factor in FACTORS))
    row = {**cell, "n": 0 if group is None else len(group), "planned": planned}
    if group is None:
        return row
    found = group["value"].to_numpy(float)
    low, high = statistics.mean_interval(found)
    row.update(
        censored=int(group["censored"].sum()),
        mean=found.mean(),
        median=np.median(found),
        minimum=found.min(),
        maximum=found.max(),
        sd=found.std(ddof=1) if len(found) > 1 else np.nan,
    )
    if not row["censored"]:
        row.update(mean_low=low, mean_high=high)
    for scheme in (cell["scheme"], cell["scheme"][0] + "1"):
        baseline = groups.get(tuple({**cell, "runtime": "bare", "scheme": scheme}[factor] for factor in FACTORS))
        if baseline is not None:
            row["ratio_to_bare"] = found.mean() / baseline["value"].mean()
            break
    return row


def ratio_to(table: pd.DataFrame, reference: pd.Series, keys: list[str]) -> pd.Series:
    """Each row's mean over that of the row, among those that `reference` marks, which has the same `keys`; NaN without one."""
    means = table[reference].set_index(keys)["mean"]
    return table["mean"] / [means.get(key, np.nan) for key in table[keys].itertuples(index=False, name=None)]


def scheme_names(part: pd.DataFrame) -> list[str]:
    """Each scheme with containers x ranks per container below it, in order."""
    counts = part.groupby("scheme")[["containers", "ranks_per_container"]].first().sort_index()
    return [f"{row.Index}\n{row.containers} x {row.ranks_per_container}" for row in counts.itertuples()]


def sample_size(summary: pd.DataFrame) -> str:
    """'n = 5' or 'n = 3 to 5': the runs a cell."""
    counts = sorted(summary["n"].unique())
    return f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"


def not_measured(plan: dict) -> str:
    """Sentences for the end of a caption: what could not be measured here, and why."""
    return "".join(f" Not measured, {reason}." for reason in plan["impossible"])


def axis_label(observations: pd.DataFrame, metric: str) -> str:
    """The metric with its unit; the name alone if there is no observation of it."""
    described = observations[observations["metric"] == metric]
    label, unit = described[["label", "unit"]].iloc[0] if len(described) else (metric, "")
    return f"{label}\n({unit})" if len(label) > 18 else f"{label} ({unit})"

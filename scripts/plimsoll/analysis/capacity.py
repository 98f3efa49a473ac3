"""Check that observations are possible: no run can do more than its cores, the memory or the link can.

Cells in which nothing else uses a resource show what it can do (`capacity` in docs/reference/meanings.yaml). A metric that
fails this check does not measure what its claims are about (Hoefler and Belli 2015, rules 3 and 4).

The best of a few runs is not the most that can be done. The limit is a one-sided prediction limit for all of m
observations (Hahn and Meeker 1991, section 4.8). If each observation is like the runs alone, the best of all exceeds it
by chance no more than once in 20 times. The limit is at least TOLERANCE above the best run. If a resource bounds a
metric, some runs are slow, and no runs are as much faster. The spread is therefore that of the faster half.
"""

from collections.abc import Iterator, Set
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from plimsoll.analysis import cell_paths
from plimsoll.interchange import Plan

# Processor clocks change from hour to hour. This share above the best run is therefore always allowed.
TOLERANCE = 0.1
# With fewer runs alone there is no limit.
FEWEST = 5
# Probability that the best of all observations exceeds the limit by chance.
ALPHA = 0.05
COLUMNS = ("metric", "label", "unit", "resource", "per", "best", "limit", "alone", "runs", "observations", "highest")
# Processors in use while an iteration ran, computed from two columns of the observations.
PROCESSORS = "processors_used"


class Checked(NamedTuple):
    """Result of the check.

    `table` has one row per metric that is checked, with COLUMNS. `above` has the observations that exceed their limit,
    with the `resource`, and with their ratio to the best run (`share`).
    """

    table: pd.DataFrame
    above: pd.DataFrame


def check(study: dict, plan: Plan, observations: pd.DataFrame, cells: Set[str] | None = None) -> Checked:
    """Compare the observations of a study with the limits that follow from its `capacity`.

    `cells` are those of a part of the study. For a part, only resources are checked whose cells alone are all in it.

    In the table, `best` is the best run alone and `limit` is what no observation may exceed, both per unit of `per`.
    For a time, both are reciprocals. `alone` names in words the cells that they are from, and `runs` is the number of
    observations in these cells: fewer than FEWEST set no limit. `observations` is how many observations are compared
    with the limit. The highest of them is `highest` times the best run.
    """
    rows, above = [], [observations.head(0).assign(resource="", share=0.0)]
    limited = {name: metric["limited_by"] for name, metric in study.get("metrics", {}).items() if "limited_by" in metric}
    for metric, resource in limited.items():
        own = observations[observations["metric"] == metric]
        if own.empty:
            continue
        one = study["capacity"][resource]
        if cells is not None and not _alone(one, plan) <= cells:
            continue
        rates, alone = _rates(own, one, plan), own[list(one["alone"])].isin(one["alone"]).all(axis=1)
        described = {key: own.iloc[0][key] for key in ("metric", "label", "unit", "better")}
        if described["better"] == "lower":
            described["unit"] = f"1/{described['unit']}"
        described |= {"resource": resource, "per": one.get("per", ""), "alone": _said(one["alone"])}
        rows.append({**described, "runs": int(alone.sum()), "observations": len(own)})
        if alone.sum() >= FEWEST:
            best, limit = rates[alone].max(), _limit(rates[alone], len(own))
            rows[-1] |= {"best": best, "limit": limit, "highest": rates.max() / best}
            exceeds = rates > limit
            above.append(own[exceeds].assign(resource=resource, share=rates[exceeds] / best))
    return Checked(pd.DataFrame(rows, columns=list(COLUMNS)), pd.concat(above))


def _alone(one: dict, plan: Plan) -> set[str]:
    """Return the paths of the cells that have a resource for themselves and can be measured."""
    known = ((path, cell) for path, cell in plan["cells"].items() if cell["reason"] is None)
    return {path for path, cell in known if all(cell[factor] in levels for factor, levels in one["alone"].items())}


def _limit(alone: pd.Series, observations: int) -> float:
    """Return the limit for the best of `observations` observations, from the rates of runs `alone`."""
    logs = np.log(alone)
    faster = logs[logs >= logs.median()] - logs.median()
    spread = np.sqrt((faster**2).mean() * (1 + 1 / len(alone)))
    quantile = stats.t.ppf(1 - ALPHA / observations, len(faster))
    return max(np.exp(logs.median() + quantile * spread), (1 + TOLERANCE) * alone.max())


def reasons(above: pd.DataFrame, plan: Plan) -> Iterator[tuple[tuple[str, int], str]]:
    """Yield ((cell, repetition), reason) of each run that has observations `above` what can be done."""
    worst = above.sort_values("share").drop_duplicates([*plan["factors"], "repetition"], keep="last")
    for path, row in zip(cell_paths.of_table(worst, plan["factors"]), worst.to_dict("records"), strict=True):
        yield (path, row["repetition"]), _reason(row)


def exceeding(runs: pd.DataFrame, label: str) -> int:
    """Return how many runs of a table are invalid because the metric with this label exceeded its limit (`reasons`)."""
    return int(runs["reason"].astype(str).str.startswith(_beginning(label)).sum())


def _reason(row: dict) -> str:
    return f"{_beginning(row['label'])}{row['share']:.2f} times the best of runs that have the {row['resource']} for themselves"


def _beginning(label: str) -> str:
    return f"its {label} is "


def _rates(own: pd.DataFrame, one: dict, plan: Plan) -> pd.Series:
    """Return the rate of each observation per unit of the resource; higher is faster."""
    rates = own["value"] if own.iloc[0]["better"] == "higher" else 1 / own["value"]
    for key, factor in ((one.get("each"), 1), (one.get("per"), -1)):
        if key == PROCESSORS:
            rates = rates * (own["cpu_seconds"] / own["wall_seconds"]) ** factor
        elif key:
            rates = rates * _numbers(own, key, plan) ** factor
    return rates


def _numbers(own: pd.DataFrame, key: str, plan: Plan) -> pd.Series:
    """Return a number of each observation's cell: a level of a factor, or what the plan says of the cell."""
    if key in own:
        return own[key].astype(float)
    return pd.Series([plan["cells"][path][key] for path in cell_paths.of_table(own, plan["factors"])], own.index, dtype=float)


def _said(levels: dict[str, list[str]]) -> str:
    return ", ".join(f"{factor} {' or '.join(known)}" for factor, known in levels.items())

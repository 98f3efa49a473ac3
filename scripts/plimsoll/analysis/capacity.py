"""Whether observations are possible: no run may do more than its cores, the memory or the link can.

Cells in which nothing else uses these show what they can do (`capacity` in the study, config/README.md). A metric
that fails this check does not measure what its claims are about (Hoefler and Belli 2015, rules 3 and 4).

The best of a few runs is not the most that can be done. The limit is what the best of all observations exceeds by chance no
more than once in 20 times, if each is like the runs alone (one-sided prediction limit for all of m observations; Hahn and
Meeker 1991, section 4.8), and no less than TOLERANCE above the best run. What a resource bounds has slow runs, and none that
are as much faster: the spread is that of the faster half.
"""

from collections.abc import Iterator, Set
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from plimsoll.analysis import cell_paths
from plimsoll.interchange import Plan

# Clocks of processors change from hour to hour: so much more than the best run is always allowed.
TOLERANCE = 0.1
# Fewer runs alone set no limit.
FEWEST = 5
# How often the best observation of all may exceed the limit by chance.
ALPHA = 0.05
COLUMNS = ("metric", "label", "unit", "resource", "per", "best", "limit", "alone", "runs", "observations", "highest")
# Processors in use while an iteration ran. It follows from two columns of the observations.
PROCESSORS = "processors_used"


class Checked(NamedTuple):
    """`table` has one row per metric that is checked, with COLUMNS. `above` has the observations that exceed their limit, with
    the `resource`, and with their `share` of the best run."""

    table: pd.DataFrame
    above: pd.DataFrame


def check(study: dict, plan: Plan, observations: pd.DataFrame, cells: Set[str] | None = None) -> Checked:
    """Hold the observations of a study against what its `capacity` says. Of a part of the study, which has these `cells`, only
    what the part has all cells alone of.

    In the table `best` is the best run alone (of a time its reciprocal), and `limit` what no observation may exceed, both for
    one of `per`. `alone` says in words which cells they are from, and `runs` how many observations these have; fewer than
    FEWEST set no limit. `observations` are held against the limit, and the highest is `highest` times the best run.
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
    """Paths of the cells that have a resource for themselves, of those that can be measured."""
    known = ((path, cell) for path, cell in plan["cells"].items() if cell["reason"] is None)
    return {path for path, cell in known if all(cell[factor] in levels for factor, levels in one["alone"].items())}


def _limit(alone: pd.Series, observations: int) -> float:
    """What the best of so many observations may reach, from the rates of runs `alone`."""
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
    """How many runs are invalid since this metric of theirs exceeded its limit (`reasons`), of a table of runs."""
    return int(runs["reason"].astype(str).str.startswith(_beginning(label)).sum())


def _reason(row: dict) -> str:
    return f"{_beginning(row['label'])}{row['share']:.2f} times the best of runs that have the {row['resource']} for themselves"


def _beginning(label: str) -> str:
    return f"its {label} is "


def _rates(own: pd.DataFrame, one: dict, plan: Plan) -> pd.Series:
    """What each observation does per unit of the resource, more being faster."""
    rates = own["value"] if own.iloc[0]["better"] == "higher" else 1 / own["value"]
    for key, factor in ((one.get("each"), 1), (one.get("per"), -1)):
        if key == PROCESSORS:
            rates = rates * (own["cpu_seconds"] / own["wall_seconds"]) ** factor
        elif key:
            rates = rates * _numbers(own, key, plan) ** factor
    return rates


def _numbers(own: pd.DataFrame, key: str, plan: Plan) -> pd.Series:
    """A number of each observation's cell: a level of a factor, or what the plan says of the cell."""
    if key in own:
        return own[key].astype(float)
    return pd.Series([plan["cells"][path][key] for path in cell_paths.of_table(own, plan["factors"])], own.index, dtype=float)


def _said(levels: dict[str, list[str]]) -> str:
    return ", ".join(f"{factor} {' or '.join(known)}" for factor, known in levels.items())

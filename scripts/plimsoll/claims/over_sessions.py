"""What several sessions of a study say together. A session is a level above blocks (Kalibera and Jones 2013).

Verdicts over sessions are those of the usual judge. From SMALLEST sessions on a session is the unit: sides are compared within
its blocks, and the mean of its differences is one value (blocks.units), whatever number of blocks it had. Of fewer sessions the
block is the unit, and verdicts are about the blocks of these sessions: they say nothing of how sessions differ. As each session
was judged when it was over, those together are judged at a lower `level`.
"""

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import optimize, special, stats

from plimsoll.analysis import blocks
from plimsoll.claims import findings, verdicts
from plimsoll.claims.deciding import CELL_COLUMNS
from plimsoll.claims.measured import Measured
from plimsoll.claims.quantities.base import RATIO
from plimsoll.config.studies import Study
from plimsoll.interchange import Plan

# What tells the comparisons of a claim apart.
KEYS = ("claim", "metric", "metric_b", *CELL_COLUMNS, "part", "arrangement")
COLUMNS = (
    *(*KEYS, "label", "scale", "sessions", "mean", "low", "high", "next_low", "next_high"),
    *("within", "between", "p_sessions", "keeps_sign"),
)


def together(study: Study, plan: Plan, observations: Sequence[pd.DataFrame], runs: Sequence[pd.DataFrame]) -> Measured:
    """What was observed in several sessions (observations and runs of each), with blocks numbered by session (blocks.SESSION)
    if sessions are the unit, and otherwise one after the other."""
    last = max((int(blocks.numbers(table).max()) for table in observations if len(table)), default=0)
    stride = blocks.SESSION if len(observations) >= blocks.SMALLEST else last
    numbered = [table.assign(block=blocks.numbers(table) + number * stride) for number, table in enumerate(observations, 1)]
    # Verdicts alone are told, not what stands beside a comparison of single blocks.
    return Measured(study, plan, pd.concat(numbered, ignore_index=True), pd.concat(list(runs), ignore_index=True), brief=True)


@functools.cache
def level(alpha: float, sessions: int) -> float:
    """The level at which sessions together are judged, if they were judged after each of them. Where each look is at this level
    chance decides at one of them in `alpha` (Pocock 1977; both directions). It is 0.0294 of two sessions for 0.05. The first
    session is judged at 0.05 all the same, when nobody knows of a second: at one of both looks chance decides in 7 %."""
    if sessions == 1:
        return alpha
    looks = np.arange(1, sessions + 1)
    shared = np.sqrt(np.minimum.outer(looks, looks) / np.maximum.outer(looks, looks))
    drawn = stats.multivariate_normal(np.zeros(sessions), shared, seed=1)

    def beyond(least: float) -> float:
        return alpha - 1 + drawn.cdf(np.full(sessions, least), lower_limit=np.full(sessions, -least))

    return round(float(2 * stats.norm.sf(optimize.brentq(beyond, 1.0, 8.0, xtol=1e-4))), 4)


def verdicts_of(results: Sequence[Mapping[str, dict]]) -> list[dict]:
    """One row per finding that some session settled or could test: its verdict in each session (`results`, by finding), and
    what `became` of it: what `outcome` says."""
    newest = results[-1]
    counted = findings.counted(list(newest.values()))
    rows = []
    for finding in counted:
        own = [session.get(finding["id"], NOT_THERE) for session in results]
        each = [result["verdict"] for result in own]
        if any(verdict in (*verdicts.SETTLED, verdicts.INCONCLUSIVE) for verdict in each):
            rows.append({"id": finding["id"], "statement": finding["statement"], "each": each, "became": outcome(own)})
    return rows


# The result of a session that did not ask.
NOT_THERE = {"verdict": ""}
# ONCE is also what is conditional in one session, and not in another.
ALIKE, TURNED, ONCE, NEVER = "the same in all", "turned", "settled in some", "settled in none"


def outcome(results: Sequence[Mapping]) -> str:
    """What became of a finding from session to session, by its results."""
    settled = [result for result in results if result["verdict"] in verdicts.SETTLED]
    if any(verdicts.opposite(one, other) for one, other in itertools.combinations(settled, 2)):
        return TURNED
    if not settled:
        return NEVER
    return ALIKE if len({result["verdict"] for result in results}) == 1 else ONCE


def means(comparisons: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One row per comparison that all sessions made, with COLUMNS, from each session's comparisons.

    `mean` is that of the sessions' effects, with its 95 % interval (`low`, `high`), and `next_low` to `next_high` holds the
    effect of one session more with a probability of 95 % (Hahn and Meeker 1991): both Student's, of session means. `within`
    and `between` are the standard deviations of a session's mean: what its blocks make one expect, and what it was.
    `p_sessions` is that of the F test whether sessions differ by more than their blocks. `keeps_sign` says whether one more
    session would most probably find a difference in the same direction.
    """
    tables = [_usable(table) for table in comparisons]
    shared = [key for key in tables[-1] if all(key in table for table in tables)]
    return pd.DataFrame([_over(key, [table[key] for table in tables]) for key in shared], columns=list(COLUMNS))


def _usable(table: pd.DataFrame) -> dict[tuple, dict]:
    known = table[table["low"].notna() & (table["n"] >= blocks.SMALLEST)]
    return {tuple("" if pd.isna(row.get(key)) else row.get(key) for key in KEYS): row for row in known.to_dict("records")}


def _over(key: tuple, rows: list[dict]) -> dict:
    """The row of one comparison, from its rows in each session."""
    ratio = rows[-1]["scale"] == RATIO
    found = [on_scale(row, math.log1p if ratio else float) for row in rows]
    values, errors, degrees = (np.array(column) for column in zip(*found, strict=True))
    number, mean, between = len(values), values.mean(), values.std(ddof=1) if len(values) > 1 else math.nan
    within = math.sqrt((errors**2).mean())
    half, ahead = (_quantile(number) * between * root for root in (1 / math.sqrt(number), math.sqrt(1 + 1 / number)))
    back = np.expm1 if ratio else float
    low, high = mean - ahead, mean + ahead
    return {
        **dict(zip(KEYS, key, strict=True)),
        "label": rows[-1]["label"],
        "scale": rows[-1]["scale"],
        "sessions": number,
        "mean": float(back(mean)),
        **{name: float(back(end)) for name, end in (("low", mean - half), ("high", mean + half))},
        **{name: float(back(end)) for name, end in (("next_low", low), ("next_high", high))},
        "within": within,
        "between": float(between),
        "p_sessions": float(stats.f.sf(between**2 / within**2, number - 1, degrees.sum())) if within else math.nan,
        "keeps_sign": bool(low > 0 or high < 0),
    }


def _quantile(number: int) -> float:
    """Of Student's t for so many session means; NaN of fewer than SMALLEST, of which an interval would say nothing."""
    return float(special.stdtrit(number - 1, 0.975)) if number >= blocks.SMALLEST else math.nan


def on_scale(row: Mapping, forth: Callable[[float], float]) -> tuple[float, float, float]:
    """(mean, standard error, degrees of freedom) of a comparison's effect on the scale of its test, by its own blocks; `forth`
    goes from an effect to that scale. Only a ratio's interval may be of another spread than its blocks' own."""
    low, high = (forth(row[end]) for end in ("low", "high"))
    degrees, own = int(blocks.degrees(int(row["n"]))), row.get("deviation", math.nan)
    of_blocks = row.get("scale") == RATIO and math.isfinite(own)
    error = own / math.sqrt(row["n"]) if of_blocks else (high - low) / 2 / special.stdtrit(degrees, 0.975)
    return (low + high) / 2, error, degrees

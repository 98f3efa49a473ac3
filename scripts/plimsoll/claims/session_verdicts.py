"""What several sessions of a study show together. A session is a level above blocks (Kalibera and Jones 2013).

The usual judge decides on several sessions. From SMALLEST sessions on, a session is the unit. Sides are compared within
its blocks, and the mean of its differences is one value (independence.units), whatever its number of blocks. With fewer
sessions the block is the unit. Verdicts are then about the blocks of these sessions, and say nothing about how sessions
differ. Each session was already judged when it ended, so sessions together are judged at a lower `level`.
"""

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import optimize, special, stats

from plimsoll.analysis import blocks, independence
from plimsoll.claims import result_counts, verdicts
from plimsoll.claims.decision_cost import CELL_COLUMNS
from plimsoll.claims.quantities.base import RATIO
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config.studies import Study
from plimsoll.interchange import Plan

# Columns that tell the comparisons of a claim apart.
KEYS = ("claim", "metric", "metric_b", *CELL_COLUMNS, "part", "arrangement")
COLUMNS = (
    *(*KEYS, "label", "scale", "sessions", "mean", "low", "high", "next_low", "next_high"),
    *("within", "between", "p_sessions", "keeps_sign"),
)


def pooled_observations(
    study: Study, plan: Plan, observations: Sequence[pd.DataFrame], runs: Sequence[pd.DataFrame]
) -> StudyObservations:
    """Return what was observed in several sessions, from the tables of observations and runs of each session.

    If sessions are the unit, blocks are numbered by session (independence.SESSION). Otherwise the blocks of one session
    follow those of the one before.
    """
    last = max((int(blocks.numbers(table).max()) for table in observations if len(table)), default=0)
    stride = independence.SESSION if len(observations) >= blocks.SMALLEST else last
    numbered = [table.assign(block=blocks.numbers(table) + number * stride) for number, table in enumerate(observations, 1)]
    # Only verdicts are reported, without what else is computed for a comparison of single blocks.
    return StudyObservations(
        study, plan, pd.concat(numbered, ignore_index=True), pd.concat(list(runs), ignore_index=True), brief=True
    )


@functools.cache
def level(alpha: float, sessions: int) -> float:
    """Return the level at which sessions are judged together, if they were judged after each of them.

    If each look is at this level, the probability that chance decides at one of them is `alpha` (Pocock 1977; both
    directions). For two sessions and 0.05 it is 0.0294. The first session is still judged at 0.05, because a second one
    is not yet known then. So chance decides at one of both looks in 7 %.
    """
    if sessions == 1:
        return alpha
    looks = np.arange(1, sessions + 1)
    shared = np.sqrt(np.minimum.outer(looks, looks) / np.maximum.outer(looks, looks))
    drawn = stats.multivariate_normal(np.zeros(sessions), shared, seed=1)

    def beyond(least: float) -> float:
        return alpha - 1 + drawn.cdf(np.full(sessions, least), lower_limit=np.full(sessions, -least))

    return round(float(2 * stats.norm.sf(optimize.brentq(beyond, 1.0, 8.0, xtol=1e-4))), 4)


def verdicts_of(results: Sequence[Mapping[str, dict]]) -> list[dict]:
    """Return one row per claim that some session decided or could test: its verdict in each session, and its `outcome`.

    `results` has the results of each session by claim. The outcome is in `became`.
    """
    newest = results[-1]
    counted = result_counts.without_repeats(list(newest.values()))
    rows = []
    for finding in counted:
        own = [session.get(finding["id"], NOT_THERE) for session in results]
        each = [result["verdict"] for result in own]
        if any(verdict in (*verdicts.DECIDED, verdicts.INCONCLUSIVE) for verdict in each):
            rows.append({"id": finding["id"], "statement": finding["statement"], "each": each, "became": outcome(own)})
    return rows


# Result of a claim in a session that did not test it.
NOT_THERE = {"verdict": ""}
# ONCE also stands for a claim that is conditional in one session and not in another.
ALIKE, TURNED, ONCE, NEVER = "the same in all", "turned", "decided in some", "decided in none"


def outcome(results: Sequence[Mapping]) -> str:
    """Return what became of a claim from session to session, by its results: ALIKE, TURNED, ONCE or NEVER."""
    decided = [result for result in results if result["verdict"] in verdicts.DECIDED]
    if any(verdicts.opposite(one, other) for one, other in itertools.combinations(decided, 2)):
        return TURNED
    if not decided:
        return NEVER
    return ALIKE if len({result["verdict"] for result in results}) == 1 else ONCE


def means(comparisons: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return one row per comparison that all sessions made, with COLUMNS, from the comparisons of each session.

    `mean` is the mean of the sessions' effects, with its 95 % interval (`low`, `high`). The effect of one more session
    lies from `next_low` to `next_high` with a probability of 95 % (Hahn and Meeker 1991). Both are Student's intervals
    of session means. `within` and `between` are standard deviations of a session's mean: the one expected from its
    blocks, and the measured one. `p_sessions` is the p of the F test whether sessions differ by more than their blocks.
    `keeps_sign` says whether one more session would most probably find a difference in the same direction.
    """
    tables = [_usable(table) for table in comparisons]
    shared = [key for key in tables[-1] if all(key in table for table in tables)]
    return pd.DataFrame([_over(key, [table[key] for table in tables]) for key in shared], columns=list(COLUMNS))


def _usable(table: pd.DataFrame) -> dict[tuple, dict]:
    known = table[table["low"].notna() & (table["n"] >= blocks.SMALLEST)]
    return {tuple("" if pd.isna(row.get(key)) else row.get(key) for key in KEYS): row for row in known.to_dict("records")}


def _over(key: tuple, rows: list[dict]) -> dict:
    """Return the row of one comparison, from its rows in each session."""
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
    """Return the 97.5 % quantile of Student's t for a number of session means.

    It is NaN for fewer than SMALLEST sessions, because an interval would then say nothing.
    """
    return float(special.stdtrit(number - 1, 0.975)) if number >= blocks.SMALLEST else math.nan


def on_scale(row: Mapping, forth: Callable[[float], float]) -> tuple[float, float, float]:
    """Return (mean, standard error, degrees of freedom) of a comparison's effect on the scale of its test, by its own blocks.

    `forth` converts an effect to that scale. The error follows from the interval, except for a ratio with a known
    `deviation`: its interval may use the spread of other comparisons.
    """
    low, high = (forth(row[end]) for end in ("low", "high"))
    degrees, own = int(independence.degrees(int(row["n"]))), row.get("deviation", math.nan)
    of_blocks = row.get("scale") == RATIO and math.isfinite(own)
    error = own / math.sqrt(row["n"]) if of_blocks else (high - low) / 2 / special.stdtrit(degrees, 0.975)
    return (low + high) / 2, error, degrees

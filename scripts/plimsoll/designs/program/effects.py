"""What each runtime and each step costs a metric: changes within blocks, with intervals. Pure functions of observations."""

from itertools import pairwise

import numpy as np
import pandas as pd

from plimsoll.analysis import blocks, paper_tests
from plimsoll.designs.program import ladder
from plimsoll.designs.program.factors import ALONE, BESIDE, FILES, FIRST, HOST, OTHER, REMEDY, SAME, STAGES, STEPS

# What a default is beside the baseline, and what it adds to the image's files.
DEFAULT, CONTAINER = "its default", "its container"
# What a run beside a neighbour has more than one without it.
NEIGHBOUR = {(SAME, True): "a neighbour on this host", (SAME, False): "a neighbour in the same container"}
NEIGHBOUR[OTHER, False] = "a neighbour in another container"
# How often p is read in a stage, if not once: the first pass goes on where it shows no cost at half of the time.
READINGS = {FIRST: 2}
COLUMNS = (
    "stage",
    "default",
    "metric",
    "runtime",
    "against",
    "adds",
    "change",
    "low",
    "high",
    "n",
    "value",
    "deviation",
    "p",
    "p_holm",
)


def table(observations: pd.DataFrame) -> pd.DataFrame:
    """Return one row per metric and comparison, with COLUMNS.

    `change` is the relative difference of `runtime` from `against`, with its 95 % interval, in `n` blocks. `value` is the mean
    of the runtime's runs. `deviation` is the standard deviation of the logarithms of ratios within blocks.
    `p` is of no change, and `p_holm` is adjusted for the comparisons of the metric in the stage, and for READINGS. Where every
    block has the same ratio, as counts may, it is that of a sign test. A step leads from one measured level to the next, and
    adds what all levels between them add.
    """
    rows = []
    if observations.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    for metric, own in observations.groupby("metric", sort=False, observed=True):
        made = [
            {**row, "metric": metric, **_change(own, row["stage"], row["runtime"], row["against"])} for row in _compared(own)
        ]
        for stages in (*((stage,) for stage in STAGES), BESIDE):
            paper_tests.adjust([row for row in made if row["stage"] in stages], "p", "p_holm")
        for row in made:
            row["p_holm"] = float(np.minimum(1.0, READINGS.get(row["stage"], 1) * row.get("p_holm", np.nan)))
        rows += made
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _compared(own: pd.DataFrame) -> list[dict]:
    """Return the comparisons that can be made of the observations of a metric: stage, runtimes, and what the step adds."""
    there = {stage: set(rows["runtime"]) for stage, rows in own.groupby("stage", observed=True)}
    first = there.get(FIRST, set())
    baseline = HOST if HOST in first else FILES
    found = []
    if {HOST, FILES} <= first:
        found.append({"stage": FIRST, "default": "", "runtime": FILES, "against": HOST, "adds": ladder.adds(FILES)})
    found += [
        {"stage": FIRST, "default": name, "runtime": name, "against": baseline, "adds": DEFAULT}
        for name in ladder.DEFAULTS
        if name in first
    ]
    if {HOST, FILES} <= first:
        found += [{**row, "against": FILES, "adds": CONTAINER} for row in found if row["default"]]
    found += [
        {"stage": FIRST, "default": name, "runtime": name, "against": one, "adds": ladder.SPLITTING}
        for name in ladder.OF_SPLIT
        if name in first and (one := ladder.unsplit(name)) in first
    ]
    for default in ladder.DEFAULTS:
        levels = [level for level in (HOST, *ladder.levels(default)) if level in there.get(STEPS, set())]
        if levels and levels[-1] == default:
            for lower, upper in pairwise(levels):
                adds = _added(default, lower, upper)
                found.append({"stage": STEPS, "default": default, "runtime": upper, "against": lower, "adds": adds})
    for remedy in ladder.REMEDIES:
        default = default_of(remedy.step)
        if {remedy.runtime, default} <= there.get(REMEDY, set()):
            found.append(
                {"stage": REMEDY, "default": default, "runtime": remedy.runtime, "against": default, "adds": remedy.option}
            )
    return [*found, *_beside(there)]


def _added(default: str, lower: str, upper: str) -> str:
    """Return what the levels of a default's ladder above `lower`, and up to `upper`, add in all."""
    levels = (HOST, *ladder.levels(default))
    return " and ".join(ladder.adds(level, default) for level in levels[levels.index(lower) + 1 : levels.index(upper) + 1])


def _beside(there: dict[str, set[str]]) -> list[dict]:
    """Return comparisons of runs beside a neighbour with runs without one, in the same runtime."""
    return [
        {"stage": stage, "default": name, "runtime": name, "against": name, "adds": NEIGHBOUR[stage, name == HOST]}
        for name in (HOST, *ladder.DEFAULTS)
        for stage in (SAME, OTHER)
        if name in there.get(ALONE, set()) & there.get(stage, set())
    ]


def default_of(step: str) -> str:
    """Return the default runtime to whose ladder a level belongs."""
    return next(name for name in ladder.DEFAULTS if step in ladder.levels(name)[2:] or step == name)


def _change(own: pd.DataFrame, stage: str, runtime: str, against: str) -> dict:
    sides = ((stage, runtime), (ALONE if stage in BESIDE else stage, against))
    a, b = (blocks.sample(own[(own["stage"] == one) & (own["runtime"] == name)]) for one, name in sides)
    in_a, in_b = blocks.within_blocks(*(blocks.by_block(one, np.mean) for one in (a, b)))
    change, low, high = blocks.change(a, b)
    positive = len(in_a) > 1 and (in_a > 0).all() and (in_b > 0).all()
    logs = np.log(in_a / in_b) if positive else np.empty(0)
    return {
        **{"change": change, "low": low, "high": high, "n": len(in_a), "value": float(a.values.mean())},
        "deviation": float(logs.std(ddof=1)) if positive else float("nan"),
        "p": blocks.p_difference(logs),
    }

"""Measures a study of a program in stages: what each default costs, then which step of it does, then what an option gives back.

A stage has blocks of its own, with its own baseline. It ends when its intervals are narrow enough, or its time is over. The
number of blocks follows from the spread of the first ones. Only the first pass goes on where it shows no cost: its p allow
for that (effects.READINGS).
"""

import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from plimsoll import rounds
from plimsoll.analysis import blocks, collect
from plimsoll.config import configuration
from plimsoll.config.studies import Study
from plimsoll.designs.program import effects, ladder, side_differences
from plimsoll.designs.program.cells import OF_CONTAINER, expected_seconds
from plimsoll.designs.program.factors import ALONE, BESIDE, FILES, FIRST, HOST, LOOK, REMEDY, STEPS
from plimsoll.errors import PlimsollError
from plimsoll.features.try_program.study import PROFILE
from plimsoll.interchange import Plan
from plimsoll.measuring import noise, plan_file
from plimsoll.planning import repetitions

# Blocks that a stage begins with, and has at most.
LEAST, MOST = 5, 400
# Shares of the whole time that may be spent at the end of a stage.
ENDS = {FIRST: 0.5, **dict.fromkeys(BESIDE, 0.7), STEPS: 0.85, REMEDY: 0.95, LOOK: 1.0}
# Rounds of a stage after its first blocks: each begins the workflow again, which takes seconds.
ROUNDS = 2
OF_STAGE = {
    STEPS: "the steps between",
    REMEDY: "what one option gives back",
    LOOK: "a look at both sides of a cost",
    ALONE: "runs beside a neighbour",
}
# A watched run takes about so many times as long as others.
SLOWED = 3
# Quantile of the normal distribution that a 95 % interval reaches to.
REACH = 1.96


class Budget(NamedTuple):
    """The time of a study: when it began (s of the monotonic clock), and its whole length (s)."""

    begun: float
    seconds: float

    def left(self, stage: str) -> float:
        """Return the seconds until a stage must have ended."""
        return self.end(stage) - time.monotonic()

    def end(self, stage: str) -> float:
        """Return the moment at which a stage must have ended (s of the monotonic clock)."""
        return self.begun + ENDS[stage] * self.seconds


def measure(study: Study, folder: Path) -> pd.DataFrame:
    """Measure a study stage by stage, and return what each comparison of its main metric shows (effects.table)."""
    budget = Budget(time.monotonic(), 60 * study["program"]["minutes"])
    first = study["experiments"][FIRST]["runtime"]
    # What was measured before stays in the plan, and so in the results. What was only requested has no claim on the time.
    before = {cell: _measured(folder, cell) for cell in repetitions.read_request(folder, PROFILE).cells}
    wanted = {cell: number for cell, number in before.items() if number}
    wanted = _spend(study, folder, budget, FIRST, first, wanted)
    if names := study["experiments"].get(ALONE, {}).get("runtime"):
        if missing(study, folder, ALONE, names) > budget.left(ALONE):
            _no_time(ALONE)
        else:
            wanted = _spend(study, folder, budget, ALONE, names, wanted)
    found = table(study, folder)
    better = study["metrics"][study["answer"]["metrics"][0]]["better"]
    split = False
    for stage, choose in ((STEPS, steps_of), (REMEDY, lambda found: remedies_of(found, better))):
        runtimes = [name for name in choose(found) if name in study["experiments"][stage]["runtime"]]
        if not runtimes:
            continue
        if missing(study, folder, stage, runtimes) > budget.left(stage):
            _no_time(stage)
            continue
        wanted, split = _spend(study, folder, budget, stage, runtimes, wanted), True
        found = table(study, folder)
    sides = sides_of(found)
    wanted = _look(study, folder, budget, sides, wanted)
    done = _complete(folder, _measurable(study, folder, FIRST, first))
    if not split and _needed(found, FIRST, study["program"]["width"]) > done:
        # No container costs it for sure so far: the time that the steps would take may show whether one does.
        wanted = _spend(study, folder, budget, FIRST, first, wanted, until=REMEDY)
        found = table(study, folder)
        if any(name in study["experiments"][STEPS]["runtime"] for name in steps_of(found)):
            _no_time(STEPS)
        _look(study, folder, budget, [name for name in sides_of(found) if name not in sides], wanted)
    return found


def most_frequent(folder: Path) -> str:
    """Return the most frequent reason why runs do not count, as the end of a sentence; empty without one."""
    runs = collect.table(folder / "runs.csv", ())
    reasons = runs["reason"].dropna() if "reason" in runs else pd.Series(dtype=str)
    return f", mostly because {reasons.mode().iloc[0]}" if len(reasons) else ""


def _no_time(stage: str) -> None:
    print(f"plimsoll: no time is left for {OF_STAGE[stage]}: more `minutes` in the study's file measure it.", flush=True)


def _look(study: Study, folder: Path, budget: Budget, runtimes: Sequence[str], before: dict[str, int]) -> dict[str, int]:
    """Watch the program once in each of these runtimes, if there is time. Return the blocks by cell.

    Studies of older versions have no such runs.
    """
    known = study["experiments"].get(LOOK, {}).get("runtime", [])
    new = [name for name in runtimes if name in known and not before.get(f"{LOOK}/{name}")]
    if not new:
        return before
    each = OF_CONTAINER + SLOWED * as_seen(study, folder)["expected_seconds"]
    if len(new) * each > budget.left(LOOK):
        _no_time(LOOK)
        return before
    os.environ[noise.WAIT_UNTIL] = str(budget.end(LOOK))
    configuration.wish(new, "optional")
    wanted = {**before, **{f"{LOOK}/{name}": 1 for name in new}}
    _make(folder, wanted)
    return wanted


def _make(folder: Path, wanted: dict[str, int]) -> None:
    """Measure what is missing of these blocks by cell."""
    repetitions.ask(folder, PROFILE, repetitions.RequestedRepetitions(wanted, exact=True))
    rounds.make([f"{folder}/observations.csv"], [])


def refuse_short(study: Study, folder: Path) -> None:
    """Raise PlimsollError if the first blocks take longer than the study's minutes."""
    runtimes, minutes = study["experiments"][FIRST]["runtime"], study["program"]["minutes"]
    seconds = missing(study, folder, FIRST, runtimes)
    if seconds > 60 * minutes:
        raise PlimsollError(
            f"{LEAST} blocks of {len(runtimes)} runtimes take about {math.ceil(seconds / 6) / 10} minutes, and the study has "
            f"{minutes:g}: give more with --minutes, or in {study['id']}.yaml, or make the program shorter. Nothing was "
            "measured."
        )


def missing(study: Study, folder: Path, stage: str, runtimes: Sequence[str]) -> float:
    """Return the seconds that the blocks take which a stage still needs for an interval."""
    cells = _measurable(study, folder, stage, runtimes)
    return max(0, LEAST - _complete(folder, cells)) * block_seconds(as_seen(study, folder), cells)


def as_seen(study: Study, folder: Path) -> dict:
    """Return a study's program with the seconds of a run as they were seen: in the slowest runtime, and at least the trial's.

    With other files, a run may take several times as long as on this host, where it was tried.
    """
    program = study["program"]
    if not (folder / "observations.csv").is_file():
        return program
    found = observed(folder)
    means = found[found["metric"] == "wall"].groupby("runtime")["value"].mean()
    return {**program, "expected_seconds": max([program["expected_seconds"], *means])}


def block_seconds(program: dict, cells: Sequence[str]) -> float:
    """Return the seconds of a block, in which each cell is started once."""
    return sum(expected_seconds(program, cell.partition("/")[2], program["runs"]) for cell in cells)


def _measured(folder: Path, cell: str) -> int:
    """Return the last block of which a cell has a record; 0 if it has none."""
    return max((int(path.stem) for path in (folder / "runs" / cell).glob("*.json") if path.stem.isdigit()), default=0)


def _complete(folder: Path, cells: Sequence[str]) -> int:
    """Return the last block of which all cells have a record; 0 without cells."""
    return min((_measured(folder, cell) for cell in cells), default=0)


def _measurable(study: Study, folder: Path, stage: str, runtimes: Sequence[str]) -> list[str]:
    """Return the cells of a stage without those of which the plan says why they cannot be measured here."""
    path = folder / "plan.json"
    planned = plan_file.read(path)["cells"] if path.is_file() else {}
    return [cell for cell in _cells(study, stage, runtimes) if not planned.get(cell, {}).get("reason")]


def steps_of(found: pd.DataFrame) -> list[str]:
    """Return the levels to measure: of each default that costs something beyond the image's files.

    These files need root. Without them the lowest level is this host, and a default counts that costs something beyond it.
    """
    own = found[(found["stage"] == FIRST) & (found["default"] != "")]
    lowest = FILES if (own["against"] == FILES).any() else HOST
    costly = [row.runtime for row in own[own["against"] == lowest].itertuples() if side_differences.is_costly(row)]
    return list(dict.fromkeys(level for name in costly for level in (lowest, *ladder.levels(name)[1:])))


def remedies_of(found: pd.DataFrame, better: str = "lower") -> list[str]:
    """Return the defaults with a step that makes the metric worse, and what gives these steps back."""
    sign = 1 if better == "lower" else -1
    steps = [
        row for row in found[found["stage"] == STEPS].itertuples() if side_differences.is_costly(row) and sign * row.change > 0
    ]
    pairs = [(row.default, remedy.runtime) for row in steps for remedy in ladder.REMEDIES if remedy.step == row.runtime]
    return list(dict.fromkeys(name for pair in pairs for name in pair))


def sides_of(found: pd.DataFrame) -> list[str]:
    """Return the runtimes on the two sides of each step that costs something, which are watched."""
    return list(dict.fromkeys(name for row in side_differences.watched_steps(found) for name in (row.against, row.runtime)))


def _spend(
    study: Study,
    folder: Path,
    budget: Budget,
    stage: str,
    runtimes: Sequence[str],
    before: dict[str, int],
    until: str | None = None,
) -> dict[str, int]:
    """Measure blocks of a stage until its intervals are narrow enough or its time is over. Return the blocks by cell.

    Its time is over when that of the stage `until` is, if one is given.
    """
    end = until or stage
    cells = _cells(study, stage, runtimes)
    number, wanted = max(LEAST, *(before.get(cell, 0) for cell in cells)), dict(before)
    configuration.wish(runtimes, "optional")
    # Waits for an idle machine are a part of the study's minutes.
    os.environ[noise.WAIT_UNTIL] = str(budget.end(end))
    for _ in range(1 + ROUNDS):
        begun = time.monotonic()
        done = max(_measured(folder, cell) for cell in cells)
        wanted |= dict.fromkeys(cells, number)
        if not until or number > done:
            _make(folder, wanted)
        new = max(_measured(folder, cell) for cell in cells) - done
        each = (time.monotonic() - begun) / new if new > 0 else block_seconds(as_seen(study, folder), cells)
        affordable = number + max(0, math.floor(budget.left(end) / each))
        needed = _needed(table(study, folder), stage, study["program"]["width"])
        following = min(needed, affordable, MOST)
        if following <= number:
            break
        number = following
    return wanted


def _cells(study: Study, stage: str, runtimes: Sequence[str]) -> list[str]:
    """Return the cells of a stage. Runs beside a neighbour are measured in the same blocks as those without one."""
    if stage not in BESIDE:
        return [f"{stage}/{name}" for name in runtimes]
    return [f"{one}/{name}" for one in BESIDE for name in runtimes if name in study["experiments"][one]["runtime"]]


def _needed(found: pd.DataFrame, stage: str, width: float) -> int:
    """Return the blocks after which every interval of a stage should reach no further than `width` from its change.

    A change without a spread, as that of a count, is judged by a sign test, which needs more blocks for more comparisons.
    """
    spreads = found.loc[found["stage"].isin(BESIDE if stage in BESIDE else (stage,)), "deviation"]
    if math.isnan(spreads.max()):
        return LEAST
    tests = effects.READINGS.get(stage, 1) * len(spreads)
    signs = math.floor(math.log2(2 * tests / side_differences.CHANCE)) + 1 if spreads.min() <= blocks.ROUNDING else 0
    return max(LEAST, signs, math.ceil((REACH * spreads.max() / width) ** 2))


def table(study: Study, folder: Path, metric: str | None = None) -> pd.DataFrame:
    """Return what each comparison of a metric shows so far; of the main one if none is named."""
    observations = observed(folder)
    return effects.table(observations[observations["metric"] == (metric or study["answer"]["metrics"][0])])


def observed(folder: Path) -> pd.DataFrame:
    """Return the observations of a study's results."""
    plan: Plan = plan_file.read(folder / "plan.json")
    return collect.table(folder / "observations.csv", plan["factors"])

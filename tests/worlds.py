"""Worlds whose truth is known: observations that are made up on demand, from effects on metrics in cells.

Without effects, every metric is 100 in every cell (a share is 0.2), with noise of 1 % whose mean is 0. An effect names
`metrics` and `where` (levels). It has `times`, `set`, `spread` (of the noise) or `carried_by` (of the messages).
"""

import zlib
from functools import cache

import numpy as np
import pandas as pd
from plimsoll.analysis import blocks
from plimsoll.analysis.blocks import Sample
from plimsoll.analysis.spreads import NOTHING, Lent
from plimsoll.claims.sides import Contrast
from plimsoll.claims.study_observations import EMPTY, StudyObservations
from plimsoll.config import studies
from plimsoll.designs.splitting.contrasts import ARRANGEMENTS, GRANULARITY, granularities
from plimsoll.errors import Unavailable
from plimsoll.interchange import ABSENT
from plimsoll.planning import availability
from scipy import special

BLOCKS, ITERATIONS = 12, 6
NOISE = 0.01


def profile() -> dict:
    """Return the quick profile with windows and data as large as the papers', so that claims about variation in a
    window are tested."""
    quick, paper = studies.profile("quick"), studies.profile("paper")
    of_paper = {name: paper[name] for name in ("overhead", "tuning")}
    return {**quick, "interference": {**quick["interference"], "protocol": {}, "enough": {}}, **of_paper}


def profile_of_paper() -> dict:
    """Return `profile()` with all numbers of containers of the paper profile."""
    return {**profile(), "nesting": studies.profile("paper")["nesting"]}


class World(StudyObservations):
    """A study's observations in a world with these effects, on the host of a plan."""

    def __init__(self, study: dict, plan: dict, effects: list[dict], levels: dict | None = None, seed: int | None = None):
        self.study, self.plan, self.metrics = study, plan, study["metrics"]
        self.unavailable_metrics = availability.metrics(plan, study, list(self.metrics))
        self.effects, self.seed = effects, seed
        # In cells in which benchmarks run repeatedly, a block has several values.
        self.several = "pair" in plan["factors"] or "storage" in plan["factors"]
        self.levels = levels or cells_of(plan, study)
        self._single: dict[tuple[str, str], Sample] = {}
        self._by_block: dict[tuple[str, str], Sample] = {}
        self.transports = {path: [self._carried(path)] * BLOCKS for path in plan["cells"]}

    def single(self, metric: str, cell: str) -> Sample:
        """Return all values of a metric in a cell."""
        if (metric, cell) not in self._single:
            self._single[metric, cell] = self._made(metric, cell)
        return self._single[metric, cell]

    def values(self, metric: str, cell: str) -> Sample:
        """Return one value per block of a metric in a cell."""
        if (metric, cell) not in self._by_block:
            self._by_block[metric, cell] = blocks.by_block(self.single(metric, cell), blocks.geometric_mean)
        return self._by_block[metric, cell]

    def lent(self, contrast: Contrast) -> Lent:
        """Return NOTHING: values are made when they are requested, so there are no other comparisons yet."""
        return NOTHING

    def _made(self, metric: str, cell: str) -> Sample:
        if metric not in self.metrics or not self._levels(metric, cell):
            return EMPTY
        there = [effect for effect in self.effects if metric in effect["metrics"] and self._is(metric, cell, effect)]
        value = next(
            (e["set"] for e in there if "set" in e), 0.2 if self.metrics[metric]["unit"].startswith("share") else 100.0
        )
        value *= np.prod([e["times"] for e in there if "times" in e])
        logs, which = noise(f"{metric} {cell}", self.several) if self.seed is None else self._drawn(metric, cell)
        spread = np.prod([e["spread"] for e in there if "spread" in e])
        made = value * np.exp(spread * NOISE * logs)
        if self.metrics[metric]["unit"].startswith("share"):
            made = special.expit(special.logit(value) + spread * NOISE * logs)
        return Sample(made, which, np.zeros(len(which), bool))

    def _drawn(self, metric: str, cell: str) -> tuple[np.ndarray, np.ndarray]:
        """Return random noise and its blocks: mean and spread are not fixed, some blocks are missing, and iterations
        differ in number."""
        random = np.random.default_rng([self.seed, zlib.crc32(f"{metric} {cell}".encode())])
        kept = [block for block in range(1, BLOCKS + 1) if random.random() > 0.03]
        number = random.integers(1, ITERATIONS + 1, len(kept)) if self.several else np.ones(len(kept), int)
        return random.normal(size=number.sum()), np.repeat(kept, number)

    def _carried(self, path: str) -> str:
        there = [e["carried_by"] for e in self.effects if "carried_by" in e and self._is("", path, e)]
        return there[0] if there else "shared memory"

    def _levels(self, metric: str, cell: str) -> list[dict]:
        return self.levels.get((self.metrics[metric]["benchmark"] if self.several and metric else "", cell), [])

    def _is(self, metric: str, cell: str, effect: dict) -> bool:
        wanted = effect.get("where") or {}
        listed = wanted if isinstance(wanted, list) else [wanted]
        return any(_matches(levels, one) for levels in self._levels(metric, cell) for one in listed)


class Printed(World):
    """A world in which each view has the mean and the standard deviation that a paper's tables print for it.

    Tables of interference ratios have no deviations: these are 3 %, as are most of those that are printed. Single
    values have this spread, and means of blocks spread as means of that many values do. What no table has was not
    observed.
    """

    def __init__(self, study: dict, plan: dict, printed: pd.DataFrame):
        super().__init__(study, plan, [])
        keyed = printed.set_index(["metric", "case", "co_runner"])
        self.printed = keyed[~keyed.index.duplicated()].to_dict("index")

    def unavailable(self, asked) -> Unavailable | None:
        """Return why a comparison cannot be made: no table has one of its cells. None if it can be made."""
        sides = [asked.a, asked.b] if hasattr(asked, "a") else [asked]
        empty = any(not len(self.single(side.metric, cell).values) for side in sides for cell in side.cells)
        return super().unavailable(asked) or (Unavailable("the paper prints nothing of it") if empty else None)

    def _made(self, metric: str, cell: str) -> Sample:
        (view,) = self._levels(metric, cell) or [None]
        row = self.printed.get((metric, view["case"], view["co_runner"])) if view else None
        better = self.metrics[metric]["better"]
        if view and view["case"] == "1" and (row is None or row["mean"] != row["mean"]):
            row = {"mean": 100.0, "sd": 3.0}
        if row is None:
            return EMPTY
        mean, deviation = row["mean"], row["sd"]
        if mean != mean:
            ratio = row["interference_ratio"]
            mean, deviation = 100 * (1 + ratio if better == "higher" else 1 - ratio), 3.0
        cv = deviation / mean if deviation == deviation else 0.03
        logs, which = noise(f"{metric} {_unplaced(view) if view else cell}", True)
        of_block = logs.reshape(BLOCKS, ITERATIONS).mean(axis=1)
        within = logs - np.repeat(of_block, ITERATIONS)
        return Sample(
            mean * np.exp(cv * (np.repeat(of_block, ITERATIONS) / ITERATIONS**0.5 + within)), which, np.zeros(len(which), bool)
        )


def _unplaced(view: dict) -> str:
    """Return a cell's name without the factors that the papers leave open: they print one value for all their levels."""
    return "/".join(view[factor] for factor in ("case", "pair", "runtime"))


def cells_of(plan: dict, study: dict) -> dict[tuple[str, str], list[dict]]:
    """Return the levels by (benchmark, cell). A pair has one view for each of its members, so they depend on the benchmark."""
    if "children" in plan["factors"]:
        return {("", path): [_nested(cell, plan["cores"])] for path, cell in plan["cells"].items()}
    if "strategy" in plan["factors"]:
        return {("", path): [cell] for path, cell in plan["cells"].items()}
    if "storage" in plan["factors"]:
        return {(cell["benchmark"], path): [cell] for path, cell in plan["cells"].items()}
    if "pair" not in plan["factors"]:
        return {("", path): [_deployed(cell)] for path, cell in plan["cells"].items()}
    # Imported here because a design can be removed.
    from plimsoll.designs.interference.cells import views

    return {(view["benchmark"], view["path"]): [view] for view in views(plan)}


def _deployed(cell: dict) -> dict:
    """Return the levels of a cell of splitting. A runtime also has the name of the one that it replaces."""
    named = next((name for moved in ARRANGEMENTS.values() for name, other in moved.items() if other == cell["runtime"]), None)
    runtimes = {cell["runtime"], named} - {None}
    return {**cell, GRANULARITY: granularities(cell), "runtime": runtimes}


def _nested(cell: dict, cores: int) -> dict:
    """Return the levels of a cell of nesting. `environment` is the runtime of the end of a network that is not on bare
    metal; bare metal if both are."""
    instances, children = (0 if cell[factor] == ABSENT else int(cell[factor]) for factor in ("instances", "children"))
    crowd = "above the cores" if instances > cores else "up to the cores"
    outer, _, inner = cell["network"].partition("+")
    environment = cell["server"] if cell["runtime"] == "bare" else cell["runtime"]
    named = {"environment": environment, "parent_network": outer if inner else "", "child_network": inner}
    return {**cell, **named, "crowd": crowd, "total": str(instances * max(1, children))}


def _matches(levels: dict, wanted: dict) -> bool:
    return all(_one_of(levels.get(factor), names) for factor, names in wanted.items())


def _one_of(level, names) -> bool:
    if isinstance(names, dict):
        return not _one_of(level, names["not"])
    named = [names] if isinstance(names, (str, bool)) else names
    return bool(level & set(named)) if isinstance(level, set) else level in named


@cache
def noise(name: str, several: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return (standard normal noise, blocks) of a metric in a cell.

    Over blocks the noise has mean 0 and standard deviation 1, so that what is alike in a world is exactly alike.
    Iterations in a block vary as much, a little more or less by block.
    """
    random = np.random.default_rng(zlib.crc32(name.encode()))
    of_block = _standard(random.normal(size=BLOCKS))
    if not several:
        return of_block, np.arange(1, BLOCKS + 1)
    within = np.exp(0.2 * _standard(random.normal(size=BLOCKS)))
    rows = [of_block[i] + within[i] * _standard(random.normal(size=ITERATIONS)) for i in range(BLOCKS)]
    return np.concatenate(rows), np.repeat(np.arange(1, BLOCKS + 1), ITERATIONS)


def _standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std(ddof=1)

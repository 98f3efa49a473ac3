"""Every rule of the verdicts through two stages, in simulated worlds where what a verdict asserts is just not true."""

import multiprocessing
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
from plimsoll.claims import verdicts

from tests.bench.calibration import simulation, wilson, write
from tests.bench.calibration.simulation import truths
from tests.bench.calibration.simulation.worlds import World
from tests.bench.calibration.stages.staged import Time, judged, several

# Number of copies of a world that make one study, so that noise is pooled over many comparisons.
COPIES = 10
# Number of studies that are drawn of a world; fewer for the family with most claims.
DRAWS, FEWER = 200, {"several": 100}
TIMES = (Time(3, 40),)
# Number of blocks of the simulation's worlds that are used, and number of blocks that are drawn.
OF_BLOCKS, MOST = 20, 40
# True standard deviations of copies differ by a factor of 1.3 up and down (one standard deviation).
UNEQUAL = np.log(1.3)
# Worlds by family and truth in which a verdict of the rule would be wrong.
WORLDS = {
    "one comparison": ("no effect", "at the margin"),
    "several": (
        *("no effect", "at the margin", "one at the margin", "all but one", "one too few for most"),
        *("one too few against most", "all but one the other way"),
    ),
    "orders": ("two are alike",),
    "parts": ("one loses nothing", "the exception at the margin"),
    "relative loss": ("no effect", "at the margin"),
    "spread, 6 in a block": ("no effect", "at the margin"),
    "printed value 0.5": ("at the margin",),
    "trend": ("no effect",),
    "at their limit": ("no effect",),
    "mixed directions": ("no effect", "at the margin"),
    "arrangements": ("no effect", "as claimed in all but one", "one at the margin"),
    # A claim that something is not lower has its margin here.
    "by effect": ("-5%",),
}
NOISES = ("log-normal", "drift of a session")
# The largest number of cells of a world.
LARGEST = 8
# Claims about a number and a spread are wrong more often than the nominal rate with one stage too (docs/reports/verdicts.md).
LEFT_OUT = "variation"
DECIDED = {verdicts.REPRODUCED: "reproduced", verdicts.CONTRADICTED: "contradicted", verdicts.CONDITIONAL: "conditional"}
KEY = ["family", "holds", "expected"]


def main(processes: int | None = None) -> None:
    """Simulate, write one row per world, claim and time, and print the worst of each rule."""
    tasks = list(enumerate(product(worlds(), TIMES)))
    with multiprocessing.Pool(processes) as pool:
        table = pd.DataFrame([row for rows in pool.imap(simulate, tasks) for row in rows])
    write(table.round(4), "stages_rules")
    report(table)


def worlds() -> Iterator[World]:
    """Yield the worlds, family by family, with the claims that can be wrong in them."""
    families = list(WORLDS)
    known = (world for world in simulation.worlds() if world.family in families)
    for world in sorted(known, key=lambda world: families.index(world.family)):
        usual = world.blocks == OF_BLOCKS and world.noise in NOISES and world.reference != "rough_share"
        if usual and len(world.levels) <= LARGEST and world.truth in WORLDS[world.family]:
            claims = tuple(one for one in world.claims if one.get("quantity") != LEFT_OUT and can_be_wrong(world, one))
            yield replace(world, claims=claims, blocks=MOST)


def can_be_wrong(world: World, claim: dict) -> bool:
    """Return whether a verdict on a claim would be wrong in a world."""
    return not all(truths.asserted(world, claim))


def simulate(task: tuple[int, tuple[World, Time]]) -> list[dict]:
    """Return one row per claim: how often each wrong verdict came."""
    number, (world, time) = task
    random = np.random.default_rng([2026, number])
    studies = several(world, COPIES)
    given = [judged(studies, values, time) for values in drawn(world, random, FEWER.get(world.family, DRAWS))]
    rows = []
    for place, claim in enumerate(world.claims):
        of_claim = [one.told for found in given for one in found[place :: len(world.claims)]]
        sound = truths.asserted(world, claim)._asdict()
        row = {
            **{"family": world.family, "truth": world.truth, "noise": world.noise, "first": time.first, "most": time.most},
            **{"holds": claim.get("holds", "each"), "expected": claim["expected"], "named": "magnitude" in claim},
            **{"quantity": claim.get("quantity", "value"), "says": claim.get("says", ""), "draws": len(of_claim)},
            **{"nominal": simulation.nominal(claim)},
        }
        for verdict, name in DECIDED.items():
            count = of_claim.count(verdict)
            low, high = (np.nan, np.nan) if sound[name] else wilson(count, len(of_claim))
            row |= {name: np.nan if sound[name] else count / len(of_claim), f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    return rows


def drawn(world: World, random: np.random.Generator, draws: int) -> Iterator[np.ndarray]:
    """Yield the values of `draws` studies, each of shape (cells of all copies, blocks, iterations)."""
    for _ in range(draws):
        copies = []
        for spread in world.spread * np.exp(UNEQUAL * random.standard_normal(COPIES)):
            copies.append(replace(world, draws=1, spread=spread).drawn(random)[0])
        yield np.concatenate(copies)


def report(table: pd.DataFrame) -> None:
    """Print the worst rate of each rule beside its nominal level, and each rate whose interval is above that."""
    shown = table.groupby(KEY, sort=False).agg(
        **{"reproduced": ("reproduced", "max"), "nominal": ("nominal", "first"), "draws": ("draws", "first")},
        **{"contradicted": ("contradicted", "max"), "conditional": ("conditional", "max")},
    )
    with pd.option_context("display.width", 200, "display.max_rows", None, "display.max_columns", None):
        print(f"\nthe worst world of each rule (contradicted: nominally 0.025):\n{shown.round(3).to_string()}")
        for name, level in (("reproduced", table["nominal"]), ("contradicted", 0.025)):
            high = table.loc[table[f"{name}_low"] > level, [*KEY, "truth", "noise", "first", name]]
            print(f"\nwrongly {name}, above the nominal level:\n{high.to_string(index=False)}")


if __name__ == "__main__":
    main()

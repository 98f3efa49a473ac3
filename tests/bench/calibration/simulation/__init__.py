"""Every rule and every quantity on simulated observations: how often a verdict is wrong, and an interval misses the truth."""

import multiprocessing
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
from plimsoll.claims import book, findings, verdicts
from plimsoll.claims.study_observations import StudyObservations

from tests.bench.calibration import FOLDER, read, study, wilson, write
from tests.bench.calibration.simulation import arrangements, kinds, rules, shared, tables, truths
from tests.bench.calibration.simulation.judged import Inner
from tests.bench.calibration.simulation.worlds import Quick, World, observed
from tests.bench.calibration.study import ALPHA, IN_PART, Judged, contrasts

# Number of draws of each world that also take the whole path, from a table of observations to the verdict.
WHOLE = 3
# Columns of the table that are empty in many rows.
TEXTS = ("says", "named", "reference")
# Verdicts that assert something, and their names in the table.
ASSERTING = {verdicts.REPRODUCED: "found", verdicts.CONTRADICTED: "refused", verdicts.CONDITIONAL: "conditional"}
SIZES = (verdicts.AS_LARGE, verdicts.SMALLER, verdicts.LARGER, verdicts.OPPOSITE, verdicts.UNCLEAR)


def main(families: Sequence[str] = (), processes: int | None = None) -> None:
    """Simulate, write the table and the figures, and print the tables of docs/reports/verdicts.md.

    All worlds take about an hour of processor time, half of it for claims about 16 and 64 comparisons. Each world has
    its own seed. With `families`, only worlds are drawn whose family begins with one of them. All other rows of the
    table stay.
    """
    began = time.monotonic()
    listed = [one for one in enumerate(worlds()) if one[1].family.startswith(tuple(families) or "")]
    with multiprocessing.Pool(processes) as pool:
        table = pd.DataFrame([row for rows in pool.imap(simulate, listed, chunksize=1) for row in rows]).round(4)
    if families:
        kept = read("simulation").fillna(dict.fromkeys(TEXTS, ""))
        table = pd.concat([kept[~kept["family"].isin(table["family"])], table], ignore_index=True)
    write(table, "simulation")
    tables.show(table)
    report(table)
    from tests.bench.calibration.simulation import drawing

    drawing.draw(table, FOLDER / "simulation")
    print(f"{(time.monotonic() - began) / 60:.1f} minutes")


def worlds() -> list[World]:
    """Return all worlds. A world's place seeds its draws, so new worlds come last."""
    return [*rules.worlds(), *kinds.worlds(), *arrangements.worlds(), *shared.worlds()]


def simulate(numbered: tuple[int, World]) -> list[dict]:
    """Return one row per claim of a world, whose number seeds what is drawn."""
    number, world = numbered
    values = world.drawn(np.random.default_rng([2020, number]))
    inner, whole = Inner(world, values), [observed(world, one) for one in values[:WHOLE]]
    return [_row(world, claim, *_judged(world, claim, inner, whole)) for claim in world.claims]


def _judged(world: World, claim: dict, inner: Inner, whole: list[StudyObservations]) -> tuple[list[Judged], int]:
    """Return (result of each draw, number of first draws in which the `whole` path says the same)."""
    own = "sound" in claim
    of_draws = (Quick(world, values) for values in inner.values)
    found = [study.whole(claim, draw, lending=True) for draw in of_draws] if own else inner.judge(claim)
    wholly = [study.whole(claim, measured, lending=True) for measured in whole]
    return found, sum(_same(*pair) for pair in zip(found, wholly, strict=False))


def _same(one: Judged, other: Judged) -> bool:
    ends = ((one.low, other.low), (one.high, other.high))
    said = [(judged.verdict, judged.size, judged.each, judged.alike) for judged in (one, other)]
    return said[0] == said[1] and all(np.isclose(a, b, equal_nan=True) for a, b in ends)


def _row(world: World, claim: dict, found: list[Judged], agreeing: int) -> dict:
    given, draws = [one.told for one in found], len(found)
    row = {
        **{"family": world.family, "quantity": claim.get("quantity", "value"), "holds": claim.get("holds", "each")},
        **{"expected": claim["expected"], "says": claim.get("says", ""), "named": _named(claim), "truth": world.truth},
        **{"noise": world.noise, "reference": world.reference, "blocks": world.blocks, "cells": _cells(claim), "draws": draws},
    }
    for verdict in (*verdicts.ON_COMPARISON, verdicts.CONDITIONAL, IN_PART):
        row[verdict] = given.count(verdict) / draws
    sound = truths.asserted(world, claim)._asdict()
    for verdict, short in ASSERTING.items():
        low, high = (np.nan, np.nan) if sound[verdict] else wilson(given.count(verdict), draws)
        rate = np.nan if sound[verdict] else row[verdict]
        row |= {f"wrongly_{short}": rate, f"wrongly_{short}_low": low, f"wrongly_{short}_high": high}
    if "arranged" in claim:
        wrong = truths.wrongly_in_part(world, claim, found)
        low, high = wilson(wrong, draws)
        row |= {"wrongly_in_part": wrong / draws, "wrongly_in_part_low": low, "wrongly_in_part_high": high}
    row["nominal_found"] = nominal(claim)
    row["nominal_refused"] = ALPHA / 2
    # One wrong half of the two is enough.
    row["nominal_conditional"] = row["nominal_found"]
    row["nominal_in_part"] = row["nominal_found"] + row["nominal_refused"]
    row |= {**_alike(world, claim, found), **_coverage(world, claim, found), **_sizes(found)}
    return {**row, "whole": min(WHOLE, draws), "agree": agreeing}


def nominal(claim: dict) -> float:
    """Return how often a claim may be wrongly reproduced: alpha if it or one of its parts is of likeness, else alpha /
    2.

    A difference has two directions.
    """
    expected = {part["expected"] for part in book.parts_of(claim) or [claim]}
    return ALPHA / 2 if expected <= set(findings.DIFFERENCES) else ALPHA


def _alike(world: World, claim: dict, found: list[Judged]) -> dict:
    """Return how often a difference stays inconclusive and is said to be small, and how often that is wrong (nominally
    in 5 %)."""
    if "sound" in claim or "parts" in claim or "arranged" in claim or claim["expected"] not in findings.DIFFERENCES:
        return {}
    number = sum(one.alike for one in found)
    row = {"alike": number / len(found)}
    if not truths.is_alike(world, claim):
        low, high = wilson(number, len(found))
        row |= {"wrongly_alike": row["alike"], "wrongly_alike_low": low, "wrongly_alike_high": high}
    return row


def _coverage(world: World, claim: dict, found: list[Judged]) -> dict:
    known = [one for one in found if np.isfinite(one.low)]
    if not known or "sound" in claim or "parts" in claim or "arranged" in claim:
        return {"covers": np.nan, "covers_low": np.nan, "covers_high": np.nan}
    average = (truths.weights(world, claim) * truths.effects(world, claim)).sum()
    true = truths.back(claim, truths.quantities.find(claim.get("quantity")))(average)
    count = sum(one.low <= true <= one.high for one in known)
    low, high = wilson(count, len(known))
    return {"covers": count / len(known), "covers_low": low, "covers_high": high}


def _sizes(found: list[Judged]) -> dict:
    """Return the shares of the answers about the size: of all draws, and of those that are reproduced."""
    borne_out = [one.size for one in found if one.verdict == verdicts.REPRODUCED]
    row = {}
    for size in SIZES if any(one.size for one in found) else ():
        row[size] = sum(one.size == size for one in found) / len(found)
        row[f"{size} of reproduced"] = borne_out.count(size) / len(borne_out) if borne_out else np.nan
    return row


def _named(claim: dict) -> str:
    given = findings.paper_magnitude(claim) if "magnitude" in claim else None
    return f"{given['low']} to {given['high']}" if given else ""


def _cells(claim: dict) -> int:
    return sum(len(part["a"]["cell"]) for part in claim["parts"]) if "parts" in claim else len(list(contrasts(claim)))


def report(table: pd.DataFrame) -> None:
    """Print how often the two paths agree, and each error rate whose interval is above its nominal level."""
    print(f"{len(table)} rows; the whole path agrees in {table['agree'].sum()} of {table['whole'].sum()} draws")
    shown = ["family", "quantity", "holds", "expected", "says", "named", "truth", "noise", "reference", "blocks", "cells"]
    with pd.option_context("display.width", 250, "display.max_rows", None, "display.max_columns", None):
        for verdict, kind in {**ASSERTING, IN_PART: "in_part"}.items():
            high = table[table[f"wrongly_{kind}_low"] > table[f"nominal_{kind}"]]
            print(f"\nwrongly {verdict}, above the nominal level:\n{high[[*shown, f'wrongly_{kind}']].to_string(index=False)}")
        missed = table[table["covers_high"] < 0.95]
        print(f"\ncoverage below 95 %:\n{missed[[*shown, 'covers']].to_string(index=False)}")

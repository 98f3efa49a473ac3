"""One study in two stages (plimsoll.features.time_budget): what claims need after the first, and the verdicts after both."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from plimsoll.analysis import blocks
from plimsoll.analysis.blocks import Sample
from plimsoll.claims import compare, decision_cost, verdicts
from plimsoll.features.time_budget import claim_parts, metric_noise, needs

from tests.bench.calibration import study
from tests.bench.calibration.simulation.worlds import Quick, World
from tests.bench.calibration.study import ALPHA, Judged

# Fields in which a claim names cells by their numbers, at any depth.
OF_CELLS = ("cell", "cells")


class Time(NamedTuple):
    """Blocks of the `first` stage, and the `most` of both that the time pays for.

    With `peeking`, a claim gets all of them if the first stage did not decide it, and none if it did. That must not be
    done: it shows that the bench would see it.
    """

    first: int
    most: int
    peeking: bool = False


class Cut(Quick):
    """The first blocks of each cell, as many as `numbers` says."""

    brief = True

    def __init__(self, world: World, values: np.ndarray, numbers: Sequence[int]):
        super().__init__(world, values)
        self._single = {(metric, cell): _first(one, numbers[int(cell)]) for (metric, cell), one in self._single.items()}
        self._by_block = {key: blocks.by_block(sample, blocks.geometric_mean) for key, sample in self._single.items()}


def _first(sample: Sample, number: int) -> Sample:
    there = sample.blocks < number
    return Sample(sample.values[there], sample.blocks[there], sample.censored[there])


def several(world: World, times: int) -> World:
    """Return a study of so many independent copies of a world's cells and claims. Noise is pooled over all of them."""
    cells = len(world.levels)
    claims = [
        {**_shifted(claim, copy * cells), "id": f"simulated-c{copy * len(world.claims) + number}"}
        for copy in range(times)
        for number, claim in enumerate(world.claims)
    ]
    lower_is_better = tuple(copy * cells + cell for copy in range(times) for cell in world.times)
    return replace(world, levels=world.levels * times, claims=tuple(claims), times=lower_is_better)


def _shifted(what, by: int):
    if isinstance(what, dict):
        return {
            key: [cell + by for cell in value]
            if key in OF_CELLS and all(isinstance(cell, int) for cell in value)
            else _shifted(value, by)
            for key, value in what.items()
        }
    return [_shifted(one, by) for one in what] if isinstance(what, list) else what


def judged(world: World, values: np.ndarray, time: Time) -> list[Judged]:
    """Return the results of a world's claims after two stages; `values` are of shape (cells, blocks, iterations)."""
    cells = len(world.levels)
    begun = Cut(world, values, [time.first] * cells)
    found = [study.judged(claim, begun) for claim in world.claims]
    wanted = _peeked(found, time.most) if time.peeking else _needed(world, begun, found, time.most)
    numbers = [max([time.first, *(need.get(str(cell), 0) for need in wanted)]) for cell in range(cells)]
    both = Cut(world, values, numbers)
    return [study.whole(claim, both) for claim in world.claims]


def _needed(world: World, begun: Cut, found: list[tuple[dict, list[dict]]], most: int) -> list[dict[str, int]]:
    """Return the blocks by cell of each claim for which the time pays."""
    strictly = [study.judged(claim, begun, needs.CLEAR)[0] for claim in world.claims]
    parts = claim_parts.parts_of([result for result, _ in found], _table(found), begun.metrics)
    noise = metric_noise.Noise([part for each in parts.values() for part in each], begun.plan, ())
    asked = needs.of_claims(parts, needs.clear(strictly), noise, ALPHA)
    return [need.blocks for need in asked.needs if max(need.blocks.values()) <= most]


def _table(found: list[tuple[dict, list[dict]]]) -> pd.DataFrame:
    rows = [{"claim": result["id"], **row} for result, compared in found for row in compared]
    return pd.DataFrame(rows, columns=list(compare.COLUMNS))


def _peeked(found: list[tuple[dict, list[dict]]], most: int) -> list[dict[str, int]]:
    still_open = [(result, rows) for result, rows in found if result["verdict"] == verdicts.INCONCLUSIVE]
    return [dict.fromkeys(decision_cost.cells_of(_table([one])), most) for one in still_open]

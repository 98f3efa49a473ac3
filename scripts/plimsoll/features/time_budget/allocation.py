"""Spend a time budget where it decides most: blocks per cell, from what claims need and what runs cost. Pure functions.

The ratios of a study's answer are bought in their order (`in_order`). Claims are bought by cost, the cheapest first
(`allocate`). A claim costs only what it adds to what others have bought: claims share cells, and the cells of a
deployment share a launch. This is the usual approximation for such a knapsack problem. A claim gets the blocks that it
needs, and at most SURER times as many.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

# The next cheapest claim gets the time that pays for no further claim, if that is enough for this share of its blocks.
# They decide it with a power of about 0.5 instead of 0.8.
IN_PART = 0.5
# Every claim gets at least these blocks, even if other measurements say that fewer are enough. So does a claim that is
# bought in part, and a ratio of an answer.
LEAST = 4
# Time that is still left goes to the claims that were bought: this many times their blocks decide them with a power of
# 0.95.
SURER = 1.66
# Each further round for the ratios of an answer gives them this many times the blocks of the round before.
GROWTH = 1.5


class Need(NamedTuple):
    """What decides a claim or a ratio of an answer (`finding`, by name): the `blocks` that each of its cells needs, by path."""

    finding: str
    blocks: Mapping[str, int]

    def at_least(self, number: int) -> "Need":
        """Return this need with at least `number` blocks for each cell."""
        return self._replace(blocks={cell: max(number, count) for cell, count in self.blocks.items()})


class Costs(NamedTuple):
    """Costs of measuring, in seconds.

    `run` is the cost of a run of each cell, `start` that of each launch besides its runs. `launch_of` gives the launch
    that measures a cell, and `per_block` how often a cell runs in a block.
    """

    run: Mapping[str, float]
    start: Mapping[str, float]
    launch_of: Mapping[str, str]
    per_block: Mapping[str, int]

    def seconds(self, blocks: Mapping[str, int]) -> float:
        """Return the seconds that measuring these blocks of each cell takes."""
        return self.beyond({}, {}, blocks)

    def launches(self, blocks: Mapping[str, int]) -> dict[str, int]:
        """Return how often each launch is made for these blocks of each cell."""
        made: dict[str, int] = {}
        for cell, number in blocks.items():
            launch = self.launch_of[cell]
            made[launch] = max(number * self.per_block.get(cell, 1), made.get(launch, 0))
        return made

    def beyond(self, blocks: Mapping[str, int], launches: Mapping[str, int], wanted: Mapping[str, int]) -> float:
        """Return the seconds that the `wanted` blocks cost in addition to the `blocks` and `launches` that are already
        paid for."""
        dearer = {cell: number for cell, number in wanted.items() if number > blocks.get(cell, 0)}
        more = {cell: number - blocks.get(cell, 0) for cell, number in dearer.items()}
        own = sum(number * self.per_block.get(cell, 1) * self.run[cell] for cell, number in more.items())
        of_launches = self.launches(dearer).items()
        return own + sum(max(0, number - launches.get(launch, 0)) * self.start[launch] for launch, number in of_launches)


def allocate(now: Mapping[str, int], needs: Iterable[Need], costs: Costs, budget: float) -> tuple[dict[str, int], list[str]]:
    """Return (blocks by cell, claims that they are meant to decide).

    Each cell has at least its blocks of `now`; the further blocks cost at most `budget` seconds. The last claim may
    have only a part of the blocks that it needs (IN_PART).
    """
    blocks, spent = dict(now), 0.0
    bought: list[Need] = []
    left = sorted(needs, key=lambda need: need.finding)
    while left:
        launches = costs.launches(blocks)
        price, need = min(((costs.beyond(blocks, launches, need.blocks), need) for need in left), key=lambda pair: pair[0])
        if spent + price > budget:
            wanted = _in_part(blocks, launches, need, costs, budget - spent)
            spent += costs.beyond(blocks, launches, wanted)
            blocks, in_part = _with(blocks, wanted), [need.finding] * bool(wanted)
            return _surer(blocks, bought, costs, budget - spent), [*(one.finding for one in bought), *in_part]
        blocks, spent = _with(blocks, need.blocks), spent + price
        bought.append(need)
        left.remove(need)
    return _surer(blocks, bought, costs, budget - spent), [need.finding for need in bought]


def _surer(blocks: dict[str, int], bought: Iterable[Need], costs: Costs, budget: float) -> dict[str, int]:
    """Return the blocks, with SURER times the bought blocks for one claim after the other, as far as the budget goes."""
    for need in bought:
        wanted = {cell: math.ceil(SURER * number) for cell, number in need.blocks.items()}
        if (price := costs.beyond(blocks, costs.launches(blocks), wanted)) <= budget:
            blocks, budget = _with(blocks, wanted), budget - price
    return blocks


def _in_part(blocks: Mapping[str, int], launches: Mapping[str, int], need: Need, costs: Costs, budget: float) -> dict[str, int]:
    """Return the largest part of a claim's blocks that the budget pays for; empty if that is less than IN_PART."""
    most = max(need.blocks.values())
    for number in range(most - 1, max(LEAST, math.ceil(IN_PART * most)) - 1, -1):
        wanted = {cell: min(number, count) for cell, count in need.blocks.items()}
        if 0 < costs.beyond(blocks, launches, wanted) <= budget:
            return wanted
    return {}


def in_order(
    now: Mapping[str, int], needs: Sequence[Need], costs: Costs, budget: float, least: int
) -> tuple[dict[str, int], list[str]]:
    """Return (blocks by cell, names of the needs that got more blocks).

    Each cell has at least its blocks of `now`; the further blocks cost at most `budget` seconds. Each need gets the
    `least` blocks before any gets more. Then all get more blocks evenly, round by round and in their order, until each
    has what it needs. If the time does not suffice for a whole round, the needs that are affordable get theirs.
    """
    blocks, spent, number = dict(now), 0.0, least
    most = max((count for need in needs for count in need.blocks.values()), default=0)
    while needs:
        launches, short = costs.launches(blocks), False
        for need in needs:
            wanted = {cell: min(number, count) for cell, count in need.blocks.items()}
            price = costs.beyond(blocks, launches, wanted)
            short |= spent + price > budget
            if 0 < price <= budget - spent:
                blocks, spent = _with(blocks, wanted), spent + price
                launches = costs.launches(blocks)
        if short or number >= most:
            break
        number = math.ceil(GROWTH * number)
    answered = (need for need in needs if all(blocks.get(cell, 0) >= least for cell in need.blocks))
    return blocks, [need.finding for need in answered if any(blocks[cell] > now.get(cell, 0) for cell in need.blocks)]


def _with(blocks: Mapping[str, int], wanted: Mapping[str, int]) -> dict[str, int]:
    return {**blocks, **{cell: max(number, blocks.get(cell, 0)) for cell, number in wanted.items()}}

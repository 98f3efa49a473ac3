"""How a given time is spent where it decides most: blocks for each cell, from what findings need and what runs cost. Pure.

The ratios of an answer are bought in their order (`in_order`). The claims that cost least are bought first (`allocate`), each
at what it costs beyond what others have bought already: cells are shared between claims, and a launch between the cells of a
deployment. That is the usual approximation for such a knapsack. Claims get what they need, and at most SURER times as much.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

# What is left when no further claim can be paid for is for the next cheapest one, if it pays for this share of its blocks: they
# decide it with a power of about 0.5 in place of 0.8.
IN_PART = 0.5
# A claim that other measurements say takes fewer blocks gets at least these, and so do a part of one and a ratio of the answer.
LEAST = 4
# What is left then is for those that were bought: so many times their blocks decide them with a power of 0.95.
SURER = 1.66
# Each round that gives more blocks to all of an answer's ratios gives this many times those of the last one.
GROWTH = 1.5


class Need(NamedTuple):
    """What decides a claim or a ratio of an answer (`finding`): how many `blocks` each of its cells takes, by path."""

    finding: str
    blocks: Mapping[str, int]

    def at_least(self, number: int) -> "Need":
        """The same with no fewer blocks than a number."""
        return self._replace(blocks={cell: max(number, count) for cell, count in self.blocks.items()})


class Costs(NamedTuple):
    """Seconds: of each cell's run (`run`), and of each launch beside its runs (`start`). `launch_of` says in which launch a
    cell is measured, and `per_block` how often it runs in a block."""

    run: Mapping[str, float]
    start: Mapping[str, float]
    launch_of: Mapping[str, str]
    per_block: Mapping[str, int]

    def seconds(self, blocks: Mapping[str, int]) -> float:
        """What it takes to measure so many blocks of each cell."""
        return self.beyond({}, {}, blocks)

    def launches(self, blocks: Mapping[str, int]) -> dict[str, int]:
        """How often each launch is made for so many blocks of each cell."""
        made: dict[str, int] = {}
        for cell, number in blocks.items():
            launch = self.launch_of[cell]
            made[launch] = max(number * self.per_block.get(cell, 1), made.get(launch, 0))
        return made

    def beyond(self, blocks: Mapping[str, int], launches: Mapping[str, int], wanted: Mapping[str, int]) -> float:
        """Seconds that it takes to have at least the `wanted` blocks, beyond those that there are and their launches."""
        dearer = {cell: number for cell, number in wanted.items() if number > blocks.get(cell, 0)}
        more = {cell: number - blocks.get(cell, 0) for cell, number in dearer.items()}
        own = sum(number * self.per_block.get(cell, 1) * self.run[cell] for cell, number in more.items())
        of_launches = self.launches(dearer).items()
        return own + sum(max(0, number - launches.get(launch, 0)) * self.start[launch] for launch, number in of_launches)


def allocate(now: Mapping[str, int], needs: Iterable[Need], costs: Costs, budget: float) -> tuple[dict[str, int], list[str]]:
    """Return (blocks by cell, claims that they are meant to decide): at least what there is `now`, and more within `budget`
    seconds. The last claim may have a part of what it needs (IN_PART)."""
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
    """Blocks with SURER times what was bought, one claim after the other, as far as the budget goes."""
    for need in bought:
        wanted = {cell: math.ceil(SURER * number) for cell, number in need.blocks.items()}
        if (price := costs.beyond(blocks, costs.launches(blocks), wanted)) <= budget:
            blocks, budget = _with(blocks, wanted), budget - price
    return blocks


def _in_part(blocks: Mapping[str, int], launches: Mapping[str, int], need: Need, costs: Costs, budget: float) -> dict[str, int]:
    """The largest share of what a claim needs that the budget pays for; nothing where that is less than IN_PART."""
    most = max(need.blocks.values())
    for number in range(most - 1, max(LEAST, math.ceil(IN_PART * most)) - 1, -1):
        wanted = {cell: min(number, count) for cell, count in need.blocks.items()}
        if 0 < costs.beyond(blocks, launches, wanted) <= budget:
            return wanted
    return {}


def in_order(
    now: Mapping[str, int], needs: Sequence[Need], costs: Costs, budget: float, least: int
) -> tuple[dict[str, int], list[str]]:
    """Return (blocks by cell, needs that got more, by name): at least what there is `now`, and more within `budget` seconds.

    Each need gets the `least` blocks before any gets more. Then all get evenly more, round by round and in their order, until
    each has what it needs. In a round that the time does not suffice for, it is spent on those that it does suffice for.
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

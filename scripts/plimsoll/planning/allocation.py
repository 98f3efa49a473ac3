"""How a given time is spent where it decides most: blocks for each cell, from what findings need and what runs cost. Pure.

The findings that cost least are bought first, each at what it costs beyond what others have bought already: cells are shared
between findings, and a launch between the cells of a deployment. That is the usual approximation for such a knapsack.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

# What is left of the time when no further finding can be paid for goes to those that are, as their needs are estimates: at most
# this many times what they need.
MOST_TIMES = 3.0
STEP = 1.1


class Need(NamedTuple):
    """What decides a finding: how many `blocks` each of its cells takes, by path."""

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
    """(blocks by cell, findings that they are meant to decide): at least what there is `now`, and as much more as `budget`
    seconds pay for."""
    blocks, bought, spent = dict(now), [], 0.0
    left = sorted(needs, key=lambda need: need.finding)
    while left:
        launches = costs.launches(blocks)
        dearer = [(costs.beyond(blocks, launches, need.blocks), need) for need in left]
        cheapest, need = min(dearer, key=lambda pair: pair[0])
        if spent + cheapest > budget:
            break
        blocks, spent = _with(blocks, need.blocks), spent + cheapest
        bought.append(need)
        left.remove(need)
    return _stretched(now, blocks, bought, costs, costs.seconds(now) + budget), [need.finding for need in bought]


def _with(blocks: Mapping[str, int], wanted: Mapping[str, int]) -> dict[str, int]:
    return {**blocks, **{cell: max(number, blocks.get(cell, 0)) for cell, number in wanted.items()}}


def _stretched(
    now: Mapping[str, int], blocks: dict[str, int], bought: list[Need], costs: Costs, limit: float
) -> dict[str, int]:
    """As many times what was bought as the time pays for."""
    factor = STEP
    while bought and factor < MOST_TIMES:
        wanted = dict(now)
        for need in bought:
            wanted = _with(wanted, {cell: round(factor * number) for cell, number in need.blocks.items()})
        if costs.seconds(wanted) > limit:
            break
        blocks, factor = wanted, factor * STEP
    return blocks

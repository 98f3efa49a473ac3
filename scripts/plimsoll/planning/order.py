"""The order of the runs: repetitions are blocks, and in each block every cell runs once, in an order drawn from the seed.

A cell that many others are compared with may run more often in each.
"""

import math
import random
from collections.abc import Mapping


def blocks(
    repetitions: dict[str, int],
    seed: int,
    launches: Mapping[str, str] | None = None,
    each: Mapping[str, int] | None = None,
) -> list[tuple[str, int]]:
    """(cell, repetition) in the order of measuring, repetitions counted from 1; `repetitions` says how many of each cell,
    `launches` in which launch a cell is measured, and `each` how often in a block, where that is not once. Cells of the same
    launch follow each other, in an order drawn each time.

    Drift of the machine then hits all cells alike (randomised complete blocks); a block that only some cells need holds these
    in the order that they would have had among all. The same cells and the same seed give the same order.
    """
    cells: dict[str, list[str]] = {}
    for cell in sorted(repetitions):
        cells.setdefault((launches or {}).get(cell, cell), []).append(cell)
    often = {launch: max((each or {}).get(cell, 1) for cell in cells[launch]) for launch in cells}
    number = max((math.ceil(count / (each or {}).get(cell, 1)) for cell, count in repetitions.items()), default=0)
    order = []
    for block in range(1, number + 1):
        drawn = [launch for launch in sorted(cells) for _ in range(often[launch])]
        random.Random(f"{seed}/{block}").shuffle(drawn)
        made = dict.fromkeys(cells, 0)
        for launch in drawn:
            made[launch] += 1
            repetition = (block - 1) * often[launch] + made[launch]
            parts = list(cells[launch])
            random.Random(f"{seed}/{repetition}/{launch}").shuffle(parts)
            order.extend((cell, repetition) for cell in parts if repetitions[cell] >= repetition)
    return order

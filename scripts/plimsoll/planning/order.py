"""Order of the runs: in each block every cell runs once, in an order drawn from the seed. A repetition is a block.

A cell that many others are compared with may run more often in each block.
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
    """Return (cell, repetition) in the order of measuring. Repetitions count from 1.

    `repetitions` has the number of repetitions of each cell, and `launches` the launch that measures a cell. `each`
    says how often a cell runs in a block; the default is once. Cells of a launch follow each other, in an order that is
    drawn each time.

    Drift of the machine then affects all cells alike (randomised complete blocks). A block that only some cells need
    has these in the order that they would have among all cells. The same cells and the same seed give the same order.
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

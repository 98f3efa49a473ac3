"""The order of the runs: repetitions are blocks, and in each block every cell runs once, in an order drawn from the seed."""

import random
from collections.abc import Mapping


def blocks(repetitions: dict[str, int], seed: int, launches: Mapping[str, str] | None = None) -> list[tuple[str, int]]:
    """(cell, repetition) in the order of measuring, repetitions counted from 1; `repetitions` says how many of each cell, and
    `launches` in which launch a cell is measured: those of the same launch follow each other, in an order drawn for each block.

    Drift of the machine then hits all cells alike (randomised complete blocks); a block that only some cells need holds these
    in the order that they would have had among all. The same cells and the same seed give the same order.
    """
    cells: dict[str, list[str]] = {}
    for cell in sorted(repetitions):
        cells.setdefault((launches or {}).get(cell, cell), []).append(cell)
    order = []
    for repetition in range(1, max(repetitions.values(), default=0) + 1):
        block = sorted(cells)
        random.Random(f"{seed}/{repetition}").shuffle(block)
        for launch in block:
            parts = list(cells[launch])
            random.Random(f"{seed}/{repetition}/{launch}").shuffle(parts)
            order.extend((cell, repetition) for cell in parts if repetitions[cell] >= repetition)
    return order

"""The order of the runs: repetitions are blocks, and in each block every cell runs once, in an order drawn from the seed."""

import random


def blocks(repetitions: dict[str, int], seed: int) -> list[tuple[str, int]]:
    """(cell, repetition) in the order of measuring, repetitions counted from 1; `repetitions` says how many of each cell.

    Drift of the machine then hits all cells alike (randomised complete blocks); a block that only some cells need holds these
    in the order that they would have had among all. The same cells and the same seed give the same order.
    """
    order = []
    for repetition in range(1, max(repetitions.values(), default=0) + 1):
        block = sorted(repetitions)
        random.Random(f"{seed}/{repetition}").shuffle(block)
        order.extend((cell, repetition) for cell in block if repetitions[cell] >= repetition)
    return order

"""The order of the runs: repetitions are blocks, and in each block every cell runs once, in an order drawn from the seed."""

import random


def blocks(cells: list[str], repetitions: int, seed: int) -> list[tuple[str, int]]:
    """(cell, repetition) in the order of measuring, repetitions counted from 1.

    Drift of the machine then hits all cells alike (randomised complete blocks). The same cells, in whatever order they are
    given, and the same seed give the same order.
    """
    order = []
    for repetition in range(1, repetitions + 1):
        block = sorted(cells)
        random.Random(f"{seed}/{repetition}").shuffle(block)
        order.extend((cell, repetition) for cell in block)
    return order

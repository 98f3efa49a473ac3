"""Worlds for claims that must hold in each arrangement of what their paper leaves open."""

from collections.abc import Iterator

from plimsoll.claims import verdicts

from tests.bench.calibration.claims import single
from tests.bench.calibration.simulation.rules import BLOCKS, DOWN, EDGE, FAR, UP
from tests.bench.calibration.simulation.worlds import World


def worlds() -> Iterator[World]:
    """Yield worlds with three arrangements: of one comparison, and of the average of four."""
    truths = {
        "no effect": (0.0, 0.0, 0.0),
        "as claimed": (UP, UP, UP),
        "at the margin": (EDGE, EDGE, EDGE),
        "one at the margin": (0.0, 0.0, EDGE),
        "the other way": (DOWN, DOWN, DOWN),
        "as claimed in all but one": (FAR, FAR, 0.0),
        "as claimed in one": (FAR, 0.0, 0.0),
        "the other way in one": (0.0, 0.0, -FAR),
        "both ways": (UP, 0.0, DOWN),
    }
    for cells in (1, 4):
        of_each = [list(range(cells * number, cells * (number + 1))) for number in range(6)]
        arranged = [{"a": {"cell": a}, "b": {"cell": b}} for a, b in zip(of_each[:3], of_each[3:], strict=True)]
        rule = {"arranged": arranged, **({"holds": verdicts.AVERAGE} if cells > 1 else {})}
        for blocks in BLOCKS:
            for truth, levels in truths.items():
                drawn = (*(level for level in levels for _ in range(cells)), *[0.0] * 3 * cells)
                yield World("arrangements", truth, drawn, single(of_each[0], of_each[3], **rule), blocks)

"""Error rates of two stages, where blocks of the second follow from the noise of the first: simulated, and on real runs.

A nominal rate that is kept here is kept by `make reproduce HOURS=...`, whose functions these are (plimsoll.claims.needs).
"""

from tests.bench.calibration.stages import pooled, real, rules


def main() -> None:
    """All of them, one after the other."""
    pooled.main()
    rules.main()
    real.main()

"""Error rates of two stages, the second of which follows from the noise of the first: simulated, and on real runs.

`make reproduce HOURS=...` uses the same functions (plimsoll.features.time_budget.needs). So it keeps each nominal rate
that is kept here.
"""

from tests.bench.calibration.stages import pooled, real, rules


def main() -> None:
    """Run all benches of two stages, one after the other."""
    pooled.main()
    rules.main()
    real.main()

"""Tests of the error rates of verdicts. Figures and data go to docs/reports/calibration/.

python -m tests.bench simulation    every rule and quantity on simulated observations: wrong verdicts, coverage, power
python -m tests.bench.calibration.simulation spread trend    the same for some families of worlds; the other rows stay
python -m tests.bench stages        a second stage whose blocks follow from the first one's spread: wrong verdicts
python -m tests.bench open          what each inconclusive claim of the references would take: measures nothing
python -m tests.bench moderated     spreads of many comparisons lent to one: wrong verdicts, power
python -m tests.bench levels        variance by level of the references: measures nothing
python -m tests.bench sessions      two sets of results of an unchanged machine: real pairs, and simulated ones
python -m tests.bench halves        iterations of one run under two labels, of the reference of jha2021: measures nothing
python -m tests.bench same          the same cell under two labels, real runs
python -m tests.bench known         5, 10 and 20 % less processor time by a cgroup's quota
python -m tests.bench noise         disturbances of known strength: the runs that are found, and the error of runs that count
python -m tests.bench tries         `plimsoll try` on programs without a cost, and with planted ones: two to three hours
python -m tests.bench rejudge       the runs of `same` and `known` that come with the project, judged again: measures nothing
"""

import pandas as pd

from tests.conftest import PROJECT

FOLDER = PROJECT / "docs/reports/calibration"
CELLS = ("uma/exact/E1/bare/any/default/standard/plain/{}", "uma/exact/E1/docker/any/default/standard/plain/{}")


def wilson(count: int, number: int) -> tuple[float, float]:
    """Return the 95 % interval of a share."""
    from statsmodels.stats.proportion import proportion_confint

    return proportion_confint(count, number, method="wilson")


def write(table: pd.DataFrame, name: str) -> None:
    """Write a table to docs/reports/calibration/."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    table.to_csv(FOLDER / f"{name}.csv", index=False)


def read(name: str) -> pd.DataFrame:
    """Return a table of docs/reports/calibration/."""
    return pd.read_csv(FOLDER / f"{name}.csv")

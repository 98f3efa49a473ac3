"""Whether the verdicts can be trusted. Figures and data go to docs/calibration/.

python -m tests.bench same          the same cell under two labels, real runs
python -m tests.bench simulation    type I error and power of the paper's procedure and of ours
python -m tests.bench known         5, 10 and 20 % less processor time by a cgroup's quota
"""

import numpy as np
import pandas as pd
from plimsoll.analysis import blocks
from plimsoll.claims import verdicts
from plimsoll.claims.quantities.value import Value

from tests.conftest import PROJECT

FOLDER = PROJECT / "docs/calibration"
ALPHA, MARGIN = 0.05, 0.05
CELLS = ("uma/exact/E1/bare/any/default/standard/plain/{}", "uma/exact/E1/docker/any/default/standard/plain/{}")


def ours(a: np.ndarray, b: np.ndarray, margin: float = MARGIN) -> tuple[float, float, float, float]:
    """(p, p of likeness, low, high) of our comparison within blocks; the interval is of the relative difference."""
    differences = np.log(a) - np.log(b)
    _, low, high = blocks.t_interval(differences)
    return (
        blocks.p_difference(differences),
        blocks.p_alike(differences, np.log1p(margin)),
        np.expm1(low),
        np.expm1(high),
    )


def verdict(expected: str, a: np.ndarray, b: np.ndarray, margin: float = MARGIN, named: bool = False) -> str:
    """Verdict on one comparison; `named` says whether the claim names a size."""
    shown, bounds = blocks.Mean.of(np.log(a) - np.log(b)), Value().bounds(margin)
    return verdicts.judge(verdicts.strength(expected, shown, bounds, named), ALPHA, ALPHA)


def wilson(count: int, number: int) -> tuple[float, float]:
    """95 % interval of a share."""
    from statsmodels.stats.proportion import proportion_confint

    return proportion_confint(count, number, method="wilson")


def write(table: pd.DataFrame, name: str) -> None:
    """Put a table into docs/calibration/."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    table.to_csv(FOLDER / f"{name}.csv", index=False)

"""Runs that adaptive repetition needs for a precision, compared with a fixed number for all cells.

The spread of every cell is the one measured in results/reference/liu2020. Runs are drawn, with replacement, from the
cell's own logarithms. Their mean is subtracted, and they are stretched for the degree of freedom that the mean took.
"""

import numpy as np
import pandas as pd
from plimsoll import designs
from plimsoll.analysis import blocks
from plimsoll.config import studies
from plimsoll.designs.splitting import tests as significance
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.planning import precision

from tests.conftest import REFERENCE

TARGETS, MAXIMUM, FIXED, START = (0.05, 0.1, 0.2), 60, 10, 5


def main() -> None:
    """Print, for each width, the runs per cell of both ways, and the share of intervals that are narrow enough."""
    loaded = studies.load("liu2020", designs.known())
    table = pd.read_csv(REFERENCE / "liu2020/observations.csv")
    table = table[~table["censored"].astype(bool) & (table["instrument"] == "plain")]
    spreads, compared = {}, []
    for metric, group in table.groupby("metric"):
        for key, values in group.groupby([*OF_DEPLOYMENT, "section"])["value"]:
            logs = np.log(values.to_numpy())
            if len(logs) > 2:
                spreads[metric, "/".join(key)] = (logs - logs.mean()) * np.sqrt(len(logs) / (len(logs) - 1))
        section = loaded["metrics"][metric]["section"]
        for what, cell, reference in significance.pairs(group, loaded["baseline"], {"docker-ptrace": "docker"}):
            compared.append((what, metric, "/".join((*cell, section)), "/".join((*reference, section))))
    compared = [row for row in compared if (row[1], row[2]) in spreads and (row[1], row[3]) in spreads]
    print(f"{len(compared)} comparisons; at most {MAXIMUM} runs per cell")
    print(f"{'width':>6} {'way':<28} {'runs per cell':>13} {'narrow enough':>14}")
    for target in TARGETS:
        random = np.random.default_rng(7)
        draws = {side: random.choice(spread, MAXIMUM) for side, spread in spreads.items()}
        cells = sorted({cell for row in compared for cell in row[2:]})
        adaptive = _adaptive(draws, compared, dict.fromkeys(cells, START), target)
        _show(target, "adaptive", adaptive, draws, compared)
        _show(target, f"fixed, {FIXED}", dict.fromkeys(cells, FIXED), draws, compared)
        share = _share(_widths(draws, compared, adaptive), target)
        enough = next(
            (
                n
                for n in range(START, MAXIMUM + 1)
                if _share(_widths(draws, compared, dict.fromkeys(cells, n)), target) >= share
            ),
            MAXIMUM,
        )
        _show(target, "fixed, for the same share", dict.fromkeys(cells, enough), draws, compared)


def _adaptive(draws: dict, compared: list, now: dict[str, int], target: float) -> dict[str, int]:
    while True:
        wanted = precision.next_repetitions(now, _widths(draws, compared, now), target, MAXIMUM)
        if wanted == now:
            return now
        now = wanted


def _widths(draws: dict, compared: list, repetitions: dict[str, int]) -> pd.DataFrame:
    rows = []
    for what, metric, a, b in compared:
        n = min(repetitions[a], repetitions[b])
        mean, low, high = blocks.t_interval(draws[metric, a][:n] - draws[metric, b][:n])
        rows.append((what, metric, a, b, None, None, n, np.exp(high - mean) - np.exp(low - mean)))
    return pd.DataFrame(rows, columns=["what", "metric", *precision.CELLS, "n", "width"])


def _share(widths: pd.DataFrame, target: float) -> float:
    return float((widths["width"] <= target).mean())


def _show(target: float, way: str, repetitions: dict[str, int], draws: dict, compared: list) -> None:
    share = _share(_widths(draws, compared, repetitions), target)
    print(f"{target:>6.0%} {way:<28} {np.mean(list(repetitions.values())):>13.1f} {share:>14.1%}")


if __name__ == "__main__":
    main()

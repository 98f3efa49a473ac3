"""Two labels on the same cell, drawn by lot within each block of two runs: how often is the difference significant?"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from plimsoll.analysis import blocks, paper_tests

from tests.bench.calibration import ALPHA, CELLS, ours, wilson, write
from tests.bench.runs import Runner


def main(pairs: int = 40, runs: int = 5) -> None:
    """Measure pairs of samples of `runs` runs each, of bare metal and Docker in turn, and print the shares."""
    random = np.random.default_rng(2020)
    rows = []
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        runner = Runner(Path(folder))
        for pair in range(pairs):
            cell = CELLS[pair % 2].format("beff" if pair % 4 > 1 else "dgemm")
            for block in range(runs):
                for label in random.permutation(["a", "b"]):
                    values = runner.run(cell) or {}
                    rows += [
                        {"pair": pair, "cell": cell, "block": block, "label": label, "metric": m, "value": v}
                        for m, v in values.items()
                    ]
    table = pd.DataFrame(rows)
    write(table, "same_runs")
    tested = []
    for (pair, cell, metric), group in table.groupby(["pair", "cell", "metric"]):
        wide = group.pivot(index="block", columns="label", values="value").dropna()
        if len(wide) >= blocks.SMALLEST:
            a, b = wide["a"].to_numpy(), wide["b"].to_numpy()
            p, p_like, low, high = ours(a, b)
            tested.append(
                {
                    "pair": pair,
                    "cell": cell,
                    "metric": metric,
                    "n": len(wide),
                    "p": p,
                    "p_like": p_like,
                    "low": low,
                    "high": high,
                    "paper_p": paper_tests.paper_test(a, b, ALPHA)["p"],
                }
            )
    tested = pd.DataFrame(tested)
    write(tested, "same")
    # Metrics of one run are not independent: the share is of pairs, with one metric each.
    first = tested.drop_duplicates("pair")
    for name in ("paper_p", "p"):
        count = int((first[name] < ALPHA).sum())
        low, high = wilson(count, len(first))
        who = "the paper" if name == "paper_p" else "ours"
        print(f"{who:<10} p < {ALPHA}: {count} of {len(first)} pairs, {count / len(first):.3f} [{low:.3f}, {high:.3f}]")
    print(
        f"all metrics: paper {(tested['paper_p'] < ALPHA).mean():.3f}, ours {(tested['p'] < ALPHA).mean():.3f} of {len(tested)}"
    )

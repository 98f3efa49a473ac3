"""False verdicts on real runs of one cell, which get two labels at random within each block of two runs."""

import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from plimsoll.analysis import blocks, paper_tests
from plimsoll.claims import verdicts

from tests.bench.calibration import CELLS, read, wilson, write
from tests.bench.calibration.claims import claim, single
from tests.bench.calibration.study import ALPHA, of_values, whole
from tests.bench.runs import Runner

# Metrics that are counted: one per benchmark.
FIRST = ("dgemm_gflops", "pingpong_bandwidth")


def main(pairs: int = 40, runs: int = 5) -> None:
    """Measure pairs of samples of `runs` runs each, of bare metal and Docker in turn, and judge them."""
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
    write(pd.DataFrame(rows), "same_runs")
    judge(read("same_runs"))


def judge(table: pd.DataFrame) -> None:
    """Judge measured runs by claims of a difference (with and without a size), of likeness, and of no loss.

    Write one row per pair and metric, and print the shares of the verdicts.
    """
    rows = []
    for (pair, cell, metric), group in table.groupby(["pair", "cell", "metric"]):
        wide = group.pivot(index="block", columns="label", values="value").dropna()
        if len(wide) >= blocks.SMALLEST:
            rows.append({"pair": pair, "cell": cell, "metric": metric, "n": len(wide), **_judged(wide)})
    found = pd.DataFrame(rows)
    write(found, "same")
    # Metrics of one run are not independent: the shares are of pairs, with one metric each.
    first = found[found["metric"].isin(FIRST)]
    for name in ("paper_p", "p"):
        _print(f"{'the paper' if name == 'paper_p' else 'ours'}: p < {ALPHA}", (first[name] < ALPHA).sum(), len(first))
    for kind, verdict in product(KINDS, (verdicts.REPRODUCED, verdicts.CONTRADICTED)):
        _print(f"{kind}: {verdict}", (first[kind] == verdict).sum(), len(first))
    _print("interval covers 0", ((first["low"] <= 0) & (first["high"] >= 0)).sum(), len(first))
    for rule, shares in _relabelled(table).items():
        print(f"{rule}: " + ", ".join(f"{verdict} {share:.3f}" for verdict, share in shares.items()))


KINDS = ("difference", "difference with a size", "likeness", "no loss")


def _judged(wide: pd.DataFrame) -> dict:
    measured = of_values(wide.set_axis([0, 1], axis=1))
    found = [whole(one, measured) for one in single([0], [1])]
    a, b = wide["a"].to_numpy(), wide["b"].to_numpy()
    return {
        "p": blocks.p_difference(np.log(a) - np.log(b)),
        "paper_p": paper_tests.paper_test(a, b, ALPHA)["p"],
        **{"low": found[0].low, "high": found[0].high},
        **{kind: one.verdict for kind, one in zip(KINDS, found, strict=True)},
        "size": found[1].size,
    }


def _relabelled(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return shares of false verdicts by rule, of claims about four cells (both benchmarks, both runtimes).

    Four successive pairs make the cells of one claim. Both labels are on the same cell. So each of the 2 ** blocks ways
    to swap them in whole blocks is as likely as the one that was drawn, and all are judged.
    """
    first = table[table["metric"].isin(FIRST)].pivot(index=["pair", "block"], columns="label", values="value")
    shares: dict[str, list] = {}
    for number in range(first.index.get_level_values("pair").max() // 4 + 1):
        four = np.stack([first.loc[pair].to_numpy() for pair in range(4 * number, 4 * number + 4)], axis=1)
        for swapped in product((False, True), repeat=len(four)):
            labelled = np.where(np.array(swapped)[:, None, None], four[..., ::-1], four)
            measured = of_values(pd.DataFrame(np.concatenate([labelled[..., 0], labelled[..., 1]], axis=1)))
            for holds in (verdicts.EACH, verdicts.MOST, verdicts.SOME, verdicts.AVERAGE):
                asked = claim("higher", [0, 1, 2, 3], [4, 5, 6, 7], holds=holds)
                shares.setdefault(f"four cells, {holds}", []).append(whole(asked, measured).verdict)
    judged = (verdicts.REPRODUCED, verdicts.CONTRADICTED)
    return {rule: {verdict: given.count(verdict) / len(given) for verdict in judged} for rule, given in shares.items()}


def _print(what: str, count: int, number: int) -> None:
    low, high = wilson(count, number)
    print(f"{what}: {count} of {number}, {count / number:.3f} [{low:.3f}, {high:.3f}]")

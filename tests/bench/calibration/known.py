"""EP-DGEMM with 5, 10 and 20 % less processor time against all of it: is the sign found, does the interval cover it?"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from plimsoll.claims import verdicts
from plimsoll.environments.bare import Bare
from plimsoll.environments.base import HOST, Node, join
from plimsoll.environments.confined import Confined, parent
from plimsoll.host import cgroup

from tests.bench.calibration import CELLS, MARGIN, ours, verdict, wilson, write
from tests.bench.runs import Runner


class Limited(Bare):
    """Bare metal in a cpu cgroup whose quota leaves a share of the processors' time; `throttled` counts the periods of the
    last run in which it was used up."""

    throttled = 0

    def __init__(self, share: float, processors: int, period: int = 20_000):
        self.share, self.processors, self.period = share, processors, period

    def start(self, specs, on=HOST) -> list[Node]:
        """Make the group with its quota; the launcher and its ranks join it."""
        (group,) = cgroup.make(parent(specs[0]), ["limited"], cgroup.mounts())
        quota = int(self.share * self.processors * self.period)
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text(f"{quota} {self.period}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(self.period))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        self.group = group
        return super().start(specs, Confined(on, join([group])))

    def stop(self, nodes) -> None:
        """Remove the group, after a look at how often it was throttled."""
        counts = dict(line.split() for line in (self.group / "cpu.stat").read_text().splitlines())
        self.throttled = int(counts["nr_throttled"])
        cgroup.remove(parent(nodes[0].spec))


def main(experiments: int = 40, blocks: int = 5) -> None:
    """Measure, judge as a claim with that magnitude would be, and print what was found of what was done."""
    random = np.random.default_rng(20)
    rows = []
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        runner = Runner(Path(folder))
        cell = CELLS[0].format("dgemm")
        processors = runner.plan["cells"][cell]["cores"]
        # The quota is on in every run, so that what a limited group costs at all is on both sides. A quota of exactly all
        # processors is used up now and then by a few microseconds; half as much again never is.
        levels = {share: Limited(1 - share if share else 1.5, processors) for share in (0.0, 0.05, 0.10, 0.20)}
        for experiment in range(experiments):
            for block in range(blocks):
                for share in random.permutation(list(levels)):
                    values = runner.run(cell, levels[share])
                    if values:
                        row = {"experiment": experiment, "block": block, "less": share, "throttled": levels[share].throttled}
                        rows.append({**row, "value": values["dgemm_gflops"]})
    table = pd.DataFrame(rows)
    write(table, "known_runs")
    print(f"throttled periods in all runs without a loss: {table.loc[table['less'] == 0, 'throttled'].sum()}")
    # The same runs as half as many experiments of twice as many blocks.
    pairs = table.assign(experiment=table["experiment"] // 2, block=table["block"] + blocks * (table["experiment"] % 2))
    tested = pd.concat([judge(table), judge(pairs)])
    write(tested, "known")


def judge(table: pd.DataFrame) -> pd.DataFrame:
    """Print what the verdicts are on runs that were measured; one row per experiment and loss."""
    tested = []
    blocks = table["block"].nunique()
    for experiment, group in table.groupby("experiment"):
        wide = group.pivot(index="block", columns="less", values="value")
        for share in (0.05, 0.10, 0.20):
            both, margin = wide[[share, 0.0]].dropna(), min(MARGIN, share / 2)
            a, b = both[share].to_numpy(), both[0.0].to_numpy()
            p, _, low, high = ours(a, b, margin)
            effect = np.expm1(np.log(a / b).mean())
            tested.append(
                {
                    "blocks": blocks,
                    "experiment": experiment,
                    "less": share,
                    "n": len(both),
                    "effect": effect,
                    "low": low,
                    "high": high,
                    "p": p,
                    "verdict": verdict("lower", a, b, margin, named=True),
                    "covers": low <= -share <= high,
                }
            )
    found = pd.DataFrame(tested)
    for share, group in found.groupby("less"):
        count = int(group["covers"].sum())
        low, high = wilson(count, len(group))
        signs = int((group["verdict"] == verdicts.REPRODUCED).sum())
        print(
            f"{blocks} blocks, {share:.0%} less: mean effect {group['effect'].mean():+.4f}, "
            f"sign found in {signs} of {len(group)}, "
            f"interval covers the truth in {count} ({count / len(group):.2f} [{low:.2f}, {high:.2f}])"
        )
    return found

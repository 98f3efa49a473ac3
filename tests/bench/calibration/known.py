"""EP-DGEMM with 5, 10 and 20 % less processor time: how often the sign is found, and the interval covers the loss."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from plimsoll.host import cgroup
from plimsoll.runtimes.bare import Bare
from plimsoll.runtimes.base import HOST, Node, join
from plimsoll.runtimes.cpuset_node import CpusetNode, parent

from tests.bench.calibration import CELLS, read, wilson, write
from tests.bench.calibration.claims import claim, named
from tests.bench.calibration.study import of_values, whole
from tests.bench.runs import Runner

LOSSES = (0.05, 0.10, 0.20)


class Limited(Bare):
    """Bare metal in a cpu cgroup whose quota leaves a share of the processors' time.

    `throttled` counts the periods of the last run in which the quota was used up.
    """

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
        return super().start(specs, CpusetNode(on, join([group])))

    def stop(self, nodes) -> None:
        """Read how often the group was throttled, and remove it."""
        counts = dict(line.split() for line in (self.group / "cpu.stat").read_text().splitlines())
        self.throttled = int(counts["nr_throttled"])
        cgroup.remove(parent(nodes[0].spec))


def main(experiments: int = 40, blocks: int = 5) -> None:
    """Measure runs, and judge them."""
    random = np.random.default_rng(20)
    rows = []
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        runner = Runner(Path(folder))
        cell = CELLS[0].format("dgemm")
        processors = runner.plan["cells"][cell]["cores"]
        # Every run has a quota, so that the cost of a limited group is on both sides. A quota of exactly all processors
        # is used up now and then by a few microseconds. A quota of 1.5 times as much never is.
        levels = {share: Limited(1 - share if share else 1.5, processors) for share in (0.0, *LOSSES)}
        for experiment in range(experiments):
            for block in range(blocks):
                for share in random.permutation(list(levels)):
                    values = runner.run(cell, levels[share])
                    if values:
                        row = {"experiment": experiment, "block": block, "less": share, "throttled": levels[share].throttled}
                        rows.append({**row, "value": values["dgemm_gflops"]})
    write(pd.DataFrame(rows), "known_runs")
    judge(read("known_runs"))


def judge(table: pd.DataFrame) -> None:
    """Judge measured runs by a claim that prints the true loss; print and write the results.

    The same runs are also taken as half as many experiments of twice as many blocks.
    """
    print(f"throttled periods in all runs without a loss: {table.loc[table['less'] == 0, 'throttled'].sum()}")
    blocks = table["block"].nunique()
    pairs = table.assign(experiment=table["experiment"] // 2, block=table["block"] + blocks * (table["experiment"] % 2))
    found = pd.concat([_judged(table), _judged(pairs)])
    write(found, "known")
    for (number, less), group in found.groupby(["blocks", "less"]):
        low, high = wilson(group["covers"].sum(), len(group))
        told = ", ".join(f"{name} {count}" for name, count in group["size"].value_counts().items())
        print(
            f"{number} blocks, {less:.0%} less: mean effect {group['effect'].mean():+.4f}; of {len(group)}: "
            f"{', '.join(f'{name} {count}' for name, count in group['verdict'].value_counts().items())}; size: {told}; "
            f"interval covers the truth in {group['covers'].sum()} [{low:.2f}, {high:.2f}]"
        )


def _judged(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per experiment and loss."""
    rows = []
    for experiment, group in table.groupby("experiment"):
        wide = group.pivot(index="block", columns="less", values="value")
        for less in LOSSES:
            both = wide[[less, 0.0]].set_axis([0, 1], axis=1)
            found = whole(claim("lower", [0], [1], **named(-less)), of_values(both))
            row = {"blocks": table["block"].nunique(), "experiment": experiment, "less": less, "n": len(both.dropna())}
            effect = np.expm1(np.log(both[0] / both[1]).mean())
            row |= {"effect": effect, "low": found.low, "high": found.high, "verdict": found.verdict, "size": found.size}
            rows.append({**row, "covers": found.low <= -less <= found.high})
    return pd.DataFrame(rows)

"""What each instrument costs: every metric of a cell with and without it, in turns, in pairs of random order."""

import tempfile
from pathlib import Path

import numpy as np
from plimsoll.claims import estimates

from tests.bench.runs import Runner

PAIRS = 12
SECTIONS = ("dgemm", "stream", "fft", "ptrans", "randomaccess", "beff")
CELLS = {
    "mpi": (
        *(f"uma/exact/E1/bare/pin/default/standard/{{}}/{s}" for s in SECTIONS),
        "uma/exact/E2/docker/pin/default/standard/{}/beff",
    ),
    "events": tuple(f"uma/exact/E2/docker/any/default/standard/{{}}/{s}" for s in ("dgemm", "fft")),
}


def main() -> None:
    """Print the relative difference of each metric with its 95 % interval (paired t on logarithms), and both means."""
    random = np.random.default_rng(3)
    print(f"{'instrument':<11}{'cell':<32}{'metric':<24}{'without':>10}{'with':>10}  difference [95 % interval], n")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        runner = Runner(Path(folder))
        for instrument, cells in CELLS.items():
            for cell in cells:
                values = {name: [] for name in ("plain", instrument)}
                for _ in range(PAIRS):
                    pair = {name: runner.run(cell.format(name)) for name in random.permutation(list(values))}
                    if all(pair.values()):
                        for name, found in pair.items():
                            values[name].append(found)
                _show(instrument, cell, values["plain"], values[instrument])


def _show(instrument: str, cell: str, without: list[dict], watched: list[dict]) -> None:
    for metric in without[0]:
        a, b = (np.array([run[metric] for run in runs]) for runs in (watched, without))
        mean, low, high = np.expm1(estimates.t_interval(np.log(a) - np.log(b)))
        where = " ".join(cell.split("/")[2:5])
        print(
            f"{instrument:<11}{where:<32}{metric:<24}{b.mean():>10.4g}{a.mean():>10.4g}  "
            f"{mean:+.1%} [{low:+.1%}, {high:+.1%}], {len(a)}"
        )


if __name__ == "__main__":
    main()

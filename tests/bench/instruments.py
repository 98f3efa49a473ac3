"""Cost of each instrument: every metric of a cell with and without it, in turn, in pairs of random order."""

import tempfile
from pathlib import Path

import numpy as np
from plimsoll.analysis import blocks

from tests.bench.runs import Runner

PAIRS = 12
CALL = 50e-9  # seconds: two readings of the clock, and the sums
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
                called = []
                for _ in range(PAIRS):
                    pair = {}
                    for name in random.permutation(list(values)):
                        pair[name] = runner.run(cell.format(name))
                        if name == "mpi" and pair[name]:
                            called.append(runner.last)
                    if all(pair.values()):
                        for name, found in pair.items():
                            values[name].append(found)
                _show(instrument, cell, values["plain"], values[instrument])
                if called:
                    _show_calls(cell, called)


def _show_calls(cell: str, records: list[dict]) -> None:
    """Print the share of a section that its calls take at CALL seconds per call. The noise of the metrics hides it."""
    shares = []
    for record in records:
        calls = record["values"]["mpi_calls/all"] / len(record["ranks"])
        shares.append(calls * CALL / record["values"]["wall_seconds"])
    where, section = " ".join(cell.split("/")[2:5]), cell.split("/")[-1]
    print(f"{'mpi':<11}{where:<32}{section:<24}calls alone: {np.mean(shares):.2%} of its time")


def _show(instrument: str, cell: str, without: list[dict], watched: list[dict]) -> None:
    for metric in without[0]:
        a, b = (np.array([run[metric] for run in runs]) for runs in (watched, without))
        mean, low, high = np.expm1(blocks.t_interval(np.log(a) - np.log(b)))
        where = " ".join(cell.split("/")[2:5])
        print(
            f"{instrument:<11}{where:<32}{metric:<24}{b.mean():>10.4g}{a.mean():>10.4g}  "
            f"{mean:+.1%} [{low:+.1%}, {high:+.1%}], {len(a)}"
        )


if __name__ == "__main__":
    main()

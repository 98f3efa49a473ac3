"""Creation times of our code against `docker run` typed by hand, in turns of random order."""

import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from plimsoll import workloads
from plimsoll.analysis import blocks

from tests.bench.runs import Runner

PAIRS = 20
NUMBERS = (1, 4)


def by_hand(tag: str, words: str, number: int) -> float:
    """Seconds that a shell takes for containers which it starts at once, and waits for."""
    one = f"docker run --init --name plimsoll-bench-$i --label plimsoll {tag} {words} >/dev/null &"
    begun = time.monotonic()
    subprocess.run(["bash", "-c", f"for i in $(seq {number}); do {one} done; wait"], check=True)
    took = time.monotonic() - begun
    names = [f"plimsoll-bench-{each}" for each in range(1, number + 1)]
    subprocess.run(["docker", "rm", "--force", *names], check=True, stdout=subprocess.DEVNULL)
    return took


def main() -> None:
    """Print the ratio, ours over by hand, with its 95 % interval (paired t on logarithms), and both means."""
    random = np.random.default_rng(5)
    print(f"{'containers':>10}{'by hand (s)':>13}{'ours (s)':>10}  ratio [95 % interval], n")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        runner = Runner(Path(folder), study="amaral2015")
        for number in NUMBERS:
            cell = f"creation/docker/{number}/0"
            words = " ".join(workloads.find("sysbench").command(runner.plan["cells"][cell]["parameters"]))
            pairs = []
            while len(pairs) < PAIRS:
                pair = {}
                for which in random.permutation(["hand", "ours"]):
                    values = runner.measured(cell) if which == "ours" else {}
                    pair[which] = by_hand(runner.image["tag"], words, number) if which == "hand" else values
                if pair["ours"]:
                    pairs.append((pair["ours"]["creation_time"], pair["hand"]))
            _show(number, np.array(pairs))


def _show(number: int, pairs: np.ndarray) -> None:
    ours, hand = pairs.T
    ratio, low, high = np.exp(blocks.t_interval(np.log(ours) - np.log(hand)))
    print(
        f"{number:>10}{hand.mean():>13.3f}{ours.mean():>10.3f}  {ratio:.3f} [{low:.3f}, {high:.3f}], {len(pairs)}", flush=True
    )


if __name__ == "__main__":
    main()

"""Creation times of our code compared with `docker run` typed by hand, in turn and in random order.

By hand, each option that our containers have is also added, one at a time and all together.
"""

import shlex
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from plimsoll import runtimes, workloads
from plimsoll.analysis import blocks
from plimsoll.host import cgroup, machine_lock
from plimsoll.workloads import loop

from tests.bench.runs import Runner

ROUNDS = 20
NUMBERS = (1, 4)
PLAIN, ALL, OURS = "plain", "all of these", "ours"
# Name of each container by hand, before its number.
NAME = "plimsoll-bench-"
# Starts containers at once and waits for all. If one fails, it fails with that one's status. NUMBER is the number of
# the container.
AT_ONCE = """
started=()
for number in $(seq {number}); do {one} >/dev/null & started+=($!); done
status=0
for each in "${{started[@]}}"; do wait "$each" || status=$?; done
exit $status
"""


class Arm:
    """A way to type `docker run`: options, and the words of the program."""

    def __init__(self, options: list[str], program: list[str]):
        self.options, self.program = options, program

    def command(self, tag: str, number: int) -> str:
        """Return the script that creates `number` containers."""
        words = ["docker", "run", "--name", f"{NAME}NUMBER", *self.options, tag, *self.program]
        return AT_ONCE.format(number=number, one=shlex.join(words).replace("NUMBER", "$number"))


def arms(program: list[str], folder: Path) -> dict[str, Arm]:
    """Return the ways to type `docker run`, by what each adds. Every container has a name, by which it is removed.

    The ways add an init process, a label, a folder of the host, the network of runs, a run's own cgroup, or the loop
    around the program. The loop's log goes into the container. The last way adds all.
    """
    docker = runtimes.find("docker")
    docker.network.set_up()
    added = {
        "init": ["--init"],
        "label": ["--label", "plimsoll"],
        "folder": ["--volume", f"{folder}:{folder}"],
        "network": ["--network", docker.network.name],
        "cgroup": ["--cgroup-parent", docker.group_of("bench")],
    }
    looped = [*loop.command(Path("/tmp"), 0.0, 60.0, 1), *program]
    in_folder = [*loop.command(folder, 0.0, 60.0, 1), *program]
    return {
        PLAIN: Arm([], program),
        **{name: Arm(options, program) for name, options in added.items()},
        "loop": Arm([], looped),
        ALL: Arm([word for options in added.values() for word in options], in_folder),
    }


def by_hand(arm: Arm, tag: str, number: int) -> float:
    """Return the seconds that a shell takes for containers that it starts at once and waits for.

    Raise CalledProcessError if one failed.
    """
    # As with our code, nothing else may measure at the same time.
    with machine_lock.hold(lambda holder: None):
        try:
            begun = time.monotonic()
            subprocess.run(["bash", "-c", arm.command(tag, number)], check=True)
            return time.monotonic() - begun
        finally:
            names = [f"{NAME}{each}" for each in range(1, number + 1)]
            subprocess.run(["docker", "rm", "--force", *names], check=True, stdout=subprocess.DEVNULL)


def main(rounds: int = ROUNDS) -> None:
    """Print means, and ratios to plain `docker run` with their 95 % intervals (paired t on logarithms)."""
    random = np.random.default_rng(5)
    print(f"{'containers':>10}  {'what':<14}{'seconds':>9}  ratio to plain [95 % interval], n")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        runner = Runner(Path(folder), study="amaral2015")
        for number in NUMBERS:
            cell = f"creation/docker/{number}/0"
            ways = arms(workloads.find("sysbench").command(runner.plan["cells"][cell]["parameters"]), Path(folder))
            try:
                _show(number, [*ways, OURS], [_round(runner, cell, number, ways, random) for _ in range(rounds)])
            finally:
                cgroup.remove(runtimes.find("docker").group_of("bench").strip("/"))


def _round(runner: Runner, cell: str, number: int, ways: dict[str, Arm], random: np.random.Generator) -> dict[str, float]:
    """Return the seconds by each way and by our code, in random order. Our code is repeated until a run of it counts."""
    seconds = {}
    for which in random.permutation([*ways, OURS]):
        while which not in seconds:
            if which != OURS:
                seconds[which] = by_hand(ways[which], runner.image["tag"], number)
            elif values := runner.measured(cell):
                seconds[which] = values["creation_time"]
    return seconds


def _show(number: int, ways: list[str], found: list[dict[str, float]]) -> None:
    plain = np.log([one[PLAIN] for one in found])
    for which in ways:
        logs = np.log([one[which] for one in found])
        ratio, low, high = np.exp(blocks.t_interval(logs - plain))
        told = "" if which == PLAIN else f"{ratio:.3f} [{low:.3f}, {high:.3f}], {len(found)}"
        print(f"{number:>10}  {which:<14}{np.exp(logs).mean():>9.3f}  {told}", flush=True)


if __name__ == "__main__":
    main()

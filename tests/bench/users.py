"""Whether a run of an ordinary user has the values of root's: both in turn, and the ratio with its 95 % interval.

The user is made for it, is in the group docker, and runs the same image and plan. Root's Apptainer has privileges, the user's
has none, so that plain Singularity is compared as each gets it.
"""

import json
import random
import shutil
import tempfile
from pathlib import Path

import numpy as np
from plimsoll.analysis import blocks
from plimsoll.measuring import status

from tests.bench.runs import Runner
from tests.users.conftest import User

ROUNDS = 10
CELLS = [
    *(f"uma/exact/{scheme}/{runtime}/any/default/standard/plain/{section}"
      for section in ("fft", "beff")
      for runtime, scheme in (("bare", "E1"), ("docker", "E1"), ("docker", "E2"), ("singularity", "E2"))),
]  # fmt: skip
MEASURE = "from plimsoll import measure; import sys; sys.exit(measure.main(sys.argv[1:]))"


def main() -> None:
    """Print one row per cell and metric."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    user = User("plimsoll-bench", ("docker",))
    try:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
            shared = Path(name)
            shared.chmod(0o755)
            runner = Runner(shared)
            shutil.copytree(shared, user.home / "bench")
            user.own(user.home / "bench")
            for number in range(1, ROUNDS + 1):
                for cell in random.sample(CELLS, len(CELLS)):
                    found = {}
                    for who in random.sample(("root", "user"), 2):
                        found[who] = runner.run(cell) if who == "root" else _of_user(user, runner, cell, number)
                    if None in found.values():
                        continue
                    for who, of_run in found.items():
                        for metric, value in of_run.items():
                            values.setdefault((cell, metric), {}).setdefault(who, []).append(value)
    finally:
        user.remove()
    print(f"{'cell':<34} {'metric':<24} {'n':>3} {'user / root':>12}  95 % interval")
    for (cell, metric), by in values.items():
        n = min(map(len, by.values()))
        if len(by) < 2 or n < blocks.SMALLEST:
            print(f"{cell:<34} {metric:<24} {n:>3} too few valid runs")
            continue
        logs = np.log(by["user"][:n]) - np.log(by["root"][:n])
        middle, low, high = np.exp(blocks.t_interval(logs))
        short = cell.replace("uma/exact/", "").replace("/any/default/standard/plain", "")
        print(f"{short:<34} {metric:<24} {n:>3} {middle:>12.3f}  [{low:.3f}, {high:.3f}]")


def _of_user(user: User, runner: Runner, cell: str, number: int) -> dict[str, float] | None:
    """Values of the cell's metrics from one run of the user's."""
    folder = user.home / "bench"
    record = folder / f"{cell.replace('/', '-')}-{number}.json"
    fingerprint = runner.plan["cells"][cell]["fingerprint"]
    words = [str(folder / "plan.json"), str(folder / "image.json"), cell, "1", fingerprint, str(record)]
    done = user.python("-c", MEASURE, *words)
    if done.returncode or not record.is_file():
        print(done.stderr.strip().splitlines()[-1:] or "no record")
        return None
    found = json.loads(record.read_text())
    if found["status"] != status.VALID:
        print(f"{cell}: {found['status']}: {found['reason']}")
        return None
    return runner.values(cell, found["values"])

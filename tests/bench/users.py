"""Check that runs of an ordinary user have the values of root's: both in turn, and the ratio with its 95 % interval.

The user is made for this, is in the group docker, and runs the same image and plan. Root's Apptainer has privileges and
mounts the image file. The user's has none and has the unpacked image. So plain Singularity is compared as each of them
gets it. In a third arm root has the unpacked image: it separates the effect of the image's form from that of the
privileges.
"""

import json
import random
import shutil
import tempfile
from pathlib import Path

import numpy as np
from plimsoll.analysis import blocks
from plimsoll.measuring import status
from plimsoll.runtimes.apptainer import Singularity

from tests.bench.runs import Runner
from tests.users.conftest import User

ROUNDS = 10
LEVELS = (("bare", "E1"), ("docker", "E1"), ("docker", "E2"), ("docker-ptrace", "E1"), ("singularity", "E2"))
# Cells whose ranks have places. A user makes no cpusets, and binds ranks and Docker's containers in other ways than root.
PLACED = (
    "exact/E1/bare/pin/default/standard/plain/fft",
    "exact/E2/docker/cpumem/default/standard/plain/fft",
    "over/O1/bare/cpumem/enabled/standard/plain/dgemm",
)
# Microservices with limits, and pairs: in containers without their own limits, and with them.
COMPANY = ("1/linpack", "1/stream", "2/linpack+stream", "3b/linpack+stream")
CELLS = {
    "liu2020": [
        *(
            f"uma/exact/{scheme}/{runtime}/any/default/standard/plain/{s}"
            for s in ("fft", "beff")
            for runtime, scheme in LEVELS
        ),
        *(f"uma/{placed}" for placed in PLACED),
    ],
    "jha2021": [f"{company}/docker/free" for company in COMPANY],
}
ROOT, USER, UNPACKED = "root", "user", "root, unpacked"
# Ratios that are printed: the first over the second.
RATIOS = ((USER, ROOT), (UNPACKED, ROOT), (USER, UNPACKED))
MEASURE = "from plimsoll import measure; import sys; sys.exit(measure.main(sys.argv[1:]))"


class Unpacked(Singularity):
    """Plain Singularity from the unpacked image, for every user."""

    unpacked = True


def main(rounds: int = ROUNDS) -> None:
    """Print one row per cell and metric."""
    user = User("plimsoll-bench", ("docker",))
    try:
        for study, cells in CELLS.items():
            with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
                shared = Path(name)
                shared.chmod(0o755)
                runner = Runner(shared, study=study)
                shutil.copytree(shared, user.home / study)
                plan = runner.planned(root=False, cpusets=False, limits=False)
                (user.home / study / "plan.json").write_text(json.dumps(plan))
                user.own(user.home / study)
                _show(_measured(runner, cells, plan, user, user.home / study, rounds))
    finally:
        user.remove()


def _measured(runner: Runner, cells: list[str], plan: dict, user: User, folder: Path, rounds: int) -> dict:
    """Return the values of each cell and metric by who ran it: one of each per round in which all runs of the cell are
    valid.

    `plan` is the user's, and is also in `folder`.
    """
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for number in range(1, rounds + 1):
        for cell in random.sample(cells, len(cells)):
            ways = {
                ROOT: lambda cell=cell: runner.run(cell),
                USER: lambda cell=cell, number=number: _of_user(user, runner, folder, plan["cells"][cell], number),
            }
            if "/singularity/" in cell:
                ways[UNPACKED] = lambda cell=cell: runner.run(cell, Unpacked())
            found = {who: ways[who]() for who in random.sample(list(ways), len(ways))}
            if None in found.values():
                continue
            for who, of_run in found.items():
                for metric, value in of_run.items():
                    values.setdefault((cell, metric), {}).setdefault(who, []).append(value)
    return values


def _show(values: dict) -> None:
    print(f"{'cell':<38} {'metric':<24} {'n':>3} {'ratio':<24} {'':>6}  95 % interval")
    for (cell, metric), by in values.items():
        short = cell.replace("uma/", "").replace("/standard/plain", "").replace("/any/default", "")
        for one, other in RATIOS:
            if one in by and other in by:
                print(f"{short:<38} {metric:<24} {_ratio(by[one], by[other], f'{one} / {other}')}", flush=True)


def _ratio(ours: list[float], theirs: list[float], named: str) -> str:
    """Return the number of pairs, and the ratio of their values with its interval, in columns."""
    if len(ours) < blocks.SMALLEST:
        return f"{len(ours):>3} {named:<24} too few valid runs"
    middle, low, high = np.exp(blocks.t_interval(np.log(ours) - np.log(theirs)))
    return f"{len(ours):>3} {named:<24} {middle:>6.3f}  [{low:.3f}, {high:.3f}]"


def _of_user(user: User, runner: Runner, folder: Path, cell: dict, number: int) -> dict[str, float] | None:
    """Return the values of a cell's metrics from one run of the user, in a folder with the user's plan; None if it is
    not valid."""
    path = cell["path"]
    record = folder / f"{path.replace('/', '-')}-{number}.json"
    words = [str(folder / "plan.json"), str(folder / "image.json"), path, "1", cell["fingerprint"], str(record)]
    done = user.python("-c", MEASURE, *words)
    if done.returncode or not record.is_file():
        print(done.stderr.strip().splitlines()[-1:] or "no record")
        return None
    found = json.loads(record.read_text())
    if found["status"] != status.VALID:
        print(f"{path}: {found['status']}: {found['reason']}")
        return None
    return runner.values(found)

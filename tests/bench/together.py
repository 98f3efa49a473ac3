"""Check that a section has the same value in one launch with the others as in a launch of its own.

Both are measured in turn, on bare metal and in Docker. For each metric the ratio (together / alone) of geometric means
is printed with its 95 % interval (Welch's test on logarithms), and how long both took.
"""

import math
import shutil
import tempfile
import time
from pathlib import Path

from plimsoll import measure
from plimsoll.analysis import paper_tests
from plimsoll.measuring import progress, record

from tests.bench.runs import Runner

DEPLOYMENTS = (
    "uma/exact/E1/bare/any/default/standard/plain",
    "uma/exact/E1/docker/any/default/standard/plain",
    "uma/exact/E2/docker/any/default/standard/plain",
)
TURNS = 12


def main() -> None:
    """Measure both ways in turn, and print the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Path(folder))
        for deployment in DEPLOYMENTS:
            compare(runner, deployment)


def compare(runner: Runner, deployment: str) -> None:
    """Print one line per metric of a deployment's sections."""
    cells = [path for path, cell in runner.plan["cells"].items() if cell.get("launch") == deployment]
    values: dict[tuple[str, str], list[float]] = {}
    seconds = {"together": 0.0, "alone": 0.0}
    for turn in range(TURNS):
        for way in ("together", "alone") if turn % 2 else ("alone", "together"):
            begun = time.monotonic()
            for name, value in measured(runner, cells, way):
                values.setdefault((name, way), []).append(value)
            seconds[way] += time.monotonic() - begun
    print(f"{deployment}: {seconds['together'] / TURNS:.1f} s together, {seconds['alone'] / TURNS:.1f} s alone")
    for name in dict.fromkeys(name for name, _ in values):
        found = paper_tests.compare(values[name, "together"], values[name, "alone"], 0.05)
        spread = [deviation(values[name, way]) for way in ("together", "alone")]
        print(
            f"  {name:<24} {found['ratio']:.3f} [{found['ratio_low']:.3f}, {found['ratio_high']:.3f}]   standard deviation "
            f"{spread[0]:.0%} together, {spread[1]:.0%} alone   n = {len(values[name, 'together'])}"
        )


def measured(runner: Runner, cells: list[str], way: str) -> list[tuple[str, float]]:
    """Return each metric's value, from one launch of all cells or from one for each. Records of earlier turns are deleted."""
    folder, repetition = runner.folder, 1
    shutil.rmtree(folder / "runs", ignore_errors=True)
    launches = [cells] if way == "together" else [[cell] for cell in cells]
    found = []
    for launch in launches:
        progress.begin(folder / "progress", [f"{cell}/{repetition}" for cell in launch])
        for cell in launch:
            target = record.path_of(folder / "runs", cell, repetition)
            known = measure.measure(folder / "plan.json", cell, repetition, target, folder / "image.json")
            if known["status"] == "valid":
                found += runner.values(known).items()
    return found


def deviation(values: list[float]) -> float:
    """Return the standard deviation of the logarithms."""
    logarithms = [math.log(value) for value in values]
    mean = sum(logarithms) / len(logarithms)
    return math.sqrt(sum((value - mean) ** 2 for value in logarithms) / (len(logarithms) - 1))


if __name__ == "__main__":
    main()

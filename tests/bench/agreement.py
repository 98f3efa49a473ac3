"""A measurement by the workflow compared with the same command typed by hand, interleaved: the ratio and its interval.

By hand means: a shell runs the command line of the record. `docker run` and `docker rm` start and remove containers, as
a person would type them. None of the workflow's code is between.
"""

import json
import shlex
import subprocess
import tempfile
from pathlib import Path

from plimsoll import designs, measure, runtimes, workloads
from plimsoll.analysis import paper_tests
from plimsoll.config import studies
from plimsoll.host import inventory
from plimsoll.images import builder
from plimsoll.mpi.job import Job
from plimsoll.planning import planner
from plimsoll.runtimes.base import HOST
from plimsoll.runtimes.engine import EngineNode

from tests.conftest import PROJECT

REPETITIONS = 12
CASES = (
    ("uma/exact/E1/bare/any/default/standard/plain/dgemm", "dgemm_gflops"),
    ("uma/exact/E2/docker/any/default/standard/plain/beff", "pingpong_latency"),
)


def main() -> None:
    """Print the ratio of the means for each case and metric."""
    import yaml

    config = yaml.safe_load((PROJECT / "config/config.yaml").read_text())
    loaded = studies.load("liu2020", designs.known())
    made = planner.make(loaded, studies.profile("quick"), inventory.here(), config, {})
    image = builder.build("hpcc", "bootstrap")
    for path, metric in CASES:
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            through, by_hand = measured(Path(folder), made, image, path, loaded["metrics"][metric]["source"])
        result = paper_tests.compare(through, by_hand)
        print(
            f"{path} {metric}: workflow/by hand = {result['ratio']:.3f} [{result['ratio_low']:.3f}, {result['ratio_high']:.3f}]"
            f", {result['test']} p = {result['p']:.2g}, n = {result['n_a']} + {result['n_b']}"
        )


def measured(folder: Path, made: dict, image: dict, path: str, source: str) -> tuple[list[float], list[float]]:
    """Return (values by the workflow, values by hand), taken in turn."""
    (folder / "plan.json").write_text(json.dumps(made))
    (folder / "image.json").write_text(json.dumps(image))
    through, by_hand = [], []
    for number in range(1, REPETITIONS + 1):
        repetition = (number - 1) % made["repetitions"] + 1
        found = measure.measure(folder / "plan.json", path, repetition, folder / f"{number}.json", folder / "image.json")
        if found["status"] == "valid":
            through.append(found["values"][source])
        by_hand.append(typed(folder / f"hand{number}", made, image, path, source))
    return through, by_hand


def typed(folder: Path, made: dict, image: dict, path: str, source: str) -> float:
    """Make one run as a person would (a shell, docker run, mpirun, docker rm), and return its value."""
    (folder / "ranks").mkdir(parents=True)
    cell = made["cells"][path]
    benchmark = workloads.find(made["benchmark"])
    benchmark.prepare(folder, cell["parameters"])
    job = Job.of_cell(f"hand{folder.name}", folder, folder, cell, image)
    lines = []
    if cell["runtime"] == "docker":
        names = [spec.name for spec in job.specs]
        for name in names:
            lines.append(
                f"docker run --detach --init --network plimsoll --hostname {name} --name {name} "
                f"--volume {folder}:{folder} {image['tag']} sleep infinity >/dev/null"
            )
        lines.append("trap 'docker rm --force " + " ".join(names) + " >/dev/null' EXIT")
        nodes = [EngineNode(spec, HOST, [], ("docker",)) for spec in job.specs]
    else:
        nodes = runtimes.find(cell["runtime"]).start(job.specs)
    lines.append(shlex.join(job.command(nodes, [benchmark.program])))
    subprocess.run(
        ["sh", "-ec", "\n".join(lines)],
        cwd=folder,
        env=job.environment,
        check=True,
        capture_output=True,
    )
    return benchmark.results(folder, cell["parameters"])[source]


if __name__ == "__main__":
    main()

"""A host whose memory grows and shrinks, as that of virtual machines does: existing measurements stay valid."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.project import RUNS

# The size of STREAM's problem depends on the memory.
SETTINGS = (
    "profile=ci",
    "repetitions=2",
    "runtimes={docker: off, singularity: off, singularity-instance: off, singularity-cgroup: off}",
)
ORDER = 20000
SHARE, GIB = 0.1, 2**30
TOTAL = re.compile(r"(MemTotal: +)[0-9]+")
# Mounts files over the kernel's, and then executes the command.
BOUND = 'while [ "$1" != -- ]; do mount --bind "$1" "$2" && shift 2 || exit 1; done; shift; exec "$@"'


@pytest.fixture
def project(fresh):
    if os.geteuid():
        pytest.skip("a mount over the kernel's files needs root")
    fresh.settings = SETTINGS
    fresh.keep_three_cells("stream", runtime=["bare"])
    with fresh.edited("config/profiles/ci.yaml") as profile:
        profile["hpcc"]["standard"]["stream"]["order"] = ORDER
    return fresh


def start(project, gib: float, *arguments: str) -> str:
    """Run the workflow on a host with `gib` GiB of memory in all, and in its smallest node; return its messages."""
    files = [Path("/proc/meminfo"), *sorted(Path("/sys/devices/system/node").glob("node[0-9]*/meminfo"))]
    pairs = []
    for number, file in enumerate(files):
        told = project.folder / f"meminfo-{number}"
        told.write_text(TOTAL.sub(rf"\g<1>{round(gib * 2**20)}", file.read_text()))
        pairs += [str(told), str(file)]
    command = ["unshare", "--mount", "bash", "-c", BOUND, "bash", *pairs, "--", *project.command(*arguments)]
    done = subprocess.run(command, cwd=project.folder, env=project.environment, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def records(project) -> dict[str, str]:
    return {path: (project.folder / path).read_text() for path in project.files(RUNS)}


def order_of(project) -> int:
    (order,) = {json.loads(text)["cell"]["parameters"]["order"] for text in records(project).values()}
    return order


def plan(project) -> str:
    return (project.folder / "results/liu2020/plan.json").read_text()


def largest(gib: float) -> int:
    """Return the order of the largest matrix that a profile allows for a node with `gib` GiB of memory."""
    return int((SHARE * gib * GIB / 8) ** 0.5)


def test_a_host_whose_memory_grows_and_shrinks_measures_nothing_anew(project):
    start(project, 2, "measurements")
    measured, planned = records(project), plan(project)
    assert len(measured) == 2 and order_of(project) == largest(2)
    assert "Nothing to be done" in start(project, 1, "measurements")
    assert records(project) == measured

    # A later run has the same size, and the plan is the same.
    deleted, kept = measured
    (project.folder / deleted).unlink()
    said = start(project, 8, "measurements")
    assert order_of(project) == largest(2) and records(project)[kept] == measured[kept] and plan(project) == planned
    assert f"liu2020: stream has N = {largest(2)} and should have {ORDER}: a section may use 10 %" in said
    assert "It has 8.0 GiB now, and the sizes are kept: `rm results/liu2020/sizes.json`" in said
    measured = records(project)

    # The sizes do not fit any more: they would take all of the node.
    said = start(project, 0.2, "measurements")
    assert order_of(project) == largest(0.2)
    assert (
        "liu2020: problem sizes are decided again, as they no longer fit: the smallest memory node has 0.2 GiB, and had" in said
    )
    changed = f"the problem size (order) was {largest(2)} and is {largest(0.2)} now"
    assert f"liu2020: 2 valid runs are put aside in results/liu2020/archive/: {changed}." in said

    # The user has the sizes decided again, and gets back what was measured with them.
    (project.folder / "results/liu2020/sizes.json").unlink()
    said = start(project, 2, "measurements")
    assert records(project) == measured
    assert "liu2020: 2 valid runs are taken back from results/liu2020/archive/" in said

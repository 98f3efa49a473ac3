"""Several sections in one launch: each has its own problem, folder, record and share of the machine's time."""

import contextlib
import json
import os
import shlex
import signal
import threading
import time
from pathlib import Path

import pytest
from plimsoll import measure
from plimsoll.measuring import progress, record
from plimsoll.mpi.job import Job

from tests.conftest import usual

DEPLOYMENT = "uma/exact/{}/any/default/standard/plain"


@pytest.fixture
def launch(workspace):
    """Return a function that measures all sections of a deployment as the workflow does, and returns their records.

    The first section is requested, and the others wait in its queue.
    """

    def launch(deployment, **changes):
        cells = [path for path, cell in workspace.plan["cells"].items() if cell.get("launch") == deployment]
        for section, changed in changes.items():
            workspace.plan["cells"][f"{deployment}/{section}"].update(changed)
        progress.begin(workspace.folder / "progress", [f"{path}/1" for path in cells])
        workspace.run(cells[0])
        folder = workspace.folder / "runs"
        return {path.rpartition("/")[2]: json.loads(record.path_of(folder, path, 1).read_text()) for path in cells}

    return launch


@pytest.mark.parametrize(
    "runtime",
    usual(["E1/bare", "E2/docker", "E1/docker", "E2/singularity", "E2/singularity-instance"], ["E1/bare", "E2/docker"]),
)
def test_all_sections_are_measured_in_one_launch(workspace, working, launch, runtime):
    working(runtime.partition("/")[2])
    found = launch(DEPLOYMENT.format(runtime))
    assert {section: each["status"] for section, each in found.items()} == dict.fromkeys(found, "valid"), found
    assert sorted(found) == ["beff", "dgemm", "fft", "ptrans", "randomaccess", "stream"]
    # One launch begins at one moment. Its sections are in one order, which is drawn and not the study's.
    assert len({each["started"] for each in found.values()}) == 1
    (order,) = {tuple(each["launch"]) for each in found.values()}
    assert set(order) == set(found)
    places = [workspace.plan["order"].index((f"{DEPLOYMENT.format(runtime)}/{section}", 1)) for section in order]
    assert places == sorted(places)
    for section, each in found.items():
        folder = workspace.folder / each["raw"]
        assert each["raw"] == f"raw/{DEPLOYMENT.format(runtime)}/{section}/1-1"
        assert (folder / "hpccoutf.txt").read_text().count("Begin of Summary section.") == 1
        assert len(each["ranks"]) == 2 and 0 < each["values"]["benchmark_seconds"] <= each["seconds"]["run"]
        assert each["noise"]["during"]["own_seconds"] > 0
    # Each section has its own problem, as in a launch of its own.
    sizes = {section: each["cell"]["parameters"]["order"] for section, each in found.items()}
    assert len(set(sizes.values())) > 1
    assert found["dgemm"]["values"]["HPL_N"] == -1


def kill_in(folder: Path, section: str) -> threading.Thread:
    """Start a thread that kills the ranks of a run of ours once, as soon as a section has begun in them."""

    def kill() -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if list(folder.glob(f"raw/**/1-1/{section}/ranks/0.begun")):
                for process in Path("/proc").glob("[0-9]*"):
                    with contextlib.suppress(OSError):
                        ours = str(folder) in os.readlink(process / "cwd")
                        if ours and (process / "comm").read_text().strip() == "hpcc":
                            os.kill(int(process.name), signal.SIGKILL)
                return
            time.sleep(0.005)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_a_section_that_is_killed_leaves_those_before_it_valid_and_those_after_it_to_another_launch(workspace, working, launch):
    working("docker")
    deployment = DEPLOYMENT.format("E1/docker")
    drawn = [path.rpartition("/")[2] for path, number in workspace.plan["order"] if path.startswith(deployment) and number == 1]
    # Long enough to be killed while it runs.
    killed, cell = drawn[2], workspace.plan["cells"][f"{deployment}/{drawn[2]}"]
    longer = {"parameters": {**cell["parameters"], "order": 6000}}
    thread = kill_in(workspace.folder, killed)
    found = launch(deployment, **{killed: longer})
    thread.join()
    assert {each["status"] for each in found.values()} == {"valid"}
    assert found[killed]["attempts"] == 2
    (tried,) = found[killed]["invalid_attempts"]
    assert tried["status"] == "failed" and "mpirun ended with" in tried["reason"]
    # It costs no other section an attempt.
    assert {each["attempts"] for section, each in found.items() if section != killed} == {1}
    before, after = drawn[:2], drawn[2:]
    assert len({found[section]["started"] for section in before}) == len({found[section]["started"] for section in after}) == 1
    assert found[after[0]]["started"] > found[before[0]]["started"]
    assert found[after[0]]["launch"] == after


def test_a_section_that_takes_too_long_is_the_only_one_that_does(workspace, working, launch):
    working("bare")
    deployment = DEPLOYMENT.format("E1/bare")
    cell = workspace.plan["cells"][f"{deployment}/dgemm"]
    slow = {"parameters": {**cell["parameters"], "order": 9000}, "time_limit_seconds": 0.5}
    workspace.plan["limits"]["attempts"] = 1
    found = launch(deployment, dgemm=slow)
    assert found["dgemm"]["status"] == "timeout" and "longer than its limit of 0.5 s" in found["dgemm"]["reason"]
    assert {each["status"] for section, each in found.items() if section != "dgemm"} == {"valid"}


def test_a_benchmark_that_makes_the_folder_of_the_next_one_writes_nothing_outside_of_it(
    workspace, working, launch, monkeypatch, tmp_path
):
    """In a container the benchmark is root. The process that makes the next section's files on the host is root as well."""
    working("docker")
    deployment = DEPLOYMENT.format("E1/docker")
    drawn = [path.rpartition("/")[2] for path, number in workspace.plan["order"] if path.startswith(deployment) and number == 1]
    (outside := tmp_path / "outside").write_text("the host's")
    usual, planted = Job.command, []

    def command(job, nodes, program):
        words = usual(job, nodes, program)
        if planted:
            return words
        planted.append(there := job.folder.parent / drawn[1])
        plant = 'mkdir -p "$1/ranks" && for each in stdout.txt stderr.txt hpccinf.txt; do ln -s "$2" "$1/$each"; done'
        planting = nodes[0].inside(["sh", "-c", plant, "sh", str(there), str(outside)])
        return ["sh", "-c", f'"$@" && {shlex.join(planting)}', "sh", *words]

    monkeypatch.setattr(Job, "command", command)
    found = launch(deployment)
    assert {each["status"] for each in found.values()} == {"valid"}
    (tried,) = found[drawn[1]]["invalid_attempts"]
    said = f"a program of the run has changed 1-1, its folder, so that {drawn[1]} could not be made there"
    assert (tried["status"], tried["reason"]) == ("failed", said)
    assert {each["attempts"] for section, each in found.items() if section != drawn[1]} == {1}
    assert outside.read_text() == "the host's"


def test_what_is_not_asked_for_is_not_measured(workspace, working):
    working("bare")
    deployment = DEPLOYMENT.format("E1/bare")
    progress.begin(workspace.folder / "progress", [f"{deployment}/fft/1", f"{deployment}/beff/1"])
    workspace.run(f"{deployment}/fft")
    assert sorted(path.parent.name for path in (workspace.folder / "runs").rglob("*.json")) == ["beff", "fft"]
    (path,) = {path for path in (workspace.folder / "runs").rglob("*.json") if path.parent.name == "beff"}
    written = path.stat().st_mtime_ns
    # When it is requested later, its record is there already.
    kept = measure.measure(workspace.folder / "plan.json", f"{deployment}/beff", 1, path, workspace.image_path)
    assert kept["status"] == "valid" and kept["started"] == json.loads(path.read_text())["started"]
    assert path.stat().st_mtime_ns >= written

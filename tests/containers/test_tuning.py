"""Real Hadoop clusters: runs of li2018's second stage, settings that take effect, killed workers and masters, leftovers."""

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from plimsoll import designs, measure, runtimes
from plimsoll.config import studies
from plimsoll.designs.tuning.factors import TuningRecord
from plimsoll.images import builder
from plimsoll.measuring import lock, record
from plimsoll.planning import planner
from plimsoll.runtimes import docker_elsewhere
from plimsoll.runtimes.base import LABEL
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks import second_host
from plimsoll.services.hadoop import cluster

from tests.conftest import built, unlike
from tests.containers import another

DESIGN = designs.find("tuning")

SMALL = {"small": 4 * 2**20}
LISTED = ["docker", "ps", "--all", "--filter", f"label={LABEL}", "--format", "{{.Names}}"]
KILLED = """
import sys
from pathlib import Path
from plimsoll import measure
folder = Path(sys.argv[1])
measure.measure(folder / "plan.json", "docker/baseline", 1, folder / "killed.json", folder.parents[1] / "image.json")
"""


@pytest.fixture(scope="module")
def image() -> dict:
    return builder.build("hadoop", "bootstrap")


@pytest.fixture
def workspace(tmp_path, image, config, working, here):
    """A results folder of li2018-hadoop with the plan of the ci profile; `run` measures one run in it, in one attempt."""
    working("docker")
    study = built("li2018-hadoop")

    class Workspace:
        folder = tmp_path / "results/li2018-hadoop"
        before = there()

        def __init__(self):
            self.folder.mkdir(parents=True)
            (tmp_path / "image.json").write_text(json.dumps(image))
            self.plan = planner.make(study, studies.profile("ci"), here, {**config, "profile": "ci"}, {})
            self.plan["limits"].update(attempts=1)
            self.write()

        def write(self):
            (self.folder / "plan.json").write_text(json.dumps(self.plan))

        def run(self, strategy="baseline", **changes):
            path = f"docker/{strategy}"
            assert self.plan["cells"][path]["reason"] is None
            self.plan["cells"][path].update(changes)
            self.write()
            target = record.path_of(self.folder / "runs", path, 1)
            found = measure.measure(self.folder / "plan.json", path, 1, target, tmp_path / "image.json")
            assert unlike(found, TuningRecord) == set()
            assert there() <= self.before
            return found

    return Workspace()


def there() -> set[str]:
    """Return what a cluster may leave: containers of ours, and volumes and Java processes of all users."""
    volumes = output(["docker", "volume", "ls", "--quiet"]).split()
    java = subprocess.run(["pgrep", "-f", "opt/hadoop/lib"], capture_output=True, text=True).stdout.split()
    return {*output(LISTED).split(), *volumes, *java}


def once(name: str, job: bool, do) -> threading.Thread:
    """Start a thread that calls `do` with the container whose name ends with `name`, once it is there.

    With `job`, wait until a job runs too.
    """

    def wait():
        end = time.monotonic() + 120
        while time.monotonic() < end:
            begun = not job or subprocess.run(["pgrep", "-f", "YarnChild"], capture_output=True).returncode == 0
            if begun and (there := [one for one in output(LISTED).split() if one.endswith(name)]):
                return do(there[0])
            time.sleep(0.1)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("strategy", "changes"),
    [("buffer+lzo_compression", {"workers": 1}), pytest.param("double_slaves", {}, marks=pytest.mark.long)],
)
def test_a_job_makes_what_sort_makes_and_its_settings_act(workspace, strategy, changes):
    acts(workspace.run(strategy, sizes=SMALL, **changes), strategy, {"small"})


def acts(found, strategy, sizes) -> None:
    """Check that the jobs of a record have these sizes and are correct, and that they had the settings of a strategy."""
    assert found["status"] == "valid", found["reason"]
    jobs = {job["size"]: job for job in found["jobs"]}
    assert set(jobs) == sizes
    counters, served = jobs["small"]["counters"], jobs["small"]["served"]
    compressed = counters["materialized_bytes"]["map"] < 0.5 * counters["map_output_bytes"]["map"]
    assert compressed == ("lzo" in strategy) == served["mapreduce.map.output.compress.codec"].endswith("LzoCodec")
    assert served["mapreduce.task.io.sort.mb"] == ("200" if "buffer" in strategy else "100")
    assert 0 < jobs["small"]["distinct"] < 0.6 * jobs["small"]["records"]
    rows = DESIGN.readings.observations(built("li2018-hadoop"), {"repetition": 1}, found)
    assert {row["metric"] for row in rows} >= {"time_small", "written_small"} and all(row["value"] > 0 for row in rows)


@pytest.mark.long
def test_a_job_ends_well_without_a_worker_that_was_killed_and_the_run_is_marked(workspace):
    killer = once("worker2", True, lambda name: output(["docker", "kill", name]))
    found = workspace.run("out_of_band_heartbeat", sizes=SMALL)
    killer.join()
    assert found["status"] == "invalid" and "worker2 ended during the job, which succeeded nevertheless" in found["reason"]
    assert found["lost"][0].endswith("worker2") and len(found["jobs"]) == 1
    # The logs of its tasks are kept.
    assert list(workspace.folder.glob("raw/docker/out_of_band_heartbeat/*/worker1/tasks/*/*/syslog"))


@pytest.mark.long
def test_a_run_whose_master_was_killed_is_invalid_and_the_next_one_works(workspace):
    killer = once("master", True, lambda name: output(["docker", "kill", name]))
    found = workspace.run(sizes=SMALL, workers=1)
    killer.join()
    assert found["status"] == "invalid" and "the master ended during the job" in found["reason"]
    acts(workspace.run("buffer+lzo_compression"), "buffer+lzo_compression", {"small"})


@pytest.mark.long
def test_a_cluster_that_cannot_start_says_why_at_once(workspace, monkeypatch):
    own = cluster.configuration.properties

    def broken(*given):
        told = own(*given)
        told["hdfs-site"]["dfs.namenode.name.dir"] = "file:///proc/name"
        return told

    monkeypatch.setattr(cluster.configuration, "properties", broken)
    begun = time.monotonic()
    found = workspace.run(workers=1)
    assert found["status"] == "failed" and "a daemon of the master ended" in found["reason"]
    assert time.monotonic() - begun < 60


@pytest.fixture
def machine(tmp_path_factory, monkeypatch):
    """Another machine with its own engine, as a plan knows it."""
    if lacking := another.missing():
        pytest.skip(lacking)
    folder = tmp_path_factory.mktemp("ssh")
    with another.another(folder, engine=True) as ssh:
        monkeypatch.setattr(second_host, "SSH", (*ssh, *second_host.SSH[1:]))
        monkeypatch.setattr(second_host, "_here", lambda: ["machine this", f"architecture {os.uname().machine}"])
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        yield docker_elsewhere.look(another.NAME)


@pytest.mark.long
def test_a_worker_may_be_on_another_machine_and_nothing_stays_there(workspace, machine):
    engine = docker_elsewhere.DockerElsewhere(machine["name"])
    parameters = {**workspace.plan["cells"]["docker/baseline"]["parameters"], "hosts": [machine]}
    with docker_elsewhere.held(machine["name"]):
        found = workspace.run(sizes=SMALL, workers=1, parameters=parameters)
    assert found["status"] == "failed" and "another workflow is measuring on another" in found["reason"]
    found = workspace.run(sizes=SMALL, workers=1, parameters=parameters)
    assert found["status"] == "valid", found["reason"]
    assert found["settled"][0]["idle"] and found["jobs"][0]["maps"] >= 1
    assert engine.left() == []
    # The logs of the worker and its tasks are here.
    assert list(workspace.folder.glob("raw/docker/baseline/*/worker1/nodemanager.log"))
    assert list(workspace.folder.glob("raw/docker/baseline/*/worker1/tasks/*/*/syslog"))


@pytest.mark.long
def test_a_job_has_a_limit(workspace):
    found = workspace.run(job_limit_seconds=0.5, workers=1)
    assert found["status"] == "invalid" and "had not ended after 0.5 s" in found["reason"]


def test_a_run_that_is_killed_leaves_nothing_after_the_next_sweep(workspace):
    runtime = {**os.environ, "PYTHONPATH": str(Path(measure.__file__).parents[1])}
    process = subprocess.Popen(["python", "-c", KILLED, str(workspace.folder)], env=runtime, start_new_session=True)
    once("worker2", False, lambda name: os.killpg(process.pid, signal.SIGKILL)).join()
    process.wait()
    with lock.machine(runtimes.known):
        pass
    assert there() <= workspace.before

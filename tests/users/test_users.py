"""The table of docs/how-to/ordinary-user.md, row by row: what each kind of user can measure."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pandas as pd
import pytest
from plimsoll import paths, runtimes
from plimsoll.features.try_program import files
from plimsoll.host import cgroup, machine_lock
from plimsoll.images import bootstrap, builder
from plimsoll.measuring import lock
from plimsoll.runtimes.apptainer import executable
from plimsoll.runtimes.base import LABEL
from plimsoll.runtimes.commands import output

from tests import privileges
from tests.conftest import PROJECT, usual
from tests.containers.test_try import calm
from tests.faults.processes import below
from tests.users.conftest import SET_USER_ID

TARGET = "results/liu2020/complete.txt"
DOCKER = ["docker", "ps", "--all", "--quiet", "--filter", f"label={LABEL}"]


def records(user) -> dict[str, dict]:
    """Return the records that a user's workflow has made, by runtime and scheme."""
    found = [
        json.loads((user.project.folder / path).read_text()) for path in user.project.files("results/liu2020/runs/**/*.json")
    ]
    return {f"{one['cell']['runtime']} {one['cell']['scheme']}": one for one in found}


def beff(deployments, repetition: int = 1) -> list[str]:
    """Return the paths of b_eff's records for pairs of runtime and scheme."""
    cells = (f"uma/exact/{scheme}/{runtime}/any/default/standard/plain/beff" for runtime, scheme in deployments)
    return [f"results/liu2020/runs/{cell}/{repetition}.json" for cell in cells]


def cut_down(user) -> None:
    """Leave the user one section of HPC Challenge to measure once, in one container and in two, with all results from it."""
    for name in ("config/studies/liu2020.yaml", "config/profiles/ci.yaml"):
        shutil.copy(PROJECT / name, user.project.folder / name)
    user.project.keep_experiment("granularity", "beff", mode=["exact"], affinity=["any"])
    user.changed("config/profiles/ci.yaml", repetitions="1")
    user.own(user.project.folder)


def uncounted(found: dict[str, dict]) -> dict[str, dict]:
    """Return the observations during runs whose ranks seem to count as neighbours.

    Two ranks that wait for each other's messages use about a processor or more while they run.
    """
    during = {name: one["noise"]["during"] for name, one in found.items() if one["noise"]["during"]["apart"]}
    return {name: seen for name, seen in during.items() if seen["own_seconds"] < 0.5 * seen["seconds"]}


def taken(user, file: Path) -> None:
    """Switch Docker off for a user, and take the images of a file if they are not there yet."""
    assert user.run("./plimsoll", "drop", "docker", "docker-ptrace").returncode == 0
    there = list(user.home.glob(".cache/plimsoll/images/*/*.json"))
    done = user.python("-m", "plimsoll", "take-images", "--file", str(file))
    assert done.returncode == 0 and (there or "is taken from" in done.stderr), done.stderr


@pytest.fixture(scope="module")
def file(with_docker, worldwide) -> Path:
    """File with the image that all users may read, as a user of Docker makes it for others."""
    done = with_docker.run("./plimsoll", "image")
    assert done.returncode == 0, done.stderr
    return Path(shutil.copy(with_docker.project.folder / "plimsoll-images.tar.gz", worldwide))


@pytest.fixture(scope="module")
def worldwide():
    folder = Path(output(["mktemp", "--directory", "--tmpdir=/var/tmp"]).strip())
    folder.chmod(0o755)
    yield folder
    output(["rm", "-r", str(folder)])


@pytest.fixture(scope="module")
def with_docker(new_user):
    """A user of the group docker."""
    user = new_user("docker", "docker")
    cut_down(user)
    return user


@pytest.fixture(scope="module")
def without_docker(new_user):
    """A user who may use Apptainer, as every user may, without Podman."""
    return new_user("apptainer", hidden=("podman",))


@pytest.fixture(scope="module")
def with_privileges(new_user):
    """A user of an Apptainer that has its set-user-ID starter."""
    if not (paths.tool_prefix() / "apptainer").is_dir():
        pytest.skip("set-up has unpacked no Apptainer here, of which a set-user-ID one could be made")
    return new_user("setuid", hidden=("podman",), more=SET_USER_ID)


@pytest.fixture(scope="module")
def with_podman(new_user):
    """A user who may use Podman, as every user with subordinate numbers may."""
    return new_user("podman", hidden=("docker",))


def test_a_user_of_docker_measures_where_root_has_measured(with_docker):
    with machine_lock.hold(print):
        # Afterwards root's lock file is there.
        pass
    done = with_docker.run("make", "reproduce", "PROFILE=ci")
    assert done.returncode == 0, done.stderr
    assert {TARGET, "results/liu2020/report.html"} <= set(with_docker.project.files("results/liu2020/*.*"))
    found = records(with_docker)
    assert set(found) == {"bare E1", "docker E1", "docker E2", "singularity E1", "singularity E2"}
    assert {one["status"] for one in found.values()} == {"valid"}, {name: one["reason"] for name, one in found.items()}
    assert uncounted(found) == {} and found["docker E2"]["transport"]["carried_by"] == "TCP"
    events = json.loads((with_docker.project.folder / "results/liu2020/plan.json").read_text())["instruments"]["events"]
    assert events["events"] or "kernel.perf_event_paranoid is" in events["reason"]
    assert with_docker.number not in machine_lock.marks()


def test_a_user_of_docker_measures_microservices_but_where_a_group_is_needed(with_docker):
    cells = {
        "jha2021": ("1/stream", "2/stream+stream", "3b/stream+stream", "1/netperf_tcp_rr"),
        "jha2018": ("2/stream+stream",),
    }
    runs = [f"results/{study}/runs/{cell}/docker/free/1.json" for study in cells for cell in cells[study]]
    done = with_docker.snakemake(*runs, config=("profile=ci", "repetitions=1", "studies=[jha2018, jha2021]"))
    assert done.returncode == 0, done.stderr
    found = {path: json.loads((with_docker.project.folder / path).read_text()) for path in runs}
    assert {one["status"] for one in found.values()} == {"valid"}, {path: one["reason"] for path, one in found.items()}
    for study in cells:
        plan = json.loads((with_docker.project.folder / f"results/{study}/plan.json").read_text())
        reasons = {path.split("/")[0]: cell["reason"] for path, cell in plan["cells"].items() if cell["reason"]}
        assert set(reasons) == {"3a"} and "which this user may not make" in reasons["3a"]
    # Both programs have the limits that root's containers have together.
    seen = found[runs[1]]["limits_seen"][0]
    assert seen["memory_bytes"] == found[runs[1]]["cell"]["host_limits"]["memory_bytes"]
    assert output(DOCKER).split() == []


def test_set_up_asks_once_for_what_cannot_be_had(without_docker):
    done = without_docker.run("make", "setup")
    assert done.returncode == 2
    assert "setup: Docker is not usable by this user: start the engine" in done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("setup: ")]
    assert len(said) == 2 and said[-1] == (
        "setup: config/config.yaml requires a runtime that is not available here: the reason is above. To go on without it: "
        "./plimsoll drop docker docker-ptrace"
    )
    done = without_docker.run("./plimsoll", "drop", "docker", "docker-ptrace")
    assert done.returncode == 0, done.stderr
    done = without_docker.run("make", "setup")
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_a_user_of_apptainer_alone_measures_with_an_image_from_a_file(without_docker, file):
    user = without_docker
    done = user.python("-m", "plimsoll", "image", "--name", "hpcc", "--base", "bootstrap", "--output", "/dev/null")
    said = done.stderr.splitlines()
    assert done.returncode == 1 and len(said) == 2 and said[1].startswith("plimsoll: The image hpcc could not be built: ")
    assert "nothing that builds images works here" in done.stderr and "./plimsoll reproduce --image" in done.stderr
    taken(user, file)
    levels = ("bare", "singularity", "singularity-user", "singularity-instance-host-network")
    runs = beff([(runtime, scheme) for runtime in levels for scheme in ("E1", "E2") if (runtime, scheme) != ("bare", "E2")])
    assert user.run("./plimsoll", "add", "singularity-user", "singularity-instance-host-network").returncode == 0
    done = user.snakemake(*runs, config=("profile=ci", "repetitions=1"))
    assert done.returncode == 0, done.stderr
    found = records(user)
    assert {one["status"] for one in found.values()} == {"valid"}, {name: one["reason"] for name, one in found.items()}
    assert uncounted(found) == {}
    # Ranks of plain Singularity read each other's memory, as root's ranks do. Each instance is a node.
    carried = {name: (one["transport"]["carried_by"], one["transport"]["single_copy"]) for name, one in found.items()}
    assert carried["singularity E2"] == carried["bare E1"] == ("shared memory", "allowed")
    assert carried["singularity-instance-host-network E2"][0] == "TCP"
    assert not found["singularity-instance-host-network E2"]["noise"]["during"]["apart"]
    assert {one["image"]["id"] for one in found.values()} == {builder.build("hpcc", "bootstrap")["id"]}
    plan = json.loads((user.project.folder / "results/liu2020/plan.json").read_text())
    reasons = {
        cell["runtime"]: cell["reason"] for cell in plan["cells"].values() if cell["reason"] and cell["hardware"] == "uma"
    }
    assert "needs root" in reasons["singularity-instance"] and "needs root" in reasons["singularity-cgroup"]


def test_a_user_of_apptainer_alone_tries_a_program_of_this_host(without_docker):
    user = without_docker
    words = ("--dry-run", "--minutes", "1", "--width", "50%", "--runtimes", "singularity", "--", "sort", "/etc/services")
    done = user.run("./plimsoll", "try", "--name", "sort", *words)
    assert done.returncode == 0, done.stderr
    calm(user.project.folder / "my-sort")
    user.own(user.project.folder)
    done = user.run("./plimsoll", "reproduce", "my-sort.yaml")
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads((user.project.folder / "my-sort/results/my-sort/try.json").read_text())
    assert "needs root" in told["unavailable"]["files"] and "docker" in told["unavailable"]
    measured = {one["runtime"]: one["n"] for one in told["comparisons"] if one["metric"] == "wall"}
    assert measured.keys() == {"singularity"} and measured["singularity"] >= 5


def test_a_user_takes_a_sif_with_a_file_that_only_root_may_read(without_docker, worldwide):
    """In images of Rocky Linux /etc/shadow has the mode 0. The command ended with a traceback of Python's."""
    user, root = without_docker, worldwide / "root"
    packed, shadow = worldwide / "files.tar", root / "etc/shadow"
    files.pack(files._with_libraries([Path(shutil.which(name)) for name in ("env", "sort", "sh")]), packed)
    root.mkdir()
    output(["tar", "--extract", "--directory", str(root), "--file", str(packed)])
    shadow.write_text("secret\n")
    shadow.chmod(0)
    output([executable(), "build", str(worldwide / "solver.sif"), str(root)], 300)
    words = ("--dry-run", "--image", str(worldwide / "solver.sif"), "--", "sort", "/etc/services")
    done = user.run("./plimsoll", "try", "--name", "sif", *words)
    assert done.returncode == 0, done.stderr
    with tarfile.open(user.project.folder / "my-sif/config/containers/program/files.tar") as archive:
        assert archive.extractfile("./etc/shadow").read() == b"secret\n"


@pytest.mark.long
def test_a_user_of_apptainer_with_its_set_user_id_starter_measures_without_a_user_namespace(with_privileges, file):
    user, places = with_privileges, ("/usr/bin", "/usr/lib/x86_64-linux-gnu", "/etc", "/var/lib")
    there = [set(os.listdir(place)) for place in places]
    taken(user, file)
    instance = "singularity-instance-host-network"
    assert user.run("./plimsoll", "add", instance).returncode == 0
    runs = beff([("bare", "E1"), ("singularity", "E1"), ("singularity", "E2"), (instance, "E2")])
    done = user.snakemake(*runs, config=("profile=ci", "repetitions=1"))
    # It uses the unpacked image: Apptainer would convert the image file again for each program.
    assert done.returncode == 0 and "temporary sandbox" not in done.stderr, done.stderr
    found = records(user)
    assert {one["status"] for one in found.values()} == {"valid"}, {name: one["reason"] for name, one in found.items()}
    assert uncounted(found) == {}
    assert found.pop(f"{instance} E2")["transport"]["carried_by"] == "TCP"
    carried = {(one["transport"]["carried_by"], one["transport"]["single_copy"]) for one in found.values()}
    assert len(found) == 3 and carried == {("shared memory", "allowed")}
    tried = json.loads((user.project.folder / "results/images/hpcc.runtimes.json").read_text())["singularity"]
    assert tried["features"]["namespaces"] == ["mnt"] and "without privileges" not in tried["version"]
    assert not {"unshare", "--userns"} & set(found["singularity E2"]["command"])
    # Nothing of this Apptainer is left on the machine.
    assert not any("apptainer" in set(now) - before for now, before in zip(map(os.listdir, places), there, strict=True))


@pytest.mark.parametrize("image", usual(["built", "from a file"], ["from a file"]))
def test_a_user_of_podman_measures_in_an_image(with_podman, file, image):
    """Building takes two minutes."""
    user = with_podman
    if missing := podman_lacks(user):
        pytest.skip(missing)
    cut_down(user)
    for folder in (user.project.folder / "results", user.home / ".cache/plimsoll/images"):
        shutil.rmtree(folder, ignore_errors=True)
    for words in (("drop", "docker", "docker-ptrace", "singularity"), ("add", "podman-rootless")):
        assert user.run("./plimsoll", *words).returncode == 0
    # Another process of the user, which has nothing to do with the containers.
    shutil.copy("/bin/sleep", user.home / "pasta.avx2")
    other = user.start("./pasta.avx2", "600", folder=user.home)
    # Without Apptainer an image that is built has no form for it.
    given = [f"IMAGE={file}"] * (image == "from a file")
    done = user.run("make", "reproduce", "PROFILE=ci", *given, PLIMSOLL_PREFIX="/nonexistent")
    other.kill()
    other.communicate()
    assert done.returncode == 0, done.stderr
    # Root has built an image by the same recipe with Docker, and all users may read its content.
    if image == "built" and builder.identity("hpcc", "bootstrap") in " ".join(os.listdir(paths.SYSTEM_IMAGE_STORE)):
        log = user.project.log()
        assert re.search(r"images: plimsoll/hpcc:\w+ has (the same|other) build identifiers", log), log
    found = records(user)
    assert set(found) == {"bare E1", "podman-rootless E1", "podman-rootless E2"}
    assert {one["status"] for one in found.values()} == {"valid"}, {name: one["reason"] for name, one in found.items()}
    assert found["podman-rootless E2"]["transport"]["carried_by"] == "TCP"
    assert uncounted(found) == {}
    # The ranks mapped the same programs everywhere. With cgroups of version 1, a container without root is not counted.
    assert found["podman-rootless E2"]["bits"] == found["bare E1"]["bits"]
    assert found["bare E1"]["noise"]["during"]["apart"]
    assert found["podman-rootless E1"]["noise"]["during"]["apart"] == (cgroup.version(cgroup.mounts()) == "2")
    if image == "built":
        assert "sif" not in json.loads((user.project.folder / "results/images/hpcc.json").read_text())
    tried = json.loads((user.project.folder / "results/images/hpcc.runtimes.json").read_text())
    seen = tried["podman-rootless"]["features"]
    assert {"net", "pid", "uts", "ipc", "mnt"} <= set(seen["separate_namespaces"]) and "user" in seen["namespaces"]
    assert (seen["file_system"], seen["seccomp"]) == ("overlay", "2")
    carried = r"bridge podman\d+, in the user's own network, (slirp4netns|pasta) to the outside"
    assert re.fullmatch(carried, seen["network"]), seen["network"]
    shown = pd.read_csv(user.project.folder / "results/liu2020/tables/table05.csv", index_col="runtime")
    assert re.fullmatch(carried, shown.loc["Podman without root", "network"])


def test_a_container_of_a_user_of_podman_may_do_what_the_table_says_and_no_more(with_podman):
    user = with_podman
    if missing := podman_lacks(user):
        pytest.skip(missing)
    assert "podman-rootless E2" in records(user)  # it has the image
    done = user.python("-c", LOOK, privileges.LOOKING, "podman-rootless")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    inside, host = privileges.told(seen["inside"]), privileges.told(seen["host"])
    privileges.compare("podman-rootless", inside, host, {"FOLDER": seen["folder"]})


@pytest.mark.parametrize(
    ("level", "shared", "in_layer"),
    [("podman-rootless-volumes", True, False), ("podman-rootless-filtered", True, True), ("podman-rootless", False, True)],
)
def test_each_step_of_a_user_of_podman_adds_one_thing(with_podman, level, shared, in_layer):
    user = with_podman
    if missing := podman_lacks(user):
        pytest.skip(missing)
    assert "podman-rootless E2" in records(user)  # it has the image
    done = user.python("-c", LOOK, "readlink /proc/self/ns/net; stat -f -c %T /tmp", level)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    (network, kind), (of_host, _) = seen["inside"].split(), seen["host"].split()
    assert (network == of_host) == shared
    assert (kind in ("overlayfs", "fuseblk", "fuse")) == in_layer, kind


LOOK = """
import json, shutil, sys
from plimsoll import runtimes
from plimsoll.runtimes.base import LABEL, Spec
from plimsoll.runtimes.commands import output
from plimsoll.measuring import lock
words, podman = ["sh", "-c", sys.argv[1]], runtimes.find(sys.argv[2])
with open("results/images/hpcc.json") as file:
    image = json.load(file)
folder = lock.temporary_folder("look")
with lock.run("look", folder):
    try:
        nodes = podman.start([Spec("look", f"{LABEL}-look-c0", image, folder)])
        try:
            inside = output(nodes[0].inside(words))
        finally:
            podman.stop(nodes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
print(json.dumps({"inside": inside, "host": output(words), "folder": str(folder)}))
"""


def test_what_a_killed_user_of_podman_left_stops_nobody_and_goes_with_the_next_run(with_podman):
    user = with_podman
    if missing := podman_lacks(user):
        pytest.skip(missing)
    # The user has the image.
    assert "podman-rootless E2" in records(user)
    (run,) = beff([("podman-rootless", "E2")], repetition=2)
    words = {"config": ("profile=ci", "repetitions=2"), "PLIMSOLL_PREFIX": "/nonexistent"}
    killed = user.start("env", "PLIMSOLL_PREFIX=/nonexistent", *user.workflow(run, config=words["config"]))
    there = ["pgrep", "-U", str(user.number), "conmon"]
    until(lambda: user.number in machine_lock.marks() and not subprocess.run(there, capture_output=True).returncode, killed)
    # Only the workflow is killed; its containers go on.
    for one in below([killed.pid]):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one.number, signal.SIGKILL)
    killed.communicate()
    assert user.number in machine_lock.marks() and not (user.project.folder / run).exists()
    # Root measures, and sweeps what it can of all users. It only reports these containers, as only their user can remove them.
    with lock.machine(runtimes.known):
        pass
    assert not subprocess.run(there, capture_output=True).returncode
    assert user.name in machine_lock.of_others() and user.name in lock.left_by_others()
    done = user.snakemake(run, **words)
    assert done.returncode == 0, done.stderr
    assert user.name not in machine_lock.of_others()
    found = json.loads((user.project.folder / run).read_text())
    assert found["status"] == "valid", found["reason"]
    done = user.python("-c", "from plimsoll import runtimes; print(runtimes.find('podman-rootless').left())")
    assert done.returncode == 0 and done.stdout.strip() == "[]", done.stderr
    assert user.number not in machine_lock.marks()


def test_set_up_asks_for_what_builds_images_where_they_are_built(new_user):
    user = new_user("builder", hidden=("mmdebstrap",))
    if missing := podman_lacks(user):
        pytest.skip(missing)
    assert user.run("./plimsoll", "drop", "docker", "docker-ptrace", "singularity").returncode == 0
    done = user.run("make", "setup")
    said = [line for line in done.stderr.splitlines() if line.startswith("setup: ")]
    assert (
        done.returncode == 2 and len(said) == 1 and said[0].startswith("setup: Building images (./plimsoll reproduce --image")
    )
    assert "needs mmdebstrap (Debian's names of packages). Only root can install them" in said[0]
    done = user.run("make", "setup", "IMAGE=plimsoll-images.tar.gz")
    assert done.returncode == 0 and done.stderr == "", done.stderr


def podman_lacks(user) -> str:
    """Return why Podman does not work for a user; "" if it works."""
    asked = "from plimsoll import runtimes; runtimes.find('podman-rootless').check()"
    done = user.python("-c", asked)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def test_one_user_waits_for_another_s_run_and_is_told_when_that_was_killed(with_docker, without_docker, new_user, file):
    """The containers of the killed run go on, as Docker's do. Only root and their user may remove them."""
    taken(without_docker, file)
    without_docker.changed("config/profiles/ci.yaml", attempts="1", busy_share="0.3", wait_seconds="1")
    # Only the protocol is changed. Another check has a key of that name too, and would look for as long before each run.
    with_docker.changed("config/profiles/ci.yaml", **{"iterations: 2, window_seconds": "60"})
    run = "results/jha2021/runs/2/stream+stream/docker/free/2.json"
    killed = with_docker.start(*with_docker.workflow(run, config=("profile=ci", "repetitions=2", "studies=jha2021")))
    until(lambda: "stream" in at_work(), killed)
    (bare,) = beff([("bare", "E1")], repetition=2)
    config = "profile=ci", "repetitions=2"
    waiting = without_docker.start(*without_docker.workflow(bare, config=config))
    told = next(line for line in waiting.stderr if "another workflow is measuring on this machine" in line)
    assert f"({with_docker.name}, process " in told
    with_docker.kill()
    killed.communicate()
    there = output(DOCKER).split()
    waiting.communicate()
    # The message names the running program, and the users whose killed runs it may belong to. Other tests may have
    # killed measurements of root.
    whose = rf"a measurement of ([\w-]+, )*{with_docker.name}"
    said = f"{whose} was killed, and its leftovers may be running"
    reason = json.loads((without_docker.project.folder / bare).read_text())["reason"]
    assert re.fullmatch(
        rf"the machine was not idle within \d+ s \(busiest: .*(iterate|stream), process \d+ of root.*; {said}\)", reason
    )
    # Another user of Docker, who sweeps before a measurement, removes none of it.
    done = new_user("docker-too", "docker").python("-c", SWEEPS_ALL)
    assert done.returncode == 0 and there and output(DOCKER).split() == there, done.stderr
    assert "stream" in at_work() and with_docker.number in machine_lock.marks()
    done = without_docker.snakemake(bare, config=config)
    assert re.search(f"{whose} on this machine was killed", done.stderr)
    with lock.machine(runtimes.known):
        pass
    assert output(DOCKER).split() == [] and with_docker.number not in machine_lock.marks()


def at_work() -> str:
    """Return the list of processes in the workflow's containers."""
    shown = (subprocess.run(["docker", "top", name], capture_output=True, text=True) for name in output(DOCKER).split())
    return "".join(done.stdout for done in shown)


def until(holds, process, seconds: float = 120) -> None:
    """Wait until `holds` returns true, while a process runs."""
    end = time.monotonic() + seconds
    while not holds():
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.05)


SWEEPS_ALL = """
from plimsoll import runtimes
from plimsoll.measuring import lock
lock.sweep(runtimes.known().values())
"""


SWEEPS = """
from plimsoll import runtimes
docker = runtimes.find("docker")
docker.sweep()
print(docker.left())
"""


def test_a_user_measures_beside_another_s_containers_and_sweeps_none(with_docker):
    """The other container is left by a killed run, on the network that the containers of all users share."""
    labelled = ["--label", f"{LABEL}=4242", "--name", "plimsoll-test-other"]
    network = runtimes.find("docker").network
    network.set_up()
    output(["docker", "run", "--detach", *labelled, "--network", network.name, bootstrap.tag("bootstrap"), "sleep", "300"])
    try:
        (again,) = beff([("docker", "E2")], repetition=2)
        done = with_docker.snakemake(again, config=("profile=ci", "repetitions=2"))
        assert done.returncode == 0, done.stderr
        found = json.loads((with_docker.project.folder / again).read_text())
        assert found["status"] == "valid" and found["transport"]["carried_by"] == "TCP", found["reason"]
        done = with_docker.python("-c", SWEEPS)
        assert done.returncode == 0 and done.stdout.strip() == "[]", done.stderr
        assert len(output(DOCKER).split()) == 1
        runtimes.find("docker").sweep()
        assert output(DOCKER).split() == []
    finally:
        subprocess.run(["docker", "rm", "--force", "plimsoll-test-other"], capture_output=True)


def test_what_a_user_types_with_an_image_from_a_file_makes_the_report(without_docker, file):
    user = without_docker
    cut_down(user)
    for folder in (user.project.folder / "results", user.home / ".cache/plimsoll/images"):
        shutil.rmtree(folder, ignore_errors=True)
    (user.project.folder / "config/local.yaml").unlink(missing_ok=True)
    assert user.run("./plimsoll", "drop", "docker", "docker-ptrace").returncode == 0
    done = user.run("make", "reproduce", f"IMAGE={file}", "PROFILE=ci")
    assert done.returncode == 0 and f"is taken from {file}" in done.stderr, done.stderr
    found = records(user)
    assert set(found) == {"bare E1", "singularity E1", "singularity E2"}
    assert {one["status"] for one in found.values()} == {"valid"}, {name: one["reason"] for name, one in found.items()}
    assert {"results/claims.html", "results/liu2020/report.html"} <= set(user.project.files("results/**/*.html"))


def test_whoever_has_no_runtime_and_no_python_environment_makes_everything_of_an_archive_again(
    without_docker, new_user, worldwide
):
    if not without_docker.project.files("results/liu2020/claims.json"):
        pytest.skip("it is about what the test before it has measured")
    done = without_docker.run("./plimsoll", "archive", "liu2020", "--profile", "ci", "--file", "measured.zip")
    assert done.returncode == 0, done.stderr
    sent = shutil.copy(without_docker.project.folder / "measured.zip", worldwide)
    user = new_user("reader", hidden=("docker", "podman", "apptainer"), prepared=False)
    # Everything that is installed belongs to the user.
    done = user.run("make", "reproduce", f"FROM={sent}", PLIMSOLL_PREFIX="/nonexistent")
    assert done.returncode == 0, done.stderr
    assert "setup: creating the locked Python environment in .venv" in done.stderr
    made = (user.project.folder / ".venv/bin/python").resolve()
    assert made.is_relative_to("/usr") and (user.project.folder / ".venv").stat().st_uid == user.number
    assert re.search(r"All \d+ tables, texts, pictures and pages of the archive were made again, byte for byte", done.stdout)
    assert user.project.files("results/from/measured/results/liu2020/report.html")


def test_a_user_without_root_measures_as_one_of_several_hosts(without_docker, file):
    """A job of Slurm executes this command on its node."""
    user = without_docker
    taken(user, file)
    cut_down(user)
    words = ("--target", "measurements", "profile=ci", "studies=liu2020", "runtimes={docker: off, docker-ptrace: off}")
    done = user.run("bash", "scripts/cluster/host.sh", "n1", "hosts/n1", *words)
    assert done.returncode == 0, done.stderr
    there = user.project.folder / "hosts/n1"
    assert json.loads((there / "done.json").read_text())["host"] == "n1"
    found = [json.loads(path.read_text()) for path in (there / "results/liu2020/runs").rglob("*.json")]
    assert {one["cell"]["runtime"] for one in found} == {"bare", "singularity"}
    assert {one["status"] for one in found} == {"valid"}, [one["reason"] for one in found]


def test_a_user_of_docker_is_told_what_takes_root_and_measures_singularity(with_docker):
    study = "config/studies/liu2020.yaml"
    shutil.copy(PROJECT / study, with_docker.project.folder / study)
    with_docker.own(with_docker.project.folder)
    (run,) = beff([("singularity", "E2")], repetition=2)
    done = with_docker.snakemake(run, config=("profile=ci", "repetitions=2"))
    assert done.returncode == 0, done.stderr
    found = json.loads((with_docker.project.folder / run).read_text())
    assert found["status"] == "valid", found["reason"]
    assert (found["transport"]["carried_by"], found["transport"]["single_copy"]) == ("shared memory", "allowed")
    plan = json.loads((with_docker.project.folder / "results/liu2020/plan.json").read_text())
    told: dict[str, set] = {}
    for cell in plan["cells"].values():
        if cell["hardware"] == "uma" and cell["instrument"] == "plain":
            level = "apart" if cell["containers"] > 1 and cell["affinity"] in ("cpumem", "cpumempin") else "any"
            told.setdefault(f"{cell['runtime']} {level}", set()).add(cell["reason"])
    needs = "needs root on this machine"
    assert told["singularity-instance any"] == {f"an instance with a network of its own {needs}"}
    assert told["singularity-cgroup any"] == {f"making cpu cgroups {needs}"}
    assert None in told["singularity any"] and None in told["docker any"]
    # Docker gives containers their own cores. Other runtimes need cpusets for that.
    cpusets = "Singularity: processors of its containers' own take cpusets, which this user may not make"
    assert {reason for reason in told["singularity apart"] if "not defined here" not in reason} == {cpusets}
    assert None in told["docker apart"]


def test_who_can_make_no_user_namespace_is_asked_and_measures_bare_metal(new_user, file):
    user = new_user("closed", hidden=("docker", "podman", "unshare"))
    taken(user, file)
    (run,) = beff([("bare", "E1")])
    done = user.snakemake(run, config=("profile=ci", "repetitions=1"))
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert "Required runtimes do not work here: singularity (this kernel or its settings allow no user namespace" in done.stderr
    assert user.project.files("results/liu2020/runs/**/*.json") == []
    assert user.run("./plimsoll", "drop", "docker", "docker-ptrace", "singularity").returncode == 0
    done = user.snakemake(run, config=("profile=ci", "repetitions=1"))
    assert done.returncode == 0, done.stderr
    found = records(user)
    assert {name: one["status"] for name, one in found.items()} == {"bare E1": "valid"}, found["bare E1"]["reason"]


def test_a_kernel_that_allows_no_user_namespace_is_found_out(worldwide):
    """The test becomes a user of a namespace in which no user namespace can be made: each namespace has its own sysctl."""
    home = worldwide / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    try:
        done = subprocess.run([sys.executable, "-c", NO_NAMESPACES, str(home)], capture_output=True, text=True)
    finally:
        shutil.rmtree("/tmp/.plimsoll-podman-65534", ignore_errors=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3
    for said in done.stdout.splitlines():
        assert said.startswith("this kernel or its settings allow no user namespace ('unshare --user --map-root-user' failed: ")
        assert "No space left on device" in said


NO_NAMESPACES = """
import ctypes, os, sys
os.environ["HOME"] = sys.argv[1]
# Only root may read this Python: what is imported is that of the user whom it becomes.
root, os.geteuid = os.geteuid, lambda: 65534
from plimsoll import runtimes
from plimsoll.errors import Unavailable
levels = [runtimes.find(name) for name in ("singularity", "singularity-instance-host-network", "podman-rootless")]
made, mapped = os.pipe(), os.pipe()
if child := os.fork():
    os.read(made[0], 1)
    for kind in ("uid_map", "gid_map"):
        with open(f"/proc/{child}/{kind}", "w") as file:
            file.write("0 0 65536")
    os.write(mapped[1], b".")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
CLONE_NEWUSER = 0x10000000
assert ctypes.CDLL(None).unshare(CLONE_NEWUSER) == 0
os.write(made[1], b".")
os.read(mapped[0], 1)
with open("/proc/sys/user/max_user_namespaces", "w") as file:
    file.write("0")
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
os.geteuid = root
for level in levels:
    try:
        print(level.check())
    except Unavailable as reason:
        print(reason)
"""

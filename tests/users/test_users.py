"""The table of docs/users.md, row by row: who you are, what you can measure."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from plimsoll import environments, paths
from plimsoll.environments.base import LABEL, output
from plimsoll.host import cgroup, machine_lock
from plimsoll.images import builder, portable
from plimsoll.measuring import lock

from tests.users.conftest import SET_USER_ID

TARGET = "results/liu2020/complete.txt"
DOCKER = ["docker", "ps", "--all", "--quiet", "--filter", f"label={LABEL}"]


def records(user) -> dict[str, dict]:
    """The records that a user's workflow has made, by runtime and scheme."""
    found = [
        json.loads((user.project.folder / path).read_text()) for path in user.project.files("results/liu2020/runs/**/*.json")
    ]
    return {f"{one['cell']['runtime']} {one['cell']['scheme']}": one for one in found}


def beff(deployments) -> list[str]:
    """The records of runs of b_eff, by runtime and scheme."""
    cells = (f"uma/exact/{scheme}/{runtime}/any/default/standard/plain/beff" for runtime, scheme in deployments)
    return [f"results/liu2020/runs/{cell}/1.json" for cell in cells]


@pytest.fixture(scope="module")
def file(tmp_path_factory, worldwide) -> Path:
    """The image in one file that everybody may read."""
    image = builder.build("hpcc", "bootstrap")
    target = worldwide / "plimsoll-images.tar.gz"
    portable.write([("hpcc", image)], target, lambda text: None)
    return target


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
    user.project.keep_experiment("seccomp", "beff")
    user.own(user.project.folder)
    return user


@pytest.fixture(scope="module")
def without_docker(new_user):
    """A user who may use Apptainer, as everybody, where there is no Podman."""
    return new_user("apptainer", hidden=("podman",))


@pytest.fixture(scope="module")
def with_privileges(new_user):
    """A user of an Apptainer that has its set-user-ID starter."""
    if not (paths.tool_prefix() / "apptainer").is_dir():
        pytest.skip("set-up has unpacked no Apptainer here, of which a set-user-ID one could be made")
    return new_user("setuid", hidden=("podman",), more=SET_USER_ID)


@pytest.fixture(scope="module")
def with_podman(new_user):
    """A user who may use Podman, as everybody who has subordinate numbers."""
    return new_user("podman")


def test_a_user_of_docker_measures_where_root_has_measured(with_docker):
    with machine_lock.held(pytest.fail):
        # Root's file is there.
        pass
    done = with_docker.snakemake(TARGET)
    assert done.returncode == 0, done.stderr
    found = records(with_docker)
    assert {name.split()[0] for name in found} == {"bare", "docker", "docker-ptrace"}
    assert {one["status"] for one in found.values()} == {"valid"}, {name: one["reason"] for name, one in found.items()}
    plan = json.loads((with_docker.project.folder / "results/liu2020/plan.json").read_text())
    assert "kernel.perf_event_paranoid is" in plan["instruments"]["events"]["reason"] or plan["instruments"]["events"]["events"]
    assert with_docker.number not in machine_lock.marks()


def test_a_user_of_docker_measures_microservices_but_where_a_group_is_needed(with_docker):
    runs = [f"results/jha2021/runs/{cell}/docker/free/1.json" for cell in ("1/stream", "2/stream+stream", "3b/stream+stream")]
    done = with_docker.snakemake(*runs, config=("profile=ci", "repetitions=1", "studies=jha2021"))
    assert done.returncode == 0, done.stderr
    found = {path: json.loads((with_docker.project.folder / path).read_text()) for path in runs}
    assert {one["status"] for one in found.values()} == {"valid"}, {path: one["reason"] for path, one in found.items()}
    plan = json.loads((with_docker.project.folder / "results/jha2021/plan.json").read_text())
    reasons = {path.split("/")[0]: cell["reason"] for path, cell in plan["cells"].items() if cell["reason"]}
    assert set(reasons) == {"3a"} and "which this user may not make" in reasons["3a"]
    # Both have the limits that root's containers have together.
    seen = found[runs[1]]["limits_seen"][0]
    assert seen["memory_bytes"] == found[runs[1]]["cell"]["host_limits"]["memory_bytes"]
    assert output(DOCKER).split() == []


def test_set_up_asks_once_for_what_cannot_be_had(without_docker):
    done = without_docker.run("bash", "scripts/setup/environments.sh")
    assert done.returncode == 1
    assert "setup: Docker is not usable by this user: start the engine" in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "setup: config/config.yaml requires what cannot be had here, as said above. To go on without it: make without "
        "RUNTIMES='docker docker-ptrace'"
    )
    done = without_docker.python("-m", "plimsoll", "without", "docker", "docker-ptrace")
    assert done.returncode == 0, done.stderr
    done = without_docker.run("bash", "scripts/setup/environments.sh")
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_a_user_of_apptainer_alone_measures_with_an_image_from_a_file(without_docker, file):
    user = without_docker
    done = user.python("-m", "plimsoll", "image", "--name", "hpcc", "--base", "bootstrap", "--output", "/dev/null")
    said = done.stderr.splitlines()
    assert done.returncode == 1 and len(said) == 2 and said[1].startswith("plimsoll: The image hpcc could not be built: ")
    assert "nothing that builds images works here" in done.stderr and "make reproduce IMAGE=" in done.stderr
    done = user.python("-m", "plimsoll", "take-images", "--file", str(file))
    assert done.returncode == 0 and "is taken from" in done.stderr, done.stderr
    levels = ("bare", "singularity", "singularity-user", "singularity-instance-host-network")
    runs = beff([(runtime, scheme) for runtime in levels for scheme in ("E1", "E2") if (runtime, scheme) != ("bare", "E2")])
    more = "runtimes={singularity-user: optional, singularity-instance-host-network: optional}"
    done = user.snakemake(*runs, config=("profile=ci", "repetitions=1", more))
    assert done.returncode == 0, done.stderr
    found = records(user)
    assert {one["status"] for one in found.values()} == {"valid"}, {name: one["reason"] for name, one in found.items()}
    # Ranks of plain Singularity read each other's memory, as root's do; instances are nodes of their own.
    carried = {name: (one["transport"]["carried_by"], one["transport"]["single_copy"]) for name, one in found.items()}
    assert carried["singularity E2"] == carried["bare E1"] == ("shared memory", "allowed")
    assert carried["singularity-instance-host-network E2"][0] == "TCP"
    assert {one["image"]["id"] for one in found.values()} == {builder.build("hpcc", "bootstrap")["id"]}
    plan = json.loads((user.project.folder / "results/liu2020/plan.json").read_text())
    reasons = {
        cell["runtime"]: cell["reason"] for cell in plan["cells"].values() if cell["reason"] and cell["hardware"] == "uma"
    }
    assert "needs root" in reasons["singularity-instance"] and "needs root" in reasons["singularity-cgroup"]


def test_a_user_of_apptainer_with_its_set_user_id_starter_measures_without_a_user_namespace(with_privileges, file):
    user, places = with_privileges, ("/usr/bin", "/usr/lib/x86_64-linux-gnu", "/etc", "/var/lib")
    there = [set(os.listdir(place)) for place in places]
    assert user.python("-m", "plimsoll", "without", "docker", "docker-ptrace").returncode == 0
    done = user.python("-m", "plimsoll", "take-images", "--file", str(file))
    assert done.returncode == 0, done.stderr
    runs = beff([("bare", "E1"), ("singularity", "E1"), ("singularity", "E2")])
    done = user.snakemake(*runs, config=("profile=ci", "repetitions=1"))
    # From the unpacked image: Apptainer would convert the image file for each program anew.
    assert done.returncode == 0 and "temporary sandbox" not in done.stderr, done.stderr
    found = records(user)
    assert {one["status"] for one in found.values()} == {"valid"}, {name: one["reason"] for name, one in found.items()}
    carried = {(one["transport"]["carried_by"], one["transport"]["single_copy"]) for one in found.values()}
    assert len(found) == 3 and carried == {("shared memory", "allowed")}
    tried = json.loads((user.project.folder / "results/images/hpcc.runtimes.json").read_text())["singularity"]
    assert tried["features"]["namespaces"] == ["mnt"] and "without privileges" not in tried["version"]
    assert not {"unshare", "--userns"} & set(found["singularity E2"]["command"])
    # Nothing of it is on the machine.
    assert not any("apptainer" in set(now) - before for now, before in zip(map(os.listdir, places), there, strict=True))


def test_a_user_of_podman_builds_the_image_and_measures_in_it(with_podman):
    user = with_podman
    if missing := podman_lacks(user):
        pytest.skip(missing)
    for words in (("without", "docker", "docker-ptrace", "singularity"), ("with", "podman-rootless")):
        assert user.python("-m", "plimsoll", *words).returncode == 0
    runs = beff([("bare", "E1"), ("podman-rootless", "E1"), ("podman-rootless", "E2")])
    # Something else of the user's, which has nothing to do with the containers.
    shutil.copy("/bin/sleep", user.home / "pasta.avx2")
    other = user.start("./pasta.avx2", "600", folder=user.home)
    # Without Apptainer the image has no form for it.
    done = user.snakemake(*runs, config=("profile=ci", "repetitions=1"), PLIMSOLL_PREFIX="/nonexistent")
    other.kill()
    other.communicate()
    assert done.returncode == 0, done.stderr
    found = records(user)
    assert {one["status"] for one in found.values()} == {"valid"}, {name: one["reason"] for name, one in found.items()}
    assert found["podman-rootless E2"]["transport"]["carried_by"] == "TCP"
    # The same programs in all, by what the ranks mapped. On version 1 nobody counts what is in a container without root.
    assert found["podman-rootless E2"]["bits"] == found["bare E1"]["bits"]
    assert found["bare E1"]["noise"]["during"]["apart"]
    assert found["podman-rootless E1"]["noise"]["during"]["apart"] == (cgroup.version(cgroup.mounts()) == "2")
    assert "sif" not in json.loads((user.project.folder / "results/images/hpcc.json").read_text())
    tried = json.loads((user.project.folder / "results/images/hpcc.runtimes.json").read_text())
    seen = tried["podman-rootless"]["features"]
    assert {"net", "pid", "uts", "ipc", "mnt"} <= set(seen["separate_namespaces"]) and "user" in seen["namespaces"]
    assert (seen["file_system"], seen["seccomp"]) == ("overlay", "2")
    carried = r"bridge podman\d+, in the user's own network, (slirp4netns|pasta) to the outside"
    assert re.fullmatch(carried, seen["network"]), seen["network"]


def podman_lacks(user) -> str:
    """Why Podman does not work for a user; nothing if it does."""
    asked = "from plimsoll import environments; environments.find('podman-rootless').check()"
    done = user.python("-c", asked)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def test_one_user_waits_for_another_and_is_told_what_a_killed_one_left(with_docker, without_docker):
    measuring = without_docker.start("python", "-c", HOLDS)
    assert measuring.stdout.readline() == "held\n"
    waiting = with_docker.start("python", "-c", HOLDS)
    told = waiting.stderr.readline()
    assert f"another workflow is measuring on this machine ({without_docker.name}, process " in told
    # What it has started goes on.
    output(["pkill", "--signal", "KILL", "--uid", str(without_docker.number), "--full", "import lock"])
    assert waiting.stdout.readline() == "held\n"
    waiting.communicate()
    left = ["pgrep", "--uid", str(without_docker.number), "--full", "sleep 4242"]
    assert without_docker.number in machine_lock.marks() and subprocess.run(left, capture_output=True).returncode == 0
    # Others measure all the same, and are told; root sweeps.
    done = with_docker.snakemake(TARGET, "--forcerun", "complete")
    assert done.returncode == 0 and f"a measurement of {without_docker.name} on this machine was killed" in done.stderr
    assert without_docker.number in machine_lock.marks() and subprocess.run(left, capture_output=True).returncode == 0
    with lock.machine(environments.known):
        pass
    assert without_docker.number not in machine_lock.marks() and subprocess.run(left, capture_output=True).returncode == 1


HOLDS = """
import subprocess, sys
from plimsoll.measuring import lock
with lock.machine(), lock.run("test"):
    subprocess.Popen(["sleep", "4242"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print("held", flush=True)
    sys.stdin.read()
"""


SWEEPS = """
from plimsoll import environments
docker = environments.find("docker")
docker.sweep()
print(docker.left())
"""


def test_nobody_sweeps_another_user_s_containers(with_docker):
    labelled = ["--label", f"{LABEL}=4242", "--name", "plimsoll-test-other"]
    output(["docker", "run", "--detach", *labelled, builder.BOOTSTRAP_TAG, "sleep", "60"])
    try:
        done = with_docker.python("-c", SWEEPS)
        assert done.returncode == 0 and done.stdout.strip() == "[]", done.stderr
        assert len(output(DOCKER).split()) == 1
        environments.find("docker").sweep()
        assert output(DOCKER).split() == []
    finally:
        subprocess.run(["docker", "rm", "--force", "plimsoll-test-other"], capture_output=True)

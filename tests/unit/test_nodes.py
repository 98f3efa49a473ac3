"""Runtimes that stack: nodes on nodes, their networks, leftovers, and what each runtime needs installed."""

import os
import shutil
import stat
import subprocess
import sys
from typing import ClassVar

import pytest
import yaml
from plimsoll import runtimes
from plimsoll.errors import Unavailable
from plimsoll.host import topology
from plimsoll.measuring import lock
from plimsoll.mpi.job import Job
from plimsoll.runtimes import apptainer, apptainer_user, base, commands, cpuset_node, docker_nested, namespaces
from plimsoll.runtimes.base import HOST, Place, Spec
from plimsoll.runtimes.engine import EngineNode
from plimsoll.runtimes.networks import base as networks

from tests.conftest import PROJECT

IMAGE = {"tag": "plimsoll/hpcc:x", "id": "sha256:abc", "sif": "/x.sif", "rootfs": "/x"}

ENGINE = """\
#!/bin/sh
echo "{name} $*" >>{folder}/asked
case " $* " in
*" run "*)
    if [ -e {folder}/broken ]; then echo "no such image" >&2; exit 125; fi
    echo id ;;
# The number of the first process of a container that has ended.
*" inspect "*) echo 0 ;;
esac
"""


@pytest.fixture
def engines(tmp_path, monkeypatch):
    """Return a function that lists the engines' command lines. The engines are scripts that fail if the file `broken`
    exists."""
    for name in ("docker", "podman", "apptainer"):
        script = tmp_path / name
        script.write_text(ENGINE.format(name=name, folder=tmp_path))
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("PLIMSOLL_PREFIX", str(tmp_path / "none"))
    return lambda: (tmp_path / "asked").read_text().splitlines()


def test_a_program_goes_through_all_the_nodes_between(tmp_path):
    parent = EngineNode(Spec("x", "parent", IMAGE, tmp_path), HOST, [], ("docker",))
    child = EngineNode(Spec("x", "child", IMAGE, tmp_path), parent, [], ("podman",))
    assert child.enter(["true"]) == ["podman", "exec", "child", "true"]
    assert child.inside(["true"], tmp_path) == [
        "docker",
        "exec",
        "parent",
        "podman",
        "exec",
        "--workdir",
        str(tmp_path),
        "child",
        "true",
    ]
    assert HOST.inside(["true"]) == ["true"]


@pytest.fixture
def no_cpusets(monkeypatch):
    """Refuse this user every cpuset."""

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(cpuset_node.cgroup, "make_cpusets", refused)


def placed(tmp_path, *places: Place | None) -> list[Spec]:
    return [Spec("x", f"n{number}", IMAGE, tmp_path, place) for number, place in enumerate(places)]


def test_without_cpusets_a_program_is_kept_on_its_processors(tmp_path, no_cpusets):
    whole = topology.everything(topology.discover())
    one = str(min(os.sched_getaffinity(0)))
    node, cpusets = cpuset_node.confine(placed(tmp_path, *2 * [Place(one, whole["nodes"])]))
    assert cpusets == [] and node.inside(["true"]) == ["taskset", "-c", one, "true"]
    # The binding is read back from a program that was started with it.
    assert commands.output(node.inside(["sh", "-c", "taskset -cp $$"])).rpartition(": ")[2].strip() == one


def test_without_cpusets_what_takes_one_is_refused(tmp_path, no_cpusets):
    whole = topology.everything(topology.discover())
    apart = placed(tmp_path, Place("0", whole["nodes"]), Place("1", whole["nodes"]))
    for specs in (apart, placed(tmp_path, Place("0", "7"))):
        with pytest.raises(Unavailable, match=r"a cpuset could not be made: .*Permission denied"):
            cpuset_node.confine(specs)
    # A program that may use all processors and memory nodes needs no cpuset.
    assert cpuset_node.confine(placed(tmp_path, None, None)) == (HOST, [])


def test_an_environment_starts_and_stops_nodes_on_a_node(engines, tmp_path):
    docker = runtimes.find("docker")
    parent = EngineNode(Spec("x", "parent", IMAGE, tmp_path), HOST, [], ("docker",))
    nodes = docker.start([Spec("x", "child", IMAGE, tmp_path)], on=parent)
    docker.stop(nodes)
    asked = engines()
    assert all(line.startswith("docker exec parent docker ") for line in asked)
    assert [line.split()[4] for line in asked] == ["network", "run", "rm"]
    assert nodes[0].on is parent and nodes[0].separate


def job_of_two(folder) -> Job:
    """Return a job of two ranks. The folder has the image's unpacked files, as far as the launcher looks for them."""
    (folder / "usr/lib/x86_64-linux-gnu").mkdir(parents=True, exist_ok=True)
    (folder / "lib64").mkdir(exist_ok=True)
    (folder / "lib64/ld-linux-x86-64.so.2").touch()
    place = {"cpus": "", "nodes": "", "cores": [], "slots": []}
    image = {**IMAGE, "rootfs": str(folder), "sif": "x.sif"}
    return Job("x", folder, folder, image, [place] * 2, 2, False, {})


def test_mpi_starts_its_daemons_in_nodes_that_are_in_nodes(tmp_path):
    parent = EngineNode(Spec("x", "parent", IMAGE, tmp_path), HOST, [], ("docker",))
    children = [EngineNode(Spec("x", f"c{i}", IMAGE, tmp_path), parent, [], ("docker",)) for i in (0, 1)]
    command = job_of_two(tmp_path).command(children, ["/bin/true"])
    agent = (tmp_path / "docker-agent.sh").read_text()
    assert f"sh {tmp_path / 'docker-agent.sh'}" in command
    assert f'c1) exec docker exec parent docker exec --workdir {tmp_path} c1 sh -c "$*" ;;' in agent


def test_on_the_host_s_network_ranks_are_told_one_interface(engines, tmp_path):
    nodes = runtimes.find("docker-host-network").start([Spec("x", "c0", IMAGE, tmp_path)])
    assert nodes[0].interface in os.listdir("/sys/class/net")
    assert runtimes.find("docker").start([Spec("x", "c0", IMAGE, tmp_path)])[0].interface is None
    runs = [line for line in engines() if " run " in line]
    assert "--network host" in runs[0] and "--network plimsoll" in runs[1]


def test_a_node_may_ask_for_another_network_than_its_environment_s(engines, tmp_path):
    runtimes.find("docker").start([Spec("x", "c0", IMAGE, tmp_path, network=networks.HostNetwork())])
    (line,) = (line for line in engines() if " run " in line)
    assert "--network host" in line


def test_containers_that_do_not_start_are_removed(engines, tmp_path):
    (tmp_path / "broken").touch()
    with pytest.raises(Unavailable, match="no such image"):
        runtimes.find("docker").start([Spec("x", "c0", IMAGE, tmp_path), Spec("x", "c1", IMAGE, tmp_path)])
    assert engines()[-1] == "docker rm --force --volumes c0 c1"


def test_podman_asks_docker_for_an_image_that_it_does_not_have(engines, tmp_path):
    (tmp_path / "broken").touch()
    with pytest.raises(Unavailable):
        runtimes.find("podman").start([Spec("x", "c0", IMAGE, tmp_path)])
    asked = engines()
    assert "docker save plimsoll/hpcc:x" in asked and "podman --runtime runc load --quiet" in asked
    assert asked.index("docker save plimsoll/hpcc:x") > next(i for i, line in enumerate(asked) if " run " in line)


def test_subnets_of_two_engines_are_not_the_same():
    docker, podman = (runtimes.find(name).network for name in ("docker", "podman"))
    assert docker.first + 50 <= podman.first


def test_the_lock_sweeps_what_it_is_handed(capsys, monkeypatch):
    # Nothing of this machine may be swept, because another workflow may be measuring.
    monkeypatch.setattr(lock, "kill_strays", lambda: None)
    monkeypatch.setattr(lock, "remove_folders", lambda: None)
    monkeypatch.setattr(lock.cgroup, "put_back", lambda mounted: None)

    class Broken:
        has_containers = True

        def sweep(self):
            raise Unavailable("it does not answer")

    class Noted:
        swept: ClassVar[list[bool]] = []

        def __init__(self, has_containers):
            self.has_containers = has_containers

        def sweep(self):
            Noted.swept.append(self.has_containers)

    lock.sweep([Broken(), Noted(False), Noted(True)])
    # Containers go first, because their cgroups can be removed only after them.
    assert Noted.swept == [True, False]
    assert "not removed: it does not answer" in capsys.readouterr().err


def test_cgroups_are_swept_after_all_containers():
    order = sorted(runtimes.known().values(), key=lambda each: not each.has_containers)
    assert [each.name for each in order][-1:] == ["bare"]


def test_what_a_parent_may_do_is_read_from_the_kernel():
    usual = "Name:\tsh\nCapEff:\t00000000a80425fb\nSeccomp:\t2\n"
    assert docker_nested.privileges(usual) == {"capabilities": set(), "seccomp": "on"}
    more = "CapEff:\t00000000a82435fb\nSeccomp:\t0\n"
    assert docker_nested.privileges(more) == docker_nested.GIVEN
    unknown = "CapEff:\t000001ffffffffff\nSeccomp:\t0\n"
    assert {"CAP_SYS_ADMIN", "24"} <= docker_nested.privileges(unknown)["capabilities"]


def test_moments_of_a_parent_are_read_while_they_are_written(tmp_path):
    notes = tmp_path / "c0.moments"
    assert docker_nested.moments(notes) == {}
    notes.write_text("parent 12.500000\nengine 13.250000\nimag")
    assert docker_nested.moments(notes) == {"parent": 12.5, "engine": 13.25}


def test_a_parent_is_another_image_with_the_child_s_as_a_file(tmp_path):
    stages = {"parent": {"tag": "plimsoll/parent:x", "id": "sha256:parent"}}
    image = {"tag": "plimsoll/nesting:x", "id": "sha256:child", "archive": "/store/alone.tar", "stages": stages}
    child = Spec("r", "plimsoll-r-c0", image, tmp_path, group="/plimsoll/r", command=("true",))
    parent = docker_nested.parent_of(child, 4)
    words = docker_nested.PARENTS.words(parent)
    command = words[words.index("sha256:parent") + 1 :]
    assert parent.name == "plimsoll-r-c0-parent" and tuple(command) == parent.command
    assert "--privileged" not in words and "type=bind,source=/store/alone.tar,target=/opt/plimsoll/child.tar,readonly" in words
    # The parent notes what it may do, and so does each child.
    noted, own = (*docker_nested.NOTING, f"{tmp_path}/plimsoll-r-c0-parent.status"), parent.command[4:]
    assert parent.command[:4] == noted and own[0] == docker_nested.PARENT
    assert own[2:6] == (docker_nested.ARCHIVE, "4", "/plimsoll/r", "--")
    assert own[-6:] == ("plimsoll/nesting:x", *docker_nested.NOTING, f"{tmp_path}/plimsoll-r-c0-NUMBER.status", "true")
    assert "/store/alone.tar" not in " ".join(parent.command)
    assert docker_nested.parent_of(child, 4, loads=False).command[6] == ""


def test_set_up_is_told_the_packages_of_what_is_switched_on(tmp_path):
    (tmp_path / "config").mkdir()
    shutil.copytree(PROJECT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("schemas", "studies"):
        shutil.copytree(PROJECT / "config" / folder, tmp_path / "config" / folder)
    given = yaml.safe_load((PROJECT / "config/config.yaml").read_text())

    def told(*words: str, studies: str = "", **runtimes: str) -> list[list[str]]:
        configured = {**given, "runtimes": {**given["runtimes"], **runtimes}}
        (tmp_path / "config/config.yaml").write_text(yaml.safe_dump(configured))
        command = [sys.executable, str(tmp_path / "scripts/setup/packages.py"), *words]
        where = {**os.environ, "PYTHONPATH": str(tmp_path / "scripts"), "STUDIES": studies}
        text = subprocess.run(command, env=where, capture_output=True, text=True, check=True).stdout
        return [line.split() for line in text.splitlines()]

    engines = [[name, "required", "docker.sh"] for name in ("docker", "docker-ptrace")]
    usual = [*engines, ["singularity", "required", "apptainer.sh"]]
    usual += [[name, "optional", "apptainer.sh"] for name in ("singularity-cgroup", "singularity-instance")]
    assert told() == told(studies="no_such_study") == usual
    # A runtime that is off needs no packages.
    off = dict.fromkeys(("docker", "docker-ptrace"), "off")
    assert told(**off) == usual[2:]
    podman = ["podman", "required", "-", *runtimes.find("podman").packages]
    assert podman in told(podman="required")
    # A study may request runtimes that are off in the configuration.
    switch = ["docker-open-vswitch", "optional", "docker.sh", "openvswitch-switch", "ethtool"]
    machines = [[name, "optional", "guest.sh", *runtimes.find(name).packages] for name in ("vm", "vm-emulated")]
    asked = [one for one in told(studies="amaral2015") if one not in usual]
    assert asked == [["docker-nested", "optional", "docker.sh"], switch, *machines]
    assert ["singularity-user", "optional", "apptainer.sh"] in told(studies="plimsoll2026")
    assert {name for name, *_ in told("all")} == set(runtimes.known()) - {"bare"}


def test_every_environment_can_be_named_shown_and_planned(liu2020):
    known = runtimes.known()
    # Nested containers and virtual machines cannot run the ranks of an MPI program. Open vSwitch has not been tried for one.
    others = {"docker-nested", "docker-open-vswitch", "vm", "vm-emulated"}
    assert set(liu2020["factors"]["runtime"]) == set(known) - others
    labels = [runtime.label for runtime in known.values()]
    assert len(set(labels)) == len(labels)
    for name, runtime in known.items():
        assert runtime.name == name and isinstance(runtime, base.Runtime)
        assert runtime.variant_of is None or runtime.variant_of in known
        assert all((PROJECT / "scripts/setup" / step).is_file() for step in runtime.steps)


def test_a_rank_of_a_shared_container_is_told_what_the_launcher_says_and_nothing_else(engines, tmp_path):
    nodes = runtimes.find("docker-shared").start([Spec("x", "c0", IMAGE, tmp_path, temporary=tmp_path / "short")])
    (line,) = (line for line in engines() if " run " in line)
    assert f"--volume {tmp_path}/short:{tmp_path}/short" in line and "--ipc host --pid host" in line
    command = nodes[0].enter(["/bin/rank", "two words"], without=["OPAL_PREFIX"])
    told = {"OMPI_COMM_WORLD_RANK": "1", "PMIX_NAMESPACE": "a b", "OPAL_PREFIX": "/x", "SECRET": "1"}
    subprocess.run(command, env={**os.environ, **told}, check=True)
    asked = engines()[-1]
    assert asked.startswith("docker exec ") and asked.endswith(f"--workdir {tmp_path} c0 /bin/rank two words")
    assert "--env OMPI_COMM_WORLD_RANK" in asked and "--env PMIX_NAMESPACE" in asked
    assert "OPAL_PREFIX" not in asked and "SECRET" not in asked


@pytest.mark.parametrize("privileged", [False, True])
def test_only_without_privileges_the_launcher_of_plain_singularity_is_in_one_user_namespace(
    tmp_path, monkeypatch, engines, privileged
):
    monkeypatch.setattr(apptainer, "is_privileged", lambda: privileged)
    monkeypatch.setattr(apptainer.os, "geteuid", lambda: 1000)
    job = job_of_two(tmp_path)
    command = job.command(runtimes.find("singularity").start(job.specs), ["/bin/true"])
    assert (command[:3] == ["unshare", "--user", "--map-root-user"]) is not privileged
    assert command.count("unshare") == (0 if privileged else 1)
    words = " ".join(command)
    # Ranks copy memory as root's ranks do. They use the unpacked image, which no kernel refuses to mount for a user.
    assert "single_copy" not in words and job.image["sif"] not in words and job.image["rootfs"] in words
    asked = runtimes.find("singularity-instance-host-network")._command(job.specs[0], [])
    assert job.image["rootfs"] in asked and not {"--net", "--network"} & set(asked)
    assert any(word.endswith(",target=/.singularity.d/actions/start") for word in asked)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of root's with the set-user-ID bit")
@pytest.mark.parametrize("kind", ["apptainer", "singularity"])
@pytest.mark.parametrize(
    ("mode", "owner", "allowed", "privileged"),
    [
        (None, 0, "yes", False),
        (0o755, 0, "yes", False),
        (0o4755, 0, "yes", True),
        (0o4755, 0, "no", False),
        (0o4755, 65534, "yes", False),
    ],
)
def test_privileges_are_those_of_a_starter_that_works(tmp_path, monkeypatch, kind, mode, owner, allowed, privileged):
    if os.statvfs(tmp_path).f_flag & os.ST_NOSUID:
        pytest.skip("the tests' folder is on a file system without set-user-ID bits")
    (tmp_path / kind / "bin").mkdir(parents=True)
    configured = tmp_path / f"{kind}.conf"
    configured.write_text(f"# of {kind}\nallow setuid = {allowed}\n")
    if mode is not None:
        starter = tmp_path / kind / "bin/starter-suid"
        starter.touch()
        os.chown(starter, owner, owner)
        starter.chmod(mode)
    told = f"PACKAGE_NAME={kind}\nLIBEXECDIR={tmp_path}\nSYSCONFDIR=/etc\n{kind.upper()}_CONF_FILE={configured}\n"
    monkeypatch.setattr(apptainer, "output", lambda *_: told)
    monkeypatch.setattr(apptainer, "executable", lambda: kind)
    monkeypatch.setattr(apptainer.os, "geteuid", lambda: 1000)
    assert apptainer.is_privileged() is privileged


def test_a_kernel_without_user_namespaces_is_told_where_they_are_needed(monkeypatch, engines):
    def refused(command, *_):
        if command[0] == "unshare":
            raise Unavailable("'unshare --user' failed: unshare failed: No space left on device")
        return "apptainer version 1.4.5"

    monkeypatch.setattr(apptainer, "is_privileged", lambda: False)
    for module in (apptainer, apptainer_user, namespaces):
        monkeypatch.setattr(module, "output", refused)
    for name in ("singularity", "singularity-instance-host-network", "singularity-user"):
        with pytest.raises(Unavailable, match="this kernel or its settings allow no user namespace"):
            runtimes.find(name).check()
    monkeypatch.setattr(apptainer, "is_privileged", lambda: True)
    assert runtimes.find("singularity").check() == "apptainer version 1.4.5"


def test_ranks_across_user_namespaces_copy_through_shared_memory(tmp_path, engines):
    commands = {}
    for kind in (apptainer_user.UserNode, apptainer_user.SharensNode, apptainer_user.TwoCopiesNode):
        job = job_of_two(tmp_path)
        nodes = [kind(Spec("x", f"c{i}", job.image, tmp_path), HOST, "rootfs") for i in (0, 1)]
        commands[kind] = " ".join(job.command(nodes, ["/bin/true"]))
    for kind in (apptainer_user.UserNode, apptainer_user.TwoCopiesNode):
        assert "btl_vader_single_copy_mechanism none" in commands[kind]
    assert "btl_vader_single_copy_mechanism" not in commands[apptainer_user.SharensNode]
    assert "--userns --sharens" in commands[apptainer_user.SharensNode] and "x.sif" not in commands[apptainer_user.UserNode]

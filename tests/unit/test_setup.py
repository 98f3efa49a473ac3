"""What set-up finds on a machine, however that was installed."""

import subprocess

import pytest
from plimsoll import environments
from plimsoll.errors import Unavailable

from tests.project import PROJECT

NEEDS = f'. {PROJECT}/scripts/setup/common.sh; is_root() {{ return 1; }}; need_packages "A runtime" "$@"; echo satisfied'
# Everywhere, and used by common.sh itself.
TOOLS = ("bash", "dirname", "grep", "id")


@pytest.fixture
def needs(tmp_path):
    """A function that asks for packages, as a user of a machine with some programs and no package manager of Debian's."""

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
    remedy = "(these are Debian's packages): install them by hand, which takes root, then run again."
    assert (code, said) == (1, f"setup: A runtime needs uidmap slirp4netns busybox-static {remedy}\n")


def test_a_program_by_the_name_of_a_static_one_is_not_taken_for_it(needs):
    assert needs(("busybox",), "busybox-static")[0] == 1


ROOTLESS = """#!/bin/sh
case "$1 $3" in
    "version {{.Server.Version}}") echo 27.0 ;;
    "info {{.SecurityOptions}}") echo "[name=seccomp,profile=builtin NAMES]" ;;
esac
"""


@pytest.mark.parametrize(("names", "refused"), [("name=rootless name=cgroupns", True), ("name=cgroupns", False)])
def test_a_docker_engine_without_root_is_refused_in_one_sentence(tmp_path, monkeypatch, names, refused):
    (tmp_path / "docker").write_text(ROOTLESS.replace("NAMES", names))
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    done = subprocess.run(["bash", PROJECT / "scripts/setup/docker.sh"], capture_output=True, text=True)
    docker = environments.find("docker")
    assert docker.check_building() == "Docker 27.0"
    if refused:
        assert done.returncode == 1 and done.stderr.startswith("setup: Docker runs here without root, which is not measured: ")
        with pytest.raises(Unavailable, match="this Docker engine runs without root"):
            docker.check()
    else:
        assert (done.returncode, done.stderr) == (0, "") and docker.check() == "Docker 27.0"

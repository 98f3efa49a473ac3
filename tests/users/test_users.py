"""The table of docs/users.md, row by row: who you are, what you can measure."""

import json
from pathlib import Path

import pytest
from plimsoll.environments.base import LABEL, output
from plimsoll.host import machine_lock
from plimsoll.images import builder, portable

TARGET = "results/liu2020/complete.txt"
DOCKER = ["docker", "ps", "--all", "--quiet", "--filter", f"label={LABEL}"]


def records(user) -> dict[str, dict]:
    """The records that a user's workflow has made, by runtime and scheme."""
    found = [
        json.loads((user.project.folder / path).read_text()) for path in user.project.files("results/liu2020/runs/**/*.json")
    ]
    return {f"{one['cell']['runtime']} {one['cell']['scheme']}": one for one in found}


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
    """A user who may use Apptainer, as everybody."""
    return new_user("apptainer")


def test_a_user_of_docker_measures_where_root_has_measured(with_docker):
    with machine_lock.held(pytest.fail):
        # Root's file is there.
        pass
    done = with_docker.snakemake(TARGET)
    assert done.returncode == 0, done.stderr
    found = records(with_docker)
    assert {name.split()[0] for name in found} == {"bare", "docker", "docker-ptrace"}
    assert {one["status"] for one in found.values()} == {"valid"}, {name: one["reason"] for name, one in found.items()}
    assert not machine_lock.mine().with_name(f"{machine_lock.MARK}.{with_docker.number}").exists()

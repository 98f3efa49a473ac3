"""Set-up: skipped where nothing is missing, and one sentence where it is impossible."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.conftest import PROJECT


def test_what_is_satisfied_is_skipped_without_a_word():
    first = subprocess.run(["bash", "scripts/setup/all.sh"], cwd=PROJECT, capture_output=True, text=True, timeout=900)
    assert first.returncode == 0, first.stderr
    again = subprocess.run(["bash", "scripts/setup/all.sh"], cwd=PROJECT, capture_output=True, text=True, timeout=60)
    assert again.returncode == 0
    assert again.stdout == again.stderr == ""


@pytest.fixture
def as_nobody():
    """Return a function that runs a set-up step as a user without rights, on a machine that lacks what the step provides."""
    if os.geteuid():
        pytest.skip("only root can become another user")
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    shutil.copytree(PROJECT / "scripts/setup", folder / "scripts/setup")

    def run(step: str, **environment: str) -> subprocess.CompletedProcess:
        command = [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "bash",
            str(folder / f"scripts/setup/{step}.sh"),
        ]
        # The path has only what every machine has: no docker, no apptainer.
        return subprocess.run(
            command,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **environment},
            capture_output=True,
            text=True,
            cwd="/",
            timeout=60,
        )

    yield run
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("step", "environment", "sentence"),
    [
        ("docker", {"DOCKER_HOST": "unix:///nonexistent.sock"}, "setup: Docker is not usable by this user: start the engine"),
        (
            "apptainer",
            {"PLIMSOLL_PREFIX": "/nonexistent"},
            "setup: neither apptainer nor singularity is installed: install one",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(as_nobody, step, environment, sentence):
    done = as_nobody(step, **environment)
    assert done.returncode != 0
    assert done.stderr.startswith(sentence) and done.stderr.count("\n") == 1

"""`plimsoll try` for real: bad inputs in one sentence each, and planted steps that it names with containers."""

import json
import os
import subprocess
import sys

import pytest
import yaml

from tests.conftest import PROJECT

PLANTED = """
dd if=/dev/zero of=/dev/shm/planted bs=1M count=100 2>/dev/null || sleep 0.6
rm -f /dev/shm/planted
grep -q '^Seccomp:.*2' /proc/self/status && sleep 0.3
echo done
"""


def plimsoll(folder, *words: str, seconds: float = 120) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "scripts")}
    command = [sys.executable, "-m", "plimsoll.cli", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--", "no_such_program"], "could not be started"),
        (["--", "false"], "failed with exit status 1"),
        (["--limit", "1", "--", "sleep", "60"], "did not end within 1 s"),
        (["--", "sh", "-c", "setsid sleep 61 & echo hi"], "left processes running"),
        (["--", "sh", "-c", "test -t 0 || { echo needs a terminal >&2; exit 1; }"], "needs a terminal"),
        (["--", "head", "-c", "300000000", "/dev/zero"], "more than 256 MiB"),
        (["--metric", "rate=x: ([0-9]+)", "--better", "higher", "--", "echo", "hi"], "no number for rate"),
        (["--metric", "rate=([0-9])", "--better", "higher", "--", "echo", "1 2"], "2 numbers for rate"),
        (["--metric", "rate=([0-9", "--better", "higher", "--", "echo", "1"], "no regular expression"),
        (["--metric", "rate=[0-9]", "--better", "higher", "--", "echo", "1"], "one group"),
        (["--check", "false", "--", "echo", "1"], "the answer is wrong"),
        (["--image", "no-such-image:1", "--", "true"], "no image no-such-image:1"),
    ],
)
def test_what_cannot_be_measured_is_told_in_a_sentence_and_leaves_nothing_running(tmp_path, words, told):
    done = plimsoll(tmp_path, "try", "--dry-run", *words)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("plimsoll: ") and told in last
    assert not subprocess.run(["pgrep", "-f", "^sleep 6[01]$"], capture_output=True, text=True).stdout
    assert not (tmp_path / "my-study.yaml").exists()


def test_a_file_without_its_folder_is_refused(tmp_path):
    (tmp_path / "my-study.yaml").write_text("{}\n")
    done = plimsoll(tmp_path, "reproduce", "my-study.yaml")
    assert done.returncode == 2 and "is not beside my-study.yaml" in done.stderr


def test_a_program_with_other_answers_in_a_container_is_not_timed(tmp_path):
    done = plimsoll(tmp_path, "try", "--", "cat", "/proc/1/comm", seconds=300)
    assert done.returncode == 2 and "output differs between this host and a container" in done.stderr
    assert not (tmp_path / "my-study/results/my-study").exists()


def calm(folder) -> None:
    """Let other programs run: what is planted here is larger than what they do."""
    path = folder / "config/profiles/quick.yaml"
    profile = yaml.safe_load(path.read_text())
    profile["idle"] = {"busy_share": 1.0, "window_seconds": 0.05, "wait_seconds": 20}
    profile["neighbours"] = {"share": 1.0, "seconds": 100000}
    path.write_text(yaml.safe_dump(profile))


@pytest.mark.long
def test_two_planted_steps_are_named_and_what_gives_them_back_is_measured(tmp_path):
    (tmp_path / "run.sh").write_text(PLANTED)
    made = plimsoll(tmp_path, "try", "--dry-run", "--minutes", "2", "--width", "10%", "--", "sh", "run.sh")
    assert made.returncode == 0, made.stderr
    calm(tmp_path / "my-study")
    done = plimsoll(tmp_path, "reproduce", "my-study.yaml", seconds=1500)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads((tmp_path / "my-study/results/my-study/try.json").read_text())
    answer = " ".join(told["answer"])
    assert "come with namespaces of processes and shared memory" in answer and "come with the seccomp filter" in answer
    assert "With --ipc host it is" in answer and "With --security-opt seccomp=unconfined it is" in answer
    steps = {one["adds"]: one["differs"] for one in told["why"]}
    assert any(
        "shared memory" in sentence for sentence in steps["namespaces of processes and shared memory, with a /dev/shm of 64 MB"]
    )
    assert "seccomp: 0 before, 2 after" in steps["the seccomp filter"]

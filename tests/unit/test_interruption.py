"""Effect of Ctrl-C on a stage and on the workflow that it has started."""

import os
import signal
import subprocess
import sys
import time

import pytest
from plimsoll.terminal import interruption

from tests.conftest import PROJECT

# A stage that starts a workflow, which takes 0.3 s to end after Ctrl-C.
WORKFLOW = (
    "import signal, sys, time\n"
    "def end(*_): time.sleep(0.3); print('ended', flush=True); sys.exit(1)\n"
    "signal.signal(signal.SIGINT, end); print('begun', flush=True); time.sleep(60)"
)
STAGE = (
    "import sys; from plimsoll.errors import run_guarded; from plimsoll.terminal import interruption\n"
    "sys.exit(run_guarded(lambda: interruption.run([sys.executable, '-c', sys.argv[1]])))"
)


def begun(*arguments: str, **variables: str) -> subprocess.Popen:
    """Start a Python program in its own session. Return it when it, or a process that it starts, has printed `begun`."""
    process = subprocess.Popen(
        [sys.executable, "-c", *arguments],
        env={**os.environ, "PYTHONPATH": str(PROJECT / "scripts"), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Ctrl-C must work as in a terminal, even if these tests run in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout.readline() == "begun\n"
    return process


def test_ctrl_c_is_answered_by_the_workflow_and_its_end_is_waited_for():
    process = begun(STAGE, WORKFLOW)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=30) == ("ended\n", "")
    assert process.returncode == interruption.STATUS


def test_a_stage_that_is_terminated_takes_its_workflow_with_it():
    process = begun(STAGE, WORKFLOW)
    process.terminate()
    assert process.communicate(timeout=30) == ("", "plimsoll: interrupted. What was measured is kept.\n")
    assert process.returncode == interruption.STATUS


# A job that began while its workflow was interrupted. Ctrl-C does not reach it, and it ends after its workflow.
JOB = (
    "import time; from plimsoll.errors import run_guarded; from plimsoll.measuring import stop\n"
    "def work(): stop.with_workflow(); print('begun', flush=True); time.sleep(60)\n"
    "raise SystemExit(run_guarded(work))"
)
STARTS_IT = (
    "import os, subprocess, sys, time; from plimsoll.errors import WORKFLOW\n"
    "subprocess.Popen([sys.executable, '-c', sys.argv[1]], env={**os.environ, WORKFLOW: str(os.getpid())})\n"
    "time.sleep(60)"
)


def test_a_job_that_ends_with_its_workflow_says_nothing_after_the_workflow_s_last_line():
    workflow = begun(STARTS_IT, JOB)
    workflow.kill()
    # The job has the same pipes, so this waits for it.
    assert workflow.communicate(timeout=30) == ("", "")


@pytest.mark.parametrize("status", [0, 3])
def test_the_workflow_s_own_status_is_returned(status):
    before = signal.getsignal(signal.SIGINT)
    began = time.monotonic()
    assert interruption.run([sys.executable, "-c", f"raise SystemExit({status})"]) == status
    assert signal.getsignal(signal.SIGINT) is before and time.monotonic() - began < 30


# A stage that gets Ctrl-C between two workflows.
BETWEEN = (
    "import time; from plimsoll.errors import run_guarded; from plimsoll.terminal import interruption\n"
    "@interruption.explain()\n"
    "def work(): print('begun', flush=True); time.sleep(60)\n"
    "raise SystemExit(run_guarded(work))"
)


@pytest.mark.parametrize(
    ("typed", "goes_on"),
    [
        ("make reproduce HOURS=1", "make reproduce HOURS=1"),
        (None, "python -m plimsoll hours --hours 1 'studies=a b'"),
    ],
)
def test_ctrl_c_between_two_workflows_says_what_is_kept_and_what_goes_on(typed, goes_on):
    process = begun(BETWEEN, "hours", "--hours", "1", "studies=a b", **{interruption.COMMAND: typed or ""})
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=30)[1] == f"{interruption.STAYS} {goes_on}\n"
    assert process.returncode == interruption.STATUS

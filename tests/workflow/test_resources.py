"""A study whose host really runs out of something while it measures: the workflow ends with a sentence.

The same command completes the study once there is enough. Earlier records stay as they are, byte for byte.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from plimsoll.host import cgroup
from plimsoll.images import builder

from tests import disks, few
from tests.containers import engines
from tests.project import RUNS, Project
from tests.workflow import machine
from tests.workflow.conftest import SETTINGS
from tests.workflow.test_resource_failures import said

pytestmark = pytest.mark.long
# A traceback of our code. Snakemake prints its own where it cannot write a log.
TRACEBACK = re.compile(r"Traceback (?s:.*)scripts/plimsoll/")
# Cgroup of all containers of the test's own engine: limits there do not concern other containers.
GROUP = "plimsoll-test-engine"


class Running:
    """A small study in a copy of the project, on this machine or on one within it, or in a cgroup."""

    def __init__(self, project: Project, host: machine.Machine | None = None, group: Path | None = None):
        self.project, self.host = project, host
        self.before = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(group)] if group else []
        project.settings = SETTINGS
        project.keep_three_cells()
        # The usual minute is long for a test.
        project.change("scripts/plimsoll/measuring/resources.py", "WAIT_SECONDS = 60.0", "WAIT_SECONDS = 4.0")

    @contextlib.contextmanager
    def started(self) -> Iterator[subprocess.Popen]:
        """Start a workflow, and yield its process. If the test fails, the process is killed and does not keep the
        machine's lock."""
        words = [*self.before, *self.project.command("measurements")]
        process = subprocess.Popen(
            self.host.enter(*words, folder=self.project.folder) if self.host else words,
            cwd=self.project.folder,
            env=self.project.environment,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    def records(self) -> dict[str, bytes]:
        return {path: (self.project.folder / path).read_bytes() for path in self.project.files(RUNS)}

    def breaks_and_completes(self, breaks: Callable[[], None], mends: Callable[[], None]) -> str:
        """Break something after two records, and return the sentence with which the workflow ends.

        Check that the next start completes the study.
        """
        with self.started() as process:
            end = time.monotonic() + 240
            while len(self.project.files(RUNS)) < 2:
                assert time.monotonic() < end and process.poll() is None, process.stdout.read()
                time.sleep(0.02)
            try:
                breaks()
                text, _ = process.communicate(timeout=300)
                kept = self.records()
            finally:
                mends()
        assert process.returncode == 1 and not TRACEBACK.search(text + self.project.log()), text
        with self.started() as process:
            again, _ = process.communicate(timeout=400)
        assert process.returncode == 0 and not TRACEBACK.search(again + self.project.log()), again
        records = self.records()
        assert 2 <= len(kept) < len(records) and kept.items() <= records.items()
        assert len(records) == len(json.loads((self.project.folder / "results/liu2020/plan.json").read_text())["order"])
        assert {json.loads(text)["status"] for text in records.values()} == {"valid"}
        return said(text)[-1]


@contextlib.contextmanager
def disk(project: Project, folder: str) -> Iterator[Path]:
    place = project.folder / folder
    with disks.mounted(project.folder / "disk", place, 64 * 2**20):
        yield place


def again_and_again(change: Callable[[], bool], what: str) -> None:
    """Repeat a change for ten seconds until it succeeds between two runs: the kernel refuses it while a file or memory
    is in use."""
    for _ in range(500):
        if change():
            return
        time.sleep(0.02)
    raise AssertionError(f"{what} was refused for ten seconds")


def test_a_full_disk_of_results_stops_the_study_with_a_sentence(fresh):
    running = Running(fresh)
    with disk(fresh, "results/liu2020") as place:
        sentence = running.breaks_and_completes(lambda: disks.fill(place), (place / "full").unlink)
    assert "is full" in sentence and "free some space, then type the command again" in sentence


def test_results_that_can_no_longer_be_written_stop_the_study_with_a_sentence(fresh):
    def remount(how: str) -> None:
        words = ["mount", "-o", f"remount,{how}", str(place)]
        again_and_again(lambda: not subprocess.run(words, capture_output=True).returncode, f"mounting {place} {how}")

    running = Running(fresh)
    with disk(fresh, "results/liu2020") as place:
        sentence = running.breaks_and_completes(lambda: remount("ro"), lambda: remount("rw"))
    assert "A file system of this host can no longer be written" in sentence and "dmesg" in sentence


def test_a_full_disk_of_the_engine_s_stops_the_study_with_a_sentence(fresh, tmp_path_factory):
    if reason := machine.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("machine")
    with disks.mounted(folder / "disk", folder / "docker", 2**30):
        host = machine.Machine(folder)
        try:
            host.start_engine()
            place = folder / "docker"
            sentence = Running(fresh, host).breaks_and_completes(lambda: disks.fill(place), (place / "full").unlink)
        finally:
            host.remove()
    assert "is full" in sentence and "free some space" in sentence


@pytest.fixture
def apart(tmp_path_factory):
    """A machine with its own engine, whose containers are all below GROUP."""
    if reason := machine.missing():
        pytest.skip(reason)
    host = engines.Machine(tmp_path_factory.mktemp("machine"))
    try:
        with host.engine(builder.build("hpcc", "bootstrap"), **{"cgroup-parent": f"/{GROUP}"}):
            yield host
    finally:
        host.remove()
        cgroup.remove(GROUP)


def test_a_host_without_memory_stops_the_study_with_a_sentence(fresh, apart):
    """All containers together may have less memory than they need."""
    memory = cgroup.mounts().get("memory", Path("/none")) / GROUP / "memory.limit_in_bytes"
    if not memory.parents[1].is_dir():
        pytest.skip("this needs version 1's controller memory")
    memory.parent.mkdir(exist_ok=True)
    usual = memory.read_text()

    def limit(size: str) -> bool:
        with contextlib.suppress(OSError):
            return bool(memory.write_text(size))
        return False

    sentence = Running(fresh, apart).breaks_and_completes(
        lambda: again_and_again(lambda: limit("16M"), "a limit of memory"), lambda: memory.write_text(usual)
    )
    assert "The kernel killed programs because this host had no memory left" in sentence
    assert "Free some memory, or take a smaller profile" in sentence


def test_a_workflow_that_may_start_no_more_processes_ends_with_a_sentence(fresh):
    with few.processes("max") as group:
        now, most = group / "pids.current", group / "pids.max"
        sentence = Running(fresh, group=group).breaks_and_completes(
            lambda: most.write_text(now.read_text()), lambda: most.write_text("max")
        )
    assert "This host starts no more processes" in sentence and "end some" in sentence


def test_containers_that_may_start_no_more_processes_stop_the_study_with_a_sentence(fresh, apart):
    most = few.folder_of_pids() / GROUP / "pids.max"
    most.parent.mkdir(exist_ok=True)
    sentence = Running(fresh, apart).breaks_and_completes(lambda: most.write_text("1"), lambda: most.write_text("max"))
    assert "The Docker engine starts no container" in sentence


def test_a_place_for_temporary_files_that_goes_stops_the_study_with_a_sentence(fresh, tmp_path):
    (place := tmp_path / "temporary").mkdir(mode=0o1777)
    usual = 'TEMPORARY = Path(f"/tmp/.plimsoll-{os.geteuid()}")'
    fresh.change("scripts/plimsoll/measuring/lock.py", usual, f'TEMPORARY = Path("{place}/.plimsoll")')
    gone = tmp_path / "gone"
    sentence = Running(fresh).breaks_and_completes(lambda: place.rename(gone), lambda: gone.rename(place))
    assert f"{place} is not there" in sentence and "make it, with the mode 1777" in sentence

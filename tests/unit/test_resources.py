"""A host that runs out of a resource: each stage ends with a sentence, and never with a traceback."""

import argparse
import errno
import fcntl
import os
import re
import struct
import subprocess
import sys
import threading
import types
from pathlib import Path

import pytest
from plimsoll import __main__ as stages
from plimsoll.errors import Outage, PlimsollError, run_guarded
from plimsoll.measuring import lock, record, stop

from tests import disks, few
from tests.conftest import recorded

NO_THREAD = RuntimeError("can't start new thread")


def stage(error: Exception) -> argparse.Namespace:
    def fails(_: argparse.Namespace) -> None:
        raise error

    return argparse.Namespace(says="", directory=None, stage=fails)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "a disk of this host is full .*: free some space"),
        (OSError(errno.ENOSPC, "No space left on device", "/x/1.json"), "a disk of this host is full .*/x/1.json.*: free some"),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "this host starts no more processes .*: end some"),
        (FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"), "make /tmp, with the mode 1777"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "x.json"),
            "^x.json: No such file or directory. What was measured is kept. Correct the path",
        ),
    ],
)
def test_a_stage_says_what_the_host_lacks(error, sentence):
    with pytest.raises(PlimsollError, match=sentence):
        stages._named(stage(error))


def test_a_stage_that_gets_no_memory_says_so(capsys):
    def fails() -> None:
        raise MemoryError

    assert run_guarded(fails) == 1
    assert (
        capsys.readouterr().err
        == "plimsoll: this host has no memory left. What was measured is kept. Free some memory, or take a smaller profile.\n"
    )


def test_an_error_that_is_not_the_host_s_is_no_sentence():
    with pytest.raises(OSError, match="Bad file descriptor"):
        stages._named(stage(OSError(errno.EBADF, "Bad file descriptor")))


def test_where_no_thread_can_be_started_a_stage_says_so(monkeypatch):
    def refuses(self):
        raise NO_THREAD

    monkeypatch.setattr(threading.Thread, "start", refuses)
    monkeypatch.setattr(stop, "_starter", os.getppid)
    with pytest.raises(PlimsollError, match="this host starts no more processes .*: end some"):
        stages._named(stage(AssertionError("it began")))


def test_a_place_for_temporary_files_that_is_gone_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "TEMPORARY", tmp_path / "gone/.plimsoll")
    with pytest.raises(Outage, match=f"{tmp_path}/gone is not there: make it, with the mode 1777"):
        lock.temporary_folder("1")
    (tmp_path / "gone").mkdir()
    assert lock.temporary_folder("1") == tmp_path / "gone/.plimsoll/1"


def test_a_record_has_its_name_on_the_disk_before_it_counts(tmp_path, monkeypatch):
    """A name that is only in memory is lost in a power failure. Therefore the record's folder, and folders made for it,
    are written to the disk too."""
    written = []
    monkeypatch.setattr(record.os, "fsync", lambda number: written.append(Path(os.readlink(f"/proc/self/fd/{number}"))))
    path = tmp_path / "a/b/1.json"
    record.write(path, {})
    assert written == [path.with_name(".1.json.new"), path.parent, tmp_path / "a", tmp_path]
    written.clear()
    record.write(path, {})
    assert written == [path.with_name(".1.json.new"), path.parent]


def test_a_folder_without_data_of_its_own_is_no_problem(tmp_path, monkeypatch):
    def refuses(number):
        if os.path.isdir(f"/proc/self/fd/{number}"):
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(record.os, "fsync", refuses)
    record.write(tmp_path / "1.json", {})
    assert (tmp_path / "1.json").is_file()


# These end a file system as a power failure does, without what is still in memory (ext4's EXT4_IOC_SHUTDOWN,
# EXT4_GOING_FLAGS_NOLOGFLUSH).
SHUTDOWN, WITHOUT_LOG = 0x8004587D, 2


@pytest.fixture
def disk(tmp_path, synced):
    """Yield a small disk with a file system: `place` is its folder, and `cut` switches it off and on."""
    place = tmp_path / "place"
    with disks.mounted(tmp_path / "disk", place, 32 * 2**20) as mount:

        def cut():
            descriptor = os.open(place, os.O_RDONLY)
            try:
                fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", WITHOUT_LOG))
            finally:
                os.close(descriptor)
            subprocess.run(["umount", str(place)], check=True)
            subprocess.run(mount, check=True)

        yield types.SimpleNamespace(place=place, cut=cut)


def test_a_record_that_was_written_survives_a_power_failure(disk):
    made = recorded(status="valid")
    path = disk.place / "runs/a/b/1.json"
    record.keep(path, made)
    (disk.place / "runs/a/b/2.json").write_text("data that had not reached the disk")
    disk.cut()
    assert record.read(path) == made
    # This shows that the test can fail: what was only in memory is gone.
    assert not (disk.place / "runs/a/b/2.json").exists()


@pytest.fixture
def few_processes():
    """Yield the file by which a process enters a cgroup of at most two processes or threads."""
    with few.processes("2") as group:
        yield group / "cgroup.procs"


def test_with_too_few_open_files_a_stage_ends_with_a_sentence(tmp_path):
    command = f"ulimit -n 6; exec {sys.executable} -m plimsoll.cli list --directory {tmp_path}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=100)
    assert done.returncode == 1
    assert re.fullmatch(r"plimsoll: this process may open no more files \(.*\): raise its limit \(ulimit -n\).\n", done.stderr)


@pytest.mark.parametrize(
    "words", [".cli list --directory {}", " --directory {} image --name hpcc --base bootstrap --output /dev/null"]
)
def test_without_processes_a_stage_ends_in_bounded_time_and_with_no_traceback(few_processes, tmp_path, words):
    command = f"echo $$ >{few_processes}; exec {sys.executable} -m plimsoll{words.format(tmp_path)}"
    environment = {**os.environ, "PLIMSOLL_IMAGES": str(tmp_path / "images")}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=100, env=environment)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1) and (done.returncode == 0 or done.stderr.splitlines()[-1].startswith("plimsoll: "))

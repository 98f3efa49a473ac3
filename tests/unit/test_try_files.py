"""Files that are packed for a user's program: what a trace shows, links out of the copied folder, and the archive."""

import os
import shutil
import subprocess
import tarfile
from types import SimpleNamespace

import pytest
from plimsoll.errors import PlimsollError
from plimsoll.features.try_program import files, timer

from tests.unit import test_try_runs as runs
from tests.unit.test_program import of_command

traced = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")


def test_a_trace_of_one_process_is_read_and_its_names_are_those_of_the_files(tmp_path):
    trace = (
        'execve("/usr/bin/python3", ["python3"], 0x7f /* 9 vars */) = 0\n'
        'openat(AT_FDCWD</work/d\\303\\251j\\303\\240>, "\\303\\244 \\"b\\".txt", O_RDONLY) = 3</work/x>\n'
        'openat(AT_FDCWD</work>, "\\377\\\\n", O_RDONLY) = 3</work/x>\n'
        'openat(AT_FDCWD</work>, "split", O_RDONLY <unfinished ...>\n'
        'readlink("/etc/localtime", "/usr/share/zoneinfo/UTC", 4095) = 23\n'
    )
    found = list(map(str, files._of_trace(trace, tmp_path)))
    raw = os.fsdecode(b"/work/\xff\\n")
    assert found == ["/usr/bin/python3", '/work/déjà/ä "b".txt', raw, "/etc/localtime"]


@traced
def test_files_of_many_processes_at_once_are_all_seen(tmp_path):
    names = [f"é {number}.txt" for number in range(40)]
    for name in names:
        (tmp_path / name).touch()
    command = 'for name in *.txt; do cat "$name" & done; wait'.replace("*", f"'{tmp_path}'/*")
    found = files._opened(of_command("sh", "-c", command, limit=60.0))
    assert {path.name for path in found if path.parent == tmp_path} == set(names)


@traced
def test_what_links_in_the_copied_folder_lead_to_is_packed(tmp_path):
    folder, outside = tmp_path / "case", tmp_path / "outside"
    folder.mkdir()
    (outside / "deep").mkdir(parents=True)
    for name in ("plain.txt", "deep/other.txt", "unused.txt"):
        (outside / name).touch()
    (folder / "file").symlink_to(outside / "plain.txt")
    (folder / "again").symlink_to("file")
    (folder / "folder").symlink_to(outside / "deep")
    (folder / "own.txt").touch()
    (folder / "loop").symlink_to("loop")
    command = "cat again folder/other.txt own.txt; readlink loop"
    found = files._opened(of_command("sh", "-c", command, folder=folder, limit=60.0))
    assert sorted(path for path in found if path.is_relative_to(tmp_path)) == [
        outside / "deep/other.txt",
        outside / "plain.txt",
    ]


@traced
def test_a_path_of_the_user_does_not_hide_what_traces(tmp_path):
    (tmp_path / "opened").touch()
    words = ("/bin/sh", "-c", f": <{tmp_path}/opened")
    asked = of_command(*words, variables={"PATH": "/nowhere"}, limit=60.0)
    assert tmp_path / "opened" in files._opened(asked)
    beside = of_command("/bin/true", beside=words, variables={"PATH": "/nowhere"}, limit=60.0)
    assert tmp_path / "opened" in files._of_neighbour(beside)


@traced
def test_a_watched_run_that_reached_its_limit_is_told(tmp_path):
    told = []
    files._opened(of_command("sleep", "2469", limit=0.2), told.append)
    assert len(told) == 1 and "did not end within 0.6 s, so the list of files may be incomplete" in told[0]
    files._opened(of_command("true", limit=60.0), told.append)
    assert len(told) == 1
    assert not subprocess.run(["pgrep", "-f", "^sleep 2469$"], capture_output=True).stdout


@traced
def test_a_watched_run_that_fills_the_disk_is_ended_and_told(monkeypatch):
    runs.fill_early(monkeypatch)
    wanted = r"^It was stopped before the disk of its working folder .* \(while its files were watched\): nothing was measured"
    with pytest.raises(PlimsollError, match=wanted):
        files._opened(of_command("sh", "-c", runs.FILLS.format(2470), limit=60.0))
    assert not runs.running("sleep 2470")


@pytest.mark.parametrize("there", [True, False])
def test_what_finds_the_files_is_told_before(monkeypatch, there):
    told, which = [], shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **more: which(name, **more) if there or name != "strace" else None)
    monkeypatch.setattr(files, "_opened", lambda *_: [])
    assert files.needed(of_command("true"), told.append)
    assert told[0].startswith("A run is watched" if there else "No run is watched") and ("strace" in told[0]) != there


@pytest.mark.parametrize(
    ("owner", "mode", "kept"),
    [((0, 0), 0o6755, 0o6755), ((1000, 1000), 0o6755, 0o755), ((0, 101), 0o6755, 0o4755), ((0, 101), 0o755, 0o755)],
)
def test_what_runs_as_another_user_does_not_run_as_root(tmp_path, owner, mode, kept):
    def described(path, name):
        member = tarfile.TarInfo(name)
        (member.uid, member.gid), member.mode = owner, mode
        return member

    (tmp_path / "program").touch()
    member, *opened = files._member(SimpleNamespace(gettarinfo=described), "program", tmp_path / "program")
    assert member.mode == kept and member.uid == member.gid == 0
    for file in opened:
        file.close()


def test_the_timer_is_that_of_this_kind_of_machine():
    assert timer.program_path().name.endswith(f"-{os.uname().machine}")

"""The machine's lock and the markers of users who measure, with several processes and users."""

import os
import pwd
import subprocess
import sys
import time
from pathlib import Path

import pytest
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.host import machine_lock
from plimsoll.measuring import lock

from tests.conftest import PROJECT

NOBODY = 65534
NAME = pwd.getpwuid(NOBODY).pw_name
HOLDS = """
import sys
import time
from pathlib import Path
from plimsoll.host import machine_lock
machine_lock.FOLDERS = (Path(sys.argv[1]),)
with machine_lock.hold(lambda holder: print("waits for", holder, flush=True)):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(path.stat().st_mode | 0o711)
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(machine_lock, "FOLDERS", (tmp_path,))
    monkeypatch.setattr(lock, "kill_strays", lambda: None)
    monkeypatch.setattr(lock, "remove_folders", lambda: None)
    monkeypatch.setattr(lock.cgroup, "put_back", lambda mounted: None)
    # This user has swept since the machine started.
    machine_lock.note_sweep(whole=True)
    return tmp_path


def another(folder: Path) -> subprocess.Popen:
    """Start a process that holds the lock, or waits for it, until its standard input is closed."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "scripts")}
    words = [sys.executable, "-c", HOLDS, str(folder)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def test_one_holds_it_and_the_next_is_told_whom_it_waits_for(folder):
    first = another(folder)
    assert first.stdout.readline() == "held\n"
    assert not machine_lock.free()
    second = another(folder)
    assert second.stdout.readline() == f"waits for {machine_lock.user_of(Path('/proc/self'))}, process {first.pid}\n"
    first.communicate()
    assert second.stdout.readline() == "held\n"
    second.communicate()
    assert machine_lock.free()


def test_reading_is_enough_and_a_private_file_is_made_readable_by_its_owner(folder, monkeypatch):
    before = os.umask(0o077)
    try:
        with machine_lock.hold(pytest.fail):
            assert (folder / machine_lock.LOCK).stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)


def test_a_lock_that_was_removed_meanwhile_keeps_nobody_out(folder):
    first = another(folder)
    first.stdout.readline()
    (folder / machine_lock.LOCK).unlink()
    with machine_lock.hold(pytest.fail):
        assert (folder / machine_lock.LOCK).exists()
    first.communicate()


def test_a_link_is_no_lock(folder):
    (folder / machine_lock.LOCK).symlink_to(folder / "elsewhere")
    with (
        pytest.raises(PlimsollError, match="cannot be read .* nothing was measured. Let .* or root remove it"),
        machine_lock.hold(pytest.fail),
    ):
        pass


def test_a_folder_that_not_everybody_may_write_is_passed_over(tmp_path, monkeypatch):
    private, public = tmp_path / "private", tmp_path / "public"
    private.mkdir(0o755)
    public.mkdir()
    public.chmod(0o1777)
    monkeypatch.setattr(machine_lock, "FOLDERS", (tmp_path / "missing", private, public))
    assert machine_lock.folder() == public
    monkeypatch.setattr(machine_lock, "FOLDERS", (private,))
    with pytest.raises(PlimsollError, match=r"neither .*private lets every user make files.* mode 1777"):
        machine_lock.folder()


class Noted:
    has_containers = True
    swept = 0

    def sweep(self):
        self.swept += 1


def own() -> Path:
    return machine_lock.folder() / f"{machine_lock.MARK}.{os.geteuid()}"


def mark_of_nobody(folder: Path, number: int) -> Path:
    """Make a file of the user `nobody`, with the name of the marker of user `number`."""
    path = folder / f"{machine_lock.MARK}.{number}"
    path.touch()
    os.chown(path, NOBODY, NOBODY)
    return path


def test_what_a_killed_measurement_left_is_swept_once(folder):
    noted = Noted()
    machine_lock.mark()
    with lock.machine(lambda: {"noted": noted}):
        assert own().exists()
    assert noted.swept == 1 and not machine_lock.marks()
    with pytest.raises(KeyError), lock.machine(lambda: {"noted": noted}):
        raise KeyError
    assert noted.swept == 1 and machine_lock.marks() == {os.geteuid(): own()}


def test_what_another_has_called_like_a_mark_is_none_and_is_told_where_it_is_in_the_way(folder):
    noted = Noted()
    (folder / f"{machine_lock.MARK}.x").mkdir()
    (folder / f"{machine_lock.MARK}.4242").touch()
    with lock.machine(lambda: {"noted": noted}):
        pass
    assert noted.swept == 0 and machine_lock.marks() == {}
    (folder / "elsewhere").touch()
    for stands_in_the_way in (lambda: own().mkdir(), lambda: own().symlink_to(folder / "elsewhere")):
        stands_in_the_way()
        with pytest.raises(PlimsollError, match="cannot be made .* Let its owner or root remove it"), lock.machine():
            pass
        own().unlink() if own().is_symlink() else own().rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave something as another user")
def test_a_mark_of_another_user_s_is_not_taken_for_one_s_own_though_everybody_may_write_it(folder, monkeypatch):
    mark_of_nobody(folder, 12345).chmod(0o666)
    started = folder / f"{machine_lock.STARTED}.12345"
    started.touch()
    os.chown(started, 12345, 12345)
    monkeypatch.setattr(machine_lock.os, "geteuid", lambda: 12345)
    with pytest.raises(PlimsollError, match=f"plimsoll.measuring.12345 belongs to {NAME}, and cannot be used"), lock.machine():
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave something as another user")
def test_another_user_s_mark_is_told_and_left_and_root_sweeps_what_root_can(folder, monkeypatch):
    mark_of_nobody(folder, NOBODY)
    noted = Noted()
    with monkeypatch.context() as patch:
        patch.setattr(machine_lock.os, "geteuid", lambda: 12345)
        assert f"a measurement of {NAME} on this machine was killed" in lock.left_by_others()
        assert machine_lock.to_sweep() == []
    assert f"a measurement of {NAME}" in lock.left_by_others()
    for _ in range(2):
        with lock.machine(lambda: {"noted": noted}):
            pass
        assert noted.swept == 1 and lock.left_by_others() == ""
    # Leftovers that only this user can remove are removed when the user measures again.
    with monkeypatch.context() as patch:
        patch.setattr(machine_lock.os, "geteuid", lambda: NOBODY)
        assert [path.name for path in machine_lock.to_sweep()] == [f"{machine_lock.SWEPT}.{NOBODY}"]
        machine_lock.swept(machine_lock.to_sweep())
        assert machine_lock.to_sweep() == []


def test_a_folder_that_another_has_made_is_not_taken_for_one_s_own(tmp_path, monkeypatch):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "folder"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / "kept").touch()
    folder.symlink_to(elsewhere)
    monkeypatch.setattr(lock, "TEMPORARY", folder)
    with pytest.raises(PlimsollError, match="is not a folder of this user's alone"):
        lock.temporary_folder("x")
    lock.remove_folders()
    assert (elsewhere / "kept").exists()
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(PlimsollError, match="is not a folder of this user's alone"):
        lock.temporary_folder("x")
    folder.rmdir()
    assert lock.temporary_folder("x").stat().st_mode & 0o777 == folder.stat().st_mode & 0o777 == 0o700


def test_what_was_left_when_the_machine_was_switched_off_is_swept_although_its_mark_is_gone(folder):
    noted = Noted()
    # As after a restart of a machine whose folder is in memory.
    for path in folder.iterdir():
        path.unlink()
    for _ in range(2):
        with lock.machine(lambda: {"noted": noted}):
            pass
        assert noted.swept == 1


class Stays(Noted):
    problem = "the engine does not answer"

    def sweep(self):
        super().sweep()
        if self.problem:
            raise Unavailable(self.problem)


def test_what_could_not_be_removed_is_tried_again_after_a_while_and_said_where_a_run_was_killed(folder, capsys):
    stays = Stays()

    def measures(seconds: float = 0.0):
        for path in folder.glob(f"{machine_lock.STAYED}.*"):
            os.utime(path, (time.time() - seconds,) * 2)
        with lock.machine(lambda: {"stays": stays}):
            pass
        return stays.swept

    machine_lock.mark()
    assert measures() == 1
    said = "plimsoll: left over from a killed run, and not removed: the engine does not answer. The next run tries again.\n"
    assert capsys.readouterr().err == said
    # Trying at once again would cost every run time.
    assert measures() == 1
    assert measures(machine_lock.AGAIN_SECONDS + 1) == 2
    assert capsys.readouterr().err == ""
    stays.problem = None
    assert measures(machine_lock.AGAIN_SECONDS + 1) == 3
    assert measures(machine_lock.AGAIN_SECONDS + 1) == 3

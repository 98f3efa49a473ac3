"""Files in folders into which measured programs write too: nothing that they put there is followed or waited for."""

import os
import stat
import subprocess
import sys

import pytest
from plimsoll.designs.splitting import ranks
from plimsoll.errors import Unavailable
from plimsoll.host import private, run_files
from plimsoll.measuring import process
from plimsoll.runtimes.guests import agent
from plimsoll.workloads import loop, program_output
from plimsoll.workloads.base import InvalidOutput


@pytest.fixture
def outside(tmp_path):
    """Return a file of the host that no run may touch."""
    (folder := tmp_path / "outside").mkdir()
    (folder / "file").write_text("the host's\n")
    return folder / "file"


def test_a_link_in_the_place_of_a_new_file_goes_and_what_it_led_to_stays(tmp_path, outside):
    (link := tmp_path / "stdout.txt").symlink_to(outside)
    with run_files.new_file(link) as file:
        file.write(b"printed")
    assert not link.is_symlink() and link.read_text() == "printed" and outside.read_text() == "the host's\n"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("nowhere"), lambda path: path.write_text("before")])
def test_a_new_file_is_whole_and_has_its_mode_whatever_was_there(tmp_path, make):
    make(tmp_path / "agent.sh")
    before = os.umask(0o077)
    try:
        assert run_files.write(tmp_path / "agent.sh", "new", 0o755) == tmp_path / "agent.sh"
    finally:
        os.umask(before)
    found = (tmp_path / "agent.sh").lstat()
    assert (tmp_path / "agent.sh").read_bytes() == b"new" and found.st_mode == 0o100755


def test_a_folder_that_has_the_name_is_refused(tmp_path, outside):
    (tmp_path / "beff").mkdir()
    (tmp_path / "fft").symlink_to(outside.parent)
    for make in (run_files.new_folder, run_files.new_file):
        with pytest.raises(
            Unavailable, match="a program of the run has changed .*, its folder, so that beff could not be made there"
        ):
            make(tmp_path / "beff")
    with pytest.raises(Unavailable, match="so that fft could not"):
        run_files.new_folder(tmp_path / "fft")
    assert run_files.new_folder(tmp_path / "dgemm").is_dir()


def a_device(path):
    """Make a null device, which always exists and from which nothing can be read."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("a device needs root")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, a_device, lambda path: path.symlink_to(path.parent / "outside/file")])
def test_what_is_no_file_of_a_program_s_is_neither_read_nor_waited_for(tmp_path, outside, make):
    make(tmp_path / "stderr.txt")
    assert program_output.last_line(tmp_path / "stderr.txt", "it said nothing") == "it said nothing"
    with pytest.raises(InvalidOutput, match=r"it left no stderr\.txt"):
        program_output.text_of(tmp_path / "stderr.txt")


def test_a_file_in_a_folder_that_is_a_link_is_not_read(tmp_path, outside):
    (tmp_path / "ranks").symlink_to(outside.parent)
    assert program_output.last_lines(outside) == ["the host's"]
    assert program_output.last_lines(tmp_path / "ranks/file") == []
    with pytest.raises(InvalidOutput, match="it left no file"):
        program_output.text_of(tmp_path / "ranks/file")


def test_a_folder_that_has_gone_or_is_a_link_gets_no_new_file(tmp_path, outside):
    (tmp_path / "ranks").symlink_to(outside.parent)
    for path in (tmp_path / "ranks/file", tmp_path / "gone/file", outside / "file"):
        with pytest.raises(Unavailable, match="so that file could not be made there"):
            run_files.new_file(path)
    with pytest.raises(Unavailable, match="changed gone, its folder"):
        run_files.new_folder(tmp_path / "gone/folder")
    assert outside.read_text() == "the host's\n"


def test_only_long_files_of_the_run_s_folder_are_cut(tmp_path, outside):
    (folder := tmp_path / "run").mkdir()
    outside.write_bytes(bytes(100))
    (folder / "long").write_bytes(bytes(100))
    (folder / "short").write_bytes(bytes(10))
    (folder / "link").symlink_to(outside)
    (folder / "folder").symlink_to(outside.parent)
    os.mkfifo(folder / "pipe")
    assert sorted(path.name for path in run_files.files_below(folder)) == ["long", "short"]
    assert list(run_files.files_below(folder / "folder")) == list(run_files.files_below(folder / "gone")) == []
    assert run_files.cut(folder / "long", 50, 20) and not run_files.cut(folder / "short", 50, 20)
    assert (folder / "long").stat().st_size == 20 and (folder / "short").stat().st_size == 10
    for name in ("link", "folder/file", "pipe", "gone"):
        assert not run_files.cut(folder / name, 50, 20)
    assert outside.stat().st_size == 100


@pytest.fixture
def deep(tmp_path):
    """Yield a folder that contains others, nested more deeply than a path can say."""
    (folder := tmp_path / "deep").mkdir()
    words = "for each in range(3000):\n    os.mkdir('folder')\n    os.chdir('folder')\nopen('file', 'w').write('x' * 100)"
    subprocess.run([sys.executable, "-c", f"import os\n{words}"], cwd=folder, check=True)
    (folder / "file").write_bytes(bytes(100))
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def test_folders_may_be_nested_as_deeply_as_somebody_likes(deep):
    assert list(run_files.files_below(deep)) == [deep / "file"]
    process.cut(deep, 50)
    private.remove(deep)
    assert not deep.exists()


def test_what_another_node_has_put_in_the_way_of_a_guest_s_answer_is_not_followed(tmp_path, outside):
    (folder := tmp_path / "run").mkdir()
    agent._put(b"new", folder, "a/b/file")
    agent._put(b"newer", folder, "a/b/file")
    assert (folder / "a/b/file").read_bytes() == b"newer"
    (folder / "a/link").symlink_to(outside.parent)
    (folder / "file").symlink_to(outside)
    with pytest.raises(OSError):
        agent._put(b"x", folder, "a/link/file")
    agent._put(b"x", folder, "file")
    assert (folder / "file").read_bytes() == b"x" and not (folder / "file").is_symlink()
    assert outside.read_text() == "the host's\n"


def test_only_files_say_when_ranks_began(tmp_path):
    (tmp_path / "ranks").mkdir()
    for rank in (0, 1):
        (tmp_path / f"ranks/{rank}.begun").touch()
        os.utime(tmp_path / f"ranks/{rank}.begun", (50 + rank, 50 + rank))
    assert ranks.begin_moment(tmp_path, 2) == 51 and ranks.begin_moment(tmp_path, 3) is None
    (tmp_path / "ranks/2.begun").symlink_to("nowhere")
    assert ranks.begin_moment(tmp_path, 3) is None and ranks.begin_moment(tmp_path, 2) == 51


def test_a_folder_of_iterations_that_has_gone_or_has_odd_names_is_no_traceback(tmp_path):
    for name in ("\u00b2.out", "3.out", "99999999999.out"):
        (tmp_path / name).touch()
    assert loop.printed_now(tmp_path) == [tmp_path / "3.out", tmp_path / "3.err"]
    with pytest.raises(InvalidOutput, match="the folder gone of its iterations has gone"):
        loop.printed_now(tmp_path / "gone")

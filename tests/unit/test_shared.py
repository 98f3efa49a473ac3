"""Files in folders into which what is measured writes too: nothing that it has put there is followed or waited for."""

import os

import pytest
from plimsoll.errors import Unavailable
from plimsoll.host import shared
from plimsoll.workloads import printed
from plimsoll.workloads.base import InvalidOutput


@pytest.fixture
def outside(tmp_path):
    """A file that is nobody's but the host's."""
    (folder := tmp_path / "outside").mkdir()
    (folder / "file").write_text("the host's\n")
    return folder / "file"


def test_a_link_in_the_place_of_a_new_file_goes_and_what_it_led_to_stays(tmp_path, outside):
    (link := tmp_path / "stdout.txt").symlink_to(outside)
    with shared.new_file(link) as file:
        file.write(b"printed")
    assert not link.is_symlink() and link.read_text() == "printed" and outside.read_text() == "the host's\n"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("nowhere"), lambda path: path.write_text("before")])
def test_a_new_file_is_whole_and_has_its_mode_whatever_was_there(tmp_path, make):
    make(tmp_path / "agent.sh")
    before = os.umask(0o077)
    try:
        assert shared.write(tmp_path / "agent.sh", "new", 0o755) == tmp_path / "agent.sh"
    finally:
        os.umask(before)
    found = (tmp_path / "agent.sh").lstat()
    assert (tmp_path / "agent.sh").read_bytes() == b"new" and found.st_mode == 0o100755


def test_a_folder_that_has_the_name_is_refused(tmp_path, outside):
    (tmp_path / "beff").mkdir()
    (tmp_path / "fft").symlink_to(outside.parent)
    for make in (shared.new_folder, shared.new_file):
        with pytest.raises(Unavailable, match="what was measured before has made beff in the run's folder"):
            make(tmp_path / "beff")
    with pytest.raises(Unavailable, match="has made fft"):
        shared.new_folder(tmp_path / "fft")
    assert shared.new_folder(tmp_path / "dgemm").is_dir()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to(path.parent / "outside/file")])
def test_what_is_no_file_of_a_program_s_is_neither_read_nor_waited_for(tmp_path, outside, make):
    make(tmp_path / "stderr.txt")
    assert printed.last_line(tmp_path / "stderr.txt", "it said nothing") == "it said nothing"
    with pytest.raises(InvalidOutput, match=r"it left no stderr\.txt"):
        printed.text_of(tmp_path / "stderr.txt")


def test_a_file_in_a_folder_that_is_a_link_is_not_read(tmp_path, outside):
    (tmp_path / "ranks").symlink_to(outside.parent)
    assert printed.last_lines(outside) == ["the host's"]
    assert printed.last_lines(tmp_path / "ranks/file") == []
    with pytest.raises(InvalidOutput, match="it left no file"):
        printed.text_of(tmp_path / "ranks/file")

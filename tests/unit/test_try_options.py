"""What `plimsoll try` refuses before anything is run: options, words of commands, and folders that cannot be copied."""

import os

import pytest
from plimsoll.errors import PlimsollError
from plimsoll.features.try_program import folder_copy, study, study_options


@pytest.mark.parametrize("file", ["/out.json", "../out.json", "a/../../out.json", "/tmp/x/out.json"])
def test_a_json_file_of_a_metric_is_in_the_folder_of_a_run(file):
    with pytest.raises(PlimsollError, match="is not in the folder that the program works in.*x=out.json:KEY"):
        study_options.metric(f"x={file}:key", "lower")


def test_a_metric_of_a_json_file_has_a_key():
    with pytest.raises(PlimsollError, match="the key in 'out.json' is missing"):
        study_options.metric("x=out.json:", "lower")
    assert study_options.metric("x=a/./out.json:b", "lower")[2:] == (None, "a/./out.json", "b")


@pytest.mark.parametrize("number", [0, -1, 1e-7, 0.0009, 1e6, float("nan")])
def test_numbers_that_are_of_no_use_are_refused(number):
    with pytest.raises(PlimsollError, match="--limit"):
        study_options.positive(number, "--limit")
    assert study_options.positive(0.001, "--limit") == 0.001


@pytest.mark.parametrize("option", ["--image", "--packages", "--check", "--beside"])
@pytest.mark.parametrize("value", ["", " ", ","])
def test_the_value_of_an_unset_variable_is_refused(option, value):
    with pytest.raises(PlimsollError, match=f"^{option} has an empty value. Nothing was measured."):
        study_options.refuse_empty({"--image": None, "--packages": "x", option: value})
    study_options.refuse_empty({option: None, "--image": "x"})


@pytest.fixture
def input_from():
    """Return a function that makes a file the standard input of this process, until the test ends."""
    kept = os.dup(0)

    def read(path: str) -> None:
        opened = os.open(path, os.O_RDONLY)
        os.dup2(opened, 0)
        os.close(opened)

    yield read
    os.dup2(kept, 0)
    os.close(kept)


def test_a_file_as_standard_input_is_refused_and_others_are_not(tmp_path, input_from):
    (tmp_path / "words.txt").write_text("b\na\n")
    input_from(str(tmp_path / "words.txt"))
    with pytest.raises(PlimsollError) as refused:
        study_options.refuse_input(("sort", "-k", "a b"))
    assert """sh -c 'sort -k '"'"'a b'"'"' < FILE'""" in str(refused.value)
    input_from("/dev/null")
    study_options.refuse_input(("sort",))
    reading, writing = os.pipe()
    input_from(f"/proc/self/fd/{reading}")
    study_options.refuse_input(("sort",))
    os.close(reading)
    os.close(writing)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with a file, and files beside it."""
    folder = tmp_path / "here"
    (folder / "in").mkdir(parents=True)
    (folder / "in/case.txt").touch()
    (tmp_path / "beside.txt").touch()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(study_options, "OF_HOST_ALONE", ())
    return folder


@pytest.mark.parametrize("words", [("ls", ".."), ("cat", "../beside.txt"), ("cat", "in/case.txt", "in/../../beside.txt")])
def test_a_word_that_leads_out_of_the_folder_is_refused(here, words):
    with pytest.raises(PlimsollError, match=r"is outside of .*here, and each run has a folder of its own"):
        study_options.folder_of(words, None)
    with pytest.raises(PlimsollError, match="is outside of"):
        study_options.folder_of(("cat",), None, words)


def test_words_that_lead_nowhere_or_stay_in_the_folder_are_no_reason_to_refuse(here):
    assert study_options.folder_of(("cat", "../missing", "--in=../x", "in/../in/case.txt"), None) == here
    assert study_options.folder_of(("cat", "/etc/passwd", "..."), None) is None


def test_an_absolute_path_in_the_folder_that_is_copied_is_refused_with_the_relative_one(here, tmp_path):
    (tmp_path / "link").symlink_to("here")
    for path in (here / "in/case.txt", tmp_path / "link/in/case.txt"):
        with pytest.raises(PlimsollError, match=r"containers do not have it at this path. .* Type \./in/case\.txt\."):
            study_options.folder_of(("./in", str(path)), None)
        with pytest.raises(PlimsollError, match=r"Type \./in/case\.txt\."):
            study_options.folder_of(("cat", str(path)), here)
        # Nothing is copied.
        assert study_options.folder_of(("cat", str(path)), None) is None
    # A check runs on this host.
    assert study_options.folder_of(("cat", "in/case.txt"), None, (str(here / "in/case.txt"),)) == here


def test_a_file_of_a_folder_that_containers_do_not_have_is_refused(here, tmp_path, monkeypatch):
    monkeypatch.setattr(study_options, "OF_HOST_ALONE", (str(tmp_path),))
    with pytest.raises(PlimsollError, match="containers have nothing of that folder"):
        study_options.folder_of(("cat", str(tmp_path / "beside.txt")), None)
    assert study_options.folder_of(("cat", str(tmp_path), str(tmp_path / "new.txt")), None) is None


def test_a_file_that_only_the_check_names_makes_the_folder_be_copied(here):
    (here / "ok.sh").touch()
    assert study_options.folder_of(("echo", "1"), None) is None
    assert study_options.folder_of(("echo", "1"), None, ("./ok.sh",)) == here


def test_a_file_to_write_in_a_folder_of_others_is_refused(tmp_path, monkeypatch):
    allowed = []
    monkeypatch.setattr(study_options.os, "access", lambda path, how: path in allowed)
    with pytest.raises(PlimsollError, match="--junit .*: you may not write it. Nothing was measured."):
        study_options.refuse_unwritable(tmp_path / "out.xml", "--junit")
    (tmp_path / "out.xml").touch()
    allowed.append(tmp_path / "out.xml")
    study_options.refuse_unwritable(tmp_path / "out.xml", "--junit")


def test_a_relative_link_that_leads_out_of_the_folder_is_refused(here, tmp_path):
    (here / "in/inner").symlink_to("../in/case.txt")
    (here / "absolute").symlink_to(tmp_path / "beside.txt")
    (here / "dangling").symlink_to("../missing")
    assert here / "absolute" in list(folder_copy.paths(here))
    (here / "in/outer").symlink_to("../../beside.txt")
    with pytest.raises(PlimsollError, match=r"in/outer is a link to \.\./\.\./beside\.txt, which is not in the folder"):
        list(folder_copy.paths(here))
    with pytest.raises(PlimsollError, match="in/outer is a link"):
        study_options.folder_of(("cat",), here)


def test_the_digest_of_a_folder_takes_names_that_are_not_utf_8(tmp_path):
    with open(os.fsencode(tmp_path) + b"/\xff", "w") as file:
        file.write("1")
    os.symlink(b"\xfe", os.fsencode(tmp_path) + b"/link")
    first = study.digest_of(tmp_path)
    os.rename(os.fsencode(tmp_path) + b"/\xff", os.fsencode(tmp_path) + b"/\xfd")
    assert study.digest_of(tmp_path) != first


@pytest.mark.parametrize(("number", "allowed"), [(-1, False), (0, False), (1, True), (4, True), (5, False), (10**6, False)])
def test_threads_have_a_processor_each(monkeypatch, number, allowed):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 4, 6})
    if allowed:
        assert study_options.of_threads(number)["OMP_NUM_THREADS"] == str(number)
        return
    with pytest.raises(PlimsollError, match=f"--threads {number}: this host has 4 processors, .* Give a number from 1 to 4."):
        study_options.of_threads(number)


def test_without_a_number_threads_are_the_programs_own():
    assert study_options.of_threads(None) == {}

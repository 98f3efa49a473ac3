"""A stage says what it does when it begins and while it takes long, but not afterwards."""

import time

from plimsoll.__main__ import main
from plimsoll.terminal import stage_messages


def test_it_is_said_at_once_and_again_until_it_is_done(capsys):
    with stage_messages.announce("image: building it", every=0.1):
        assert capsys.readouterr().err == "image: building it\n"
        time.sleep(0.35)
    said = capsys.readouterr().err.splitlines()
    assert 2 <= len(said) <= 3 and all(line.startswith("image: building it: ") and line.endswith(" s") for line in said)
    time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_a_stage_that_fails_is_silent_afterwards(capsys):
    try:
        with stage_messages.announce("report", every=0.05):
            raise ValueError
    except ValueError:
        capsys.readouterr()
    time.sleep(0.12)
    assert capsys.readouterr().err == ""


def test_each_figure_says_which_of_how_many_it_is(tmp_path):
    stage_messages.note_figures(tmp_path, [("liu2020", "fig05"), ("liu2020", "fig06"), ("jha2021", "fig05")])
    assert stage_messages.place(tmp_path, "liu2020", "fig06") == "1 of 2"
    # A figure that is drawn again after a failure keeps its place.
    assert stage_messages.place(tmp_path, "liu2020", "fig06") == "1 of 2"
    assert stage_messages.place(tmp_path, "liu2020", "fig05") == "2 of 2"
    assert stage_messages.place(tmp_path, "jha2021", "fig05") == "1 of 1"
    assert stage_messages.place(tmp_path, "jha2021", "fig06") == "" == stage_messages.place(tmp_path, "jha2018", "fig05")
    stage_messages.note_figures(tmp_path, [("liu2020", "fig05")])
    assert stage_messages.place(tmp_path, "liu2020", "fig05") == "1 of 1"


def test_stages_say_what_they_do(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    assert main(["host", "--json", "results/host.json", "--table", "results/host.txt", "--runtimes"]) == 0
    assert capsys.readouterr().err.splitlines()[0] == "host: looking at this machine"

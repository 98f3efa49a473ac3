import json

from plimsoll import progress


def test_time_left_is_that_of_the_same_cells():
    queue = ["a/1", "b/1", "a/2", "b/2", "c/1"]
    done = [["a/1", 2.0, 102.0], ["b/1", 10.0, 112.0]]
    # a again 2, b again 10, c not known: the mean 6
    assert progress.remaining(queue, done) == 18
    # and half a second between two runs
    assert progress.remaining(queue, [done[0], ["b/1", 10.0, 112.5]]) == 18 + 3 * 0.5


def test_a_line_says_which_of_how_many_and_what(tmp_path, capsys):
    progress.begin(tmp_path, [f"uma/exact/E1/docker/any/beff/{n}" for n in range(1, 12)])
    progress.finish(tmp_path, "uma/exact/E1/docker/any/beff/1", 3.0, "valid", "")
    line = capsys.readouterr().err
    assert line.startswith("[ 1/11] uma/exact/E1/docker/any/beff/1 ")
    assert "valid" in line and line.rstrip().endswith("0:30 left")
    assert line.strip() in (tmp_path / "measure.log").read_text()


def test_a_second_start_counts_anew_and_keeps_the_log(tmp_path):
    for _ in range(2):
        progress.begin(tmp_path, ["a/1"])
        progress.finish(tmp_path, "a/1", 1.0, "valid", "")
    assert [json.loads(line)[:2] for line in (tmp_path / "done.jsonl").read_text().splitlines()] == [["a/1", 1.0]]
    assert len((tmp_path / "measure.log").read_text().splitlines()) == 2


def test_a_run_outside_the_queue_is_told_too(tmp_path, capsys):
    progress.finish(tmp_path, "a/1", 1.0, "failed", "no reason")
    assert "[1/1] a/1" in capsys.readouterr().err


def test_clock():
    assert [progress.clock(s) for s in (0, 59.6, 61, 3723)] == ["0:00", "1:00", "1:01", "1:02:03"]

import json

import pytest
from plimsoll.measuring import progress

LONG = "uma/over/O2/singularity-instance/cpumempin/disabled/yielding/plain/randomaccess"


def result(found="valid", reason=None, earlier=()):
    return {"status": found, "reason": reason, "attempts": len(earlier) + 1, "invalid_attempts": list(earlier)}


def test_time_left_is_that_of_the_same_cells():
    queue = ["a/1", "b/1", "a/2", "b/2", "c/1"]
    done = [["a/1", 2.0, 102.0, "valid", 1], ["b/1", 10.0, 112.0, "valid", 1]]
    # a takes 2 s again, and b 10 s. c is not known, so that it counts as the mean of 6 s.
    assert progress.remaining(queue, done) == 18
    # Half a second passes between two runs.
    assert progress.remaining(queue, [done[0], ["b/1", 10.0, 112.5, "valid", 1]]) == 18 + 3 * 0.5
    # One repeated run says little about how many will be.
    repeated = [done[0], ["b/1", 10.0, 154.0, "valid", 3]]
    assert progress.remaining(queue, repeated) == 18 + 3 * 42 / (1 + progress.TRUSTED_RUNS)
    # A run that needed no measuring takes no time, and says nothing about the others.
    assert progress.remaining(queue, [*done, ["a/2", None, 113.0, None, 0]]) == 16


@pytest.mark.parametrize("seconds", ["1e308", "-1e308", "1e13", "-3"])
def test_a_damaged_line_of_what_is_crossed_off_is_left_out(tmp_path, capsys, seconds):
    progress.begin(tmp_path, ["a/1", "a/2", "a/3"])
    (tmp_path / "done.jsonl").write_text(f'["a/1", {seconds}, 1795658619.0, "valid", 1]\n' * 2)
    progress.finish(tmp_path, "a/2", 3.0, result())
    assert capsys.readouterr().err == "[1/3]    0:06 left   valid       3.0s a/2\n"


def test_a_line_begins_with_the_count_the_time_left_and_the_status(tmp_path, capsys):
    progress.begin(tmp_path, [f"uma/exact/E1/docker/any/beff/{n}" for n in range(1, 12)])
    progress.finish(tmp_path, "uma/exact/E1/docker/any/beff/1", 3.0, result())
    assert capsys.readouterr().err == "[ 1/11]    0:30 left   valid       3.0s uma/exact/E1/docker/any/beff/1\n"


@pytest.mark.parametrize("runs", [9, 2195, 20900])
@pytest.mark.parametrize("found", ["valid", "disturbed", "censored"])
def test_no_line_is_wider_than_a_terminal(tmp_path, capsys, runs, found):
    progress.begin(tmp_path, [f"{LONG}/{n}" for n in range(runs)])
    for number in range(3):
        progress.finish(tmp_path, f"{LONG}/{number}", 34.5, result(found, "others used much " * 20))
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 80
    # Both ends of a cell's path are shown: the setting, and the section with the repetition.
    assert "uma/over/" in lines[0] and lines[0].endswith("randomaccess/0") and "…" in lines[0]


def test_what_does_not_count_and_what_was_repeated_is_marked_and_says_why(tmp_path, capsys):
    progress.begin(tmp_path / "progress", ["a/1", "b/1", "c/1", "d/1"])
    progress.finish(tmp_path / "progress", "a/1", 3.0, result("failed", "mpirun ended with 1: no"))
    earlier = [{"status": "disturbed", "reason": "others used 3 s"}]
    progress.finish(tmp_path / "progress", "b/1", 3.0, result(earlier=earlier))
    progress.finish(tmp_path / "progress", "c/1", 3.0, result("censored", "the run took longer than its limit of 3 s"))
    lines = capsys.readouterr().err.splitlines()
    assert " left ! failed " in lines[0] and lines[1] == "    mpirun ended with 1: no"
    assert " left + valid " in lines[2] and lines[3] == "    attempt 2; the one before was disturbed: others used 3 s"
    assert " left   censored " in lines[4] and len(lines) == 5


def test_the_last_run_is_followed_by_the_sum(tmp_path, capsys):
    folder = tmp_path / "liu2020/progress"
    progress.begin(folder, ["a/1", "a/2", "a/3", "a/4"])
    progress.finish(folder, "a/1", 1.0, result())
    progress.finish(folder, "a/2", 1.0, result(earlier=[{"status": "invalid", "reason": "x"}]))
    progress.skip(folder, "a/3")
    assert "liu2020:" not in capsys.readouterr().err
    progress.finish(folder, "a/4", 1.0, result("timeout", "x", [{"status": "timeout", "reason": "x"}]))
    assert capsys.readouterr().err.splitlines()[-1] == "liu2020: 2 valid, 1 timeout, 2 repeated"


def test_the_log_has_the_whole_name_and_the_whole_reason(tmp_path):
    progress.begin(tmp_path, [f"{LONG}/1"])
    progress.finish(tmp_path, f"{LONG}/1", 1.0, result("failed", "x" * 200))
    (line,) = (tmp_path / "measure.log").read_text().splitlines()
    assert f" [1/1] failed         1.0 s  {LONG}/1  {'x' * 200}" in line


def test_a_second_start_counts_anew_and_keeps_the_log(tmp_path):
    for _ in range(2):
        progress.begin(tmp_path, ["a/1"])
        progress.finish(tmp_path, "a/1", 1.0, result())
    assert [json.loads(line)[:2] for line in (tmp_path / "done.jsonl").read_text().splitlines()] == [["a/1", 1.0]]
    assert len((tmp_path / "measure.log").read_text().splitlines()) == 2


def test_a_run_outside_the_queue_is_told_too(tmp_path, capsys):
    progress.finish(tmp_path, "a/1", 1.0, result("failed", "no reason"))
    assert capsys.readouterr().err.splitlines()[0].startswith("[1/1] ")


def test_shorten():
    assert progress.shorten("0123456789", 10) == "0123456789"
    assert progress.shorten("0123456789", 7) == "012…789"
    assert progress.shorten("0123456789", 7, 1) == "012345…"


def test_clock():
    assert [progress.clock(s) for s in (0, 59.6, 61, 3723)] == ["0:00", "1:00", "1:01", "1:02:03"]

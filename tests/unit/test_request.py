"""What a command requests: names for readers, and what is left to measure of a request."""

import pytest
from plimsoll.errors import PlimsollError
from plimsoll.measuring import record
from plimsoll.terminal import measured_runs, request

from tests.conftest import recorded, tried


def test_the_request_is_read_as_snakemake_reads_it():
    words = ["--cores", "1", "-pn", "./results/liu2020/figures/fig09.pdf", "all", "--config", "profile=ci", "seed=1"]
    assert request.parse(words) == request.Request(("results/liu2020/figures/fig09.pdf", "all"), True)
    assert request.parse(["--cores", "1"]) == request.Request((), False)


def test_numbers_in_a_row_are_a_range():
    names = ["fig05", "fig04", "fig06", "fig01", "fig09", "fig10", "matrix"]
    assert request.ranges(names) == "fig01, fig04 to fig06, fig09, fig10, matrix"
    assert request.ranges(["table01", "table02", "table03"]) == "table01 to table03"


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (0.2, "about 1 second"),
        (1.2, "about 1 second"),
        (89, "about 89 seconds"),
        (600, "about 10 minutes"),
        (7200, "about 2.0 hours"),
    ],
)
def test_lengths_of_time(length, words):
    assert request.duration(length) == words


def test_what_is_no_output_of_a_study_is_left_to_snakemake(planned, jha2021):
    request.check(["all", "results/host.json", "results/images/hpcc.json", "README.md"], {}, {})
    request.check(
        ["results/jha2021/report.html", "results/jha2021/figures/fig05.pdf"], {"jha2021": jha2021}, {"jha2021": planned}
    )


def test_a_misspelt_cell_is_answered_with_the_one_that_is_like_it(planned, jha2021):
    with pytest.raises(
        PlimsollError, match=r"has no cell 2/linpack\+strem/docker/free \(did you mean 2/linpack\+stream/docker/free\?\)"
    ):
        request.check(["results/jha2021/runs/2/linpack+strem/docker/free/1.json"], {"jha2021": jha2021}, {"jha2021": planned})


def test_only_what_is_left_to_measure_takes_time(planned, jha2021, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target = "results/jha2021/figures/fig05.pdf"
    studies, plans = {"jha2021": jha2021}, {"jha2021": planned}
    before = request.summary([target], ["jha2021"], studies, plans)
    assert before.startswith(f"{target}: 95 runs of 19 cells: about ")
    cell = planned["cells"]["1/linpack/docker/free"]
    for repetition, fingerprint in ((1, cell["fingerprint"]), (2, "another")):
        write(tmp_path / f"results/jha2021/runs/{cell['path']}/{repetition}.json", fingerprint, "valid")
    after = request.summary([target], ["jha2021"], studies, plans)
    assert after.startswith(f"{target}: 95 runs of 19 cells, of which 94 are left to measure: about ")
    record_of = f"results/jha2021/runs/{cell['path']}/1.json"
    assert request.summary([record_of], [], studies, plans) == f"{record_of}: 1 run of 1 cell, all of them measured"
    # For all targets but figures, tables and records, the plan of the whole study is summarised.
    assert request.summary(["results/jha2021/report.html"], [], studies, plans).startswith("jha2021: 700 runs")
    assert request.summary([], ["jha2021"], studies, plans).startswith("jha2021: 700 runs")


def write(path, fingerprint: str, status: str) -> None:
    """Write a record that has keys of the same names in its parts too."""
    earlier = tried(status="invalid", fingerprint="earlier")
    cell = {"runtime": "bare", "fingerprint": "inner", "status": "inner"}
    record.write(path, recorded(cell=cell, fingerprint=fingerprint, attempts=2, invalid_attempts=[earlier], status=status))


def test_a_glance_sees_what_reading_sees(tmp_path):
    path = tmp_path / "1.json"
    assert measured_runs.of_record(path, "abc") is None
    for status in ("valid", "failed", "disturbed"):
        write(path, "abc", status)
        assert measured_runs.of_record(path, "abc") == record.read(path)["status"] == status
        assert measured_runs.of_record(path, "other") == measured_runs.STALE
    whole = path.read_text()
    path.write_text(" ".join(whole.split()))
    assert measured_runs.of_record(path, "abc") == "disturbed"
    path.write_text(whole[: len(whole) // 2])
    assert measured_runs.of_record(path, "abc") == measured_runs.DAMAGED
    path.write_text("")
    assert measured_runs.of_record(path, "abc") == measured_runs.DAMAGED


def test_a_figure_needs_some_of_a_study_s_runs_and_a_rule_all(planned, jha2021):
    figure, report = "results/jha2021/figures/fig05.pdf", "results/jha2021/report.html"
    plan, host = "results/jha2021/plan.json", "results/host.json"
    needed = {
        (plan, host, "plan", figure): [],
        (): ["other"],
        (figure,): [],
        (figure, report): ["jha2021"],
        (figure, "all"): ["other"],
    }
    for targets, names in needed.items():
        assert request.all_runs(targets, ["other"], {"jha2021": jha2021}, {"jha2021": planned}) == names

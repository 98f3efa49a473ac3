"""Readers of what people's tools write, on real outputs of these tools (tests/data/tables)."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from plimsoll.designs.table import judged_study, outputs, readers, row_observations, study_file
from plimsoll.designs.table.rows import Columns
from plimsoll.errors import PlimsollError

from tests.conftest import PROJECT

TABLES = PROJECT / "tests/data/tables"
READERS = TABLES / "readers"
# File, reader, number of rows, factors of its rows, and (metric, unit, better) of the first row.
EXPECTED = [
    ("zstd/block-01.json", "hyperfine", 19, {"operation", "setting"}, ("time", "s", "lower")),
    ("json/session-1.json", "pytest-benchmark", 288, {"file", "test", "library", "document"}, ("time", "s", "lower")),
    ("readers/google-benchmark.json", "google-benchmark", 72, {"benchmark", "argument"}, ("real_time", "ns", "lower")),
    ("readers/criterion", "criterion", 80, {"group", "function", "parameter"}, ("time", "s", "lower")),
    (
        "readers/reframe-report.json",
        "reframe-report",
        8,
        {"test", "tool", "system", "partition", "environ"},
        ("rate", "MB/s", ""),
    ),
    (
        "readers/reframe-perflog.log",
        "reframe-perflog",
        8,
        {"test", "tool", "system", "partition", "environ"},
        ("rate", "MB/s", ""),
    ),
    ("readers/phoronix.xml", "phoronix", 10, {"system", "test"}, ("zstd_level", "Seconds", "lower")),
]


@pytest.mark.parametrize(("file", "name", "number", "factors", "first"), EXPECTED, ids=[one[1] for one in EXPECTED])
def test_an_output_is_recognised_and_read(file, name, number, factors, first):
    reader, rows = readers.read(TABLES / file, None, Columns())
    assert reader.name == name
    assert len(rows) == number and {factor for row in rows for factor in row.levels} == factors
    assert (rows[0].metric, rows[0].unit, rows[0].better) == first
    assert all(row.value > 0 and str(TABLES) in row.where for row in rows)


@pytest.mark.parametrize(("file", "name"), [one[:2] for one in EXPECTED], ids=[one[1] for one in EXPECTED])
def test_an_output_that_was_cut_is_one_sentence(file, name, tmp_path):
    """Half of a file is refused, or read as far as it goes where lines stand for themselves; never a traceback."""
    path = TABLES / file
    path = next(path.rglob("sample.json")) if path.is_dir() else path
    cut = tmp_path / path.name
    cut.write_text(path.read_text()[: path.stat().st_size // 2])
    if name == "reframe-perflog":
        cut.write_text(cut.read_text().rpartition("|")[0])
    with pytest.raises(PlimsollError, match=str(cut)) as refused:
        readers.read(cut, None, Columns())
    assert "\n" not in str(refused.value)


def test_values_are_those_of_the_files():
    report, log = (readers.read(READERS / f"reframe-{name}", None, Columns())[1] for name in ("report.json", "perflog.log"))
    assert [row.value for row in report] == [row.value for row in log] and report[0].levels == log[0].levels
    zstd = json.loads((TABLES / "zstd/block-01.json").read_text())["results"][0]
    (first, *_) = readers.read(TABLES / "zstd/block-01.json", None, Columns())[1]
    assert first.value == zstd["times"][0] and first.levels == zstd["parameters"]


def test_criterions_samples_are_the_same_in_both_of_its_files(tmp_path):
    """Each sample is a time per iteration, in seconds."""
    folder = READERS / "criterion/lookup/HashMap/100/new"
    shutil.copytree(folder, tmp_path / "new")
    of_json = readers.read(tmp_path / "new/sample.json", None, Columns())[1]
    (tmp_path / "new/sample.json").unlink()
    of_csv = readers.read(tmp_path / "new/raw.csv", None, Columns())[1]
    assert [row.value for row in of_csv] == pytest.approx([row.value for row in of_json])
    (tmp_path / "new/raw.csv").unlink()
    (estimated,) = readers.read(tmp_path / "new/estimates.json", None, Columns())[1]
    assert estimated.summarised and estimated.mean == pytest.approx(sum(row.value for row in of_csv) / 20, rel=0.9)


def test_pytest_benchmark_without_its_data_has_means():
    _, rows = readers.read(READERS / "pytest-benchmark-means.json", None, Columns())
    assert len(rows) == 6 and all(row.summarised and row.sd > 0 and row.n == 8 for row in rows)


def test_factors_with_one_level_are_left_out_of_what_tools_write():
    source = study_file.of_files([READERS / "reframe-report.json"], [], "own")
    assert source.study["factors"] == ["tool"] and source.study["levels"]["tool"] == ["gzip", "zstd"]
    assert {cell["repetitions"] for cell in row_observations.of_source(source).plan["cells"].values()} == {4}


def test_a_folder_of_outputs_is_read_by_their_programs():
    """Each of sysbench, STREAM, OSU and fio, with a level for the folder; other files are left out."""
    reader, rows = readers.read(READERS / "outputs", None, Columns())
    assert reader.name == "outputs"
    found = {(row.metric, row.unit, row.better) for row in rows}
    assert {
        ("events_per_second", "1/s", "higher"),
        ("stream_triad", "MB/s", "higher"),
        ("latency", "us", "lower"),
        ("read_bandwidth", "bytes/s", "higher"),
    } <= found
    by_folder = {row.levels["folder"] for row in rows}
    assert by_folder == {"bind-core", "bind-none", "threads-1", "threads-2"}
    sizes = {row.levels.get("size") for row in rows if row.metric == "latency"}
    assert {"0", "1", "4194304"} <= sizes
    copies = [row for row in rows if row.metric == "stream_copy"]
    assert len(copies) == 8 and all(1_000 < row.value < 1_000_000 for row in copies)


def test_outputs_of_hpc_challenge_are_read_by_its_own_reader(tmp_path):
    for number in (1, 2, 3):
        for section in ("hpl", "stream"):
            folder = tmp_path / section
            folder.mkdir(exist_ok=True)
            shutil.copy(PROJECT / f"tests/data/hpcc_{section}.txt", folder / f"{number}.txt")
    rows = readers.read(tmp_path, None, Columns())[1]
    assert {row.metric for row in rows if row.levels["folder"] == "hpl"} == {"HPL_Tflops"}
    cut = (tmp_path / "hpl/1.txt").read_text()
    (tmp_path / "hpl/1.txt").write_text(cut[: cut.index("End of Summary")])
    with pytest.raises(PlimsollError, match=r"hpl/1.txt: hpccoutf.txt does not hold exactly one complete run."):
        readers.read(tmp_path, None, Columns())


def test_what_no_reader_knows_is_refused(tmp_path):
    (tmp_path / "own.json").write_text('{"numbers": [1, 2]}')
    with pytest.raises(PlimsollError, match=r"own.json: no reader recognises it. Name one with `reader`: criterion, csv, "):
        readers.read(tmp_path / "own.json", None, Columns())
    with pytest.raises(PlimsollError, match=r"gone.csv cannot be read: No such file"):
        readers.read(tmp_path / "gone.csv", None, Columns())


def test_entities_in_xml_are_refused(tmp_path):
    (tmp_path / "own.xml").write_text(
        '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><PhoronixTestSuite>&b;</PhoronixTestSuite>'
    )
    with pytest.raises(PlimsollError, match="it defines XML entities"):
        readers.read(tmp_path / "own.xml", None, Columns())


def test_statements_about_another_tools_results_are_judged(tmp_path):
    """Google Benchmark's repetitions of two algorithms, by a file of claims alone."""
    (tmp_path / "paper.yaml").write_text(
        "claims:\n"
        "  - statement: Sorting 10,000 numbers takes more than ten times as long as 1,000.\n"
        "    metrics: [cpu_time]\n    a: {argument: ['10000']}\n    b: {argument: ['1000']}\n    expected: higher\n"
        "    magnitude: {low: 9, high: 20, of: (a - b) / b}\n"
    )
    found = judged_study.of_files([READERS / "google-benchmark.json"], tmp_path / "paper.yaml")
    (result,) = found.results
    assert result["verdict"] == "reproduced" and result["comparisons"] == 2


# A claim about a file of each tool, and how many runs of a side it has at least.
JUDGED = {
    "readers/criterion": ({"function": ["HashMap"]}, {"function": ["BTreeMap"]}, 20),
    "readers/google-benchmark.json": ({"benchmark": ["StableSort"]}, {"benchmark": ["Sort"]}, 6),
    "readers/reframe-perflog.log": ({"tool": ["zstd"]}, {"tool": ["gzip"]}, 4),
    "readers/reframe-report.json": ({"tool": ["zstd"]}, {"tool": ["gzip"]}, 4),
    "readers/phoronix.xml": ({"test": ["Level: 5"]}, {"test": ["Level: 1"]}, 5),
    "readers/outputs": ({"folder": ["threads-2"]}, {"folder": ["threads-1"]}, 4),
}


@pytest.mark.parametrize(("file", "about"), JUDGED.items())
def test_what_each_tool_wrote_is_judged_to_a_page(file, about, tmp_path):
    a, b, runs = about
    claim = {"statement": "Side a is higher than side b.", "a": a, "b": b, "expected": "higher", "holds": "average"}
    (tmp_path / "claims.yaml").write_text(yaml.safe_dump({"claims": [claim]}))
    found = judged_study.of_files([TABLES / file], tmp_path / "claims.yaml")
    [result] = found.results
    assert (
        result["comparisons"]
        and result["n_least"] == runs
        and result["verdict"] in ("reproduced", "contradicted", "inconclusive")
    )
    assert outputs.write(found, tmp_path / "out", []).is_file()


def test_a_file_of_criterions_is_read_by_its_content_wherever_it_is(tmp_path, monkeypatch):
    estimates = next((READERS / "criterion").rglob("estimates.json"))
    shutil.copy(estimates, tmp_path / "mine.json")
    shutil.copy(next((READERS / "criterion").rglob("sample.json")), tmp_path / "other.json")
    monkeypatch.chdir(tmp_path)
    assert [row.summarised for row in readers.read(Path("mine.json"), None, Columns())[1]] == [True]
    assert len(readers.read(Path("other.json"), None, Columns())[1]) == 20


def test_runs_that_failed_are_refused_or_left_out(tmp_path):
    timed = json.loads((TABLES / "zstd/block-01.json").read_text())
    # A run that a signal has killed has no exit status.
    for code in (127, None):
        timed["results"][1]["exit_codes"] = [code]
        (tmp_path / "timed.json").write_text(json.dumps(timed))
        with pytest.raises(PlimsollError, match=rf"result 2: 1 of 1 runs of './zz compress 3' failed \(exit status {code}\)"):
            readers.read(tmp_path / "timed.json", None, Columns())
    stream = (READERS / "outputs/threads-1/stream-1.txt").read_text()
    (tmp_path / "stream.txt").write_text(stream + "Failed Validation on array a[]\n")
    with pytest.raises(PlimsollError, match="STREAM says Failed Validation"):
        readers.read(tmp_path / "stream.txt", None, Columns())


def test_tests_of_one_name_in_two_files_are_two_cells(tmp_path):
    found = json.loads((READERS / "pytest-benchmark-means.json").read_text())
    again = [{**one, "fullname": one["fullname"].replace(".py", "_more.py", 1)} for one in found["benchmarks"]]
    (tmp_path / "both.json").write_text(json.dumps({**found, "benchmarks": [*found["benchmarks"], *again]}))
    rows = readers.read(tmp_path / "both.json", None, Columns())[1]
    assert len({tuple(row.levels.items()) for row in rows}) == len(rows) == 12


def test_google_benchmark_with_two_units_and_counters(tmp_path):
    """A counter may be 0, or not be about speed, so it is read only if a claim or a study names it as a metric."""
    found = json.loads((READERS / "google-benchmark.json").read_text())
    first, other = found["benchmarks"][:2]
    runs = [{**first, "time_unit": "ms", "real_time": 2.0, "swaps": 7.0}, {**other, "time_unit": "ns", "real_time": 4.0}]
    not_run = [{**first, "error_occurred": True, "real_time": 0.0}, {**first, "skipped": True, "real_time": 0.0}]
    (tmp_path / "two.json").write_text(json.dumps({**found, "benchmarks": [*runs, *not_run]}))
    rows = readers.read(tmp_path / "two.json", None, Columns())[1]
    assert [(row.unit, row.value) for row in rows if row.metric == "real_time"] == [("s", 0.002), ("s", pytest.approx(4e-9))]
    assert {row.metric for row in rows} == {"real_time", "cpu_time", "items_per_second"}
    rows = readers.read(tmp_path / "two.json", None, Columns(metrics={"swaps": "swaps"}))[1]
    assert [row.value for row in rows if row.metric == "swaps"] == [7.0]


def test_a_title_with_two_units_is_two_metrics(tmp_path):
    text = (READERS / "phoronix.xml").read_text()
    results = text.split("<Result>")
    other = results[1].replace("<Scale>Seconds</Scale>", "<Scale>MB/s</Scale>").replace(">LIB<", ">HIB<")
    (tmp_path / "two.xml").write_text("<Result>".join([*results[:2], other, *results[2:]]))
    rows = readers.read(tmp_path / "two.xml", None, Columns())[1]
    assert {(row.metric, row.unit) for row in rows} == {("zstd_level_seconds", "Seconds"), ("zstd_level_mb/s", "MB/s")}


OSU_OTHERS = {
    "# OSU MPI Allreduce Latency Test v5.9\n# Size       Avg Latency(us)\n4      1.50\n8      1.75\n": (
        "allreduce_latency",
        "us",
    ),
    "# OSU MPI-CUDA Latency Test v5.9\n# Size          Latency (us)\n0      2.10\n": ("cuda_latency", "us"),
    "# OSU MPI_Put Latency Test v7.5\n# Size          Latency (us)\n1      0.90\n": ("put_latency", "us"),
    "# OSU MPI Multiple Bandwidth / Message Rate Test v5.9\n# Size    MB/s     Messages/s\n1     5.52     5519214.53\n": (
        "multiple_bandwidth_message_rate",
        "MB/s",
    ),
}


@pytest.mark.parametrize(("text", "about"), OSU_OTHERS.items())
def test_other_benchmarks_of_osu_are_read(tmp_path, text, about):
    (tmp_path / "out.txt").write_text(text)
    rows = readers.read(tmp_path / "out.txt", None, Columns())[1]
    assert {(row.metric, row.unit) for row in rows} == {about} and 0.5 < rows[0].value < 6


def test_sysbench_of_memory_and_of_files_has_its_rates():
    found = {row.metric: row.value for row in readers.read(READERS / "sysbench", None, Columns())[1] if "memory" in row.where}
    assert found == {"memory_rate": 3649.76, "operations_per_second": 3737357.84, "total_time": 0.0539}
    found = {row.metric: row.value for row in readers.read(READERS / "sysbench", None, Columns())[1] if "fileio" in row.where}
    assert found["read_bandwidth"] == 418.13 and found["fsyncs_per_second"] == 893.7 and len(found) == 6

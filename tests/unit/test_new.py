"""`plimsoll new`: what it writes works as it is, in a copy of the project, and passes the test that it writes."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from plimsoll.designs.table import judged_study
from plimsoll.errors import PlimsollError
from plimsoll.features.new import files, new, study
from plimsoll.features.try_program import begin, folder_copy, recipe, trial
from plimsoll.features.try_program import study as making

from tests.conftest import PROJECT

TABLES = PROJECT / "tests/data/tables"


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """Return a copy of the project's package, configuration and notebooks, without tests of its own."""
    root = tmp_path_factory.mktemp("copy")
    for folder in ("scripts", "config", "notebooks", "containers"):
        shutil.copytree(PROJECT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def run(root: Path, *files: Path) -> None:
    """Run tests that were written, against the package of a copy."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(root)]
    where = {"PYTHONPATH": str(root / "scripts"), "PATH": "/usr/bin:/bin", "HOME": str(root)}
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, cwd=root, env=where)
    assert done.returncode == 0 and "failed" not in done.stdout, done.stdout + done.stderr


def test_everything_that_is_begun_passes_its_test(copy, tmp_path):
    begun = [
        *study.of_table("own-table", tmp_path, None, "", "time", "lower", "Which variant is better?"),
        *study.of_benchmark("own2026", copy, "stream", ["docker"], "What does Docker cost STREAM?"),
        *files.runtime("docker-own", copy, "docker", "My Docker"),
        *files.workload("own-load", copy, "/opt/own", "1/s", "Own load"),
        *files.chart("own-dots", copy, "overhead", "Means of all cells."),
    ]
    tests = [path for path in begun if path.name.startswith("test_")]
    assert len(tests) == 5
    run(copy, *tests)
    checked = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--config",
        str(PROJECT / "pyproject.toml"),
        "--extend-ignore",
        "E501,D102,D103,INP",
    ]
    done = subprocess.run([*checked, *(str(path) for path in begun if path.suffix == ".py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_study_of_own_data_names_their_columns(tmp_path):
    table = "codec,threads,seconds\n" + "".join(
        f"{codec},{n % 2 + 1},{1 + n / 100 + (codec == 'a') * n % 3 / 200}\n" for codec in "ab" for n in range(8)
    )
    (tmp_path / "runs.csv").write_text(table)
    path, _ = study.of_table("codecs", tmp_path, tmp_path / "runs.csv", "", "seconds", "lower", "Which codec?")
    document = yaml.safe_load(path.read_text())
    assert document["baseline"] == {"codec": ["a"]} and document["question"] == "Which codec?"
    assert document["data"] == "../runs.csv"
    (result,) = judged_study.of_file(path).results
    assert result["verdict"] == "reproduced" and result["comparisons"] == 2


def test_names_that_yaml_would_read_as_something_else_are_quoted(tmp_path):
    """Columns and levels are texts of people's tables. No unit is made up."""
    lines = [f"{level},{n},n o: #1,{1 + n / 100},ms" for level in ("yes: über", "[no] #2") for n in range(4)]
    (tmp_path / "runs.csv").write_text("\n".join(["null,run,metric,value,unit", *lines]))
    data, question = tmp_path / "runs.csv", "Which?\ndesign: none"
    path, _ = study.of_table("odd", tmp_path, data, "null", "n o: #1", "lower", question)
    document = yaml.safe_load(path.read_text())
    assert document["baseline"] == {"null": ["[no] #2"]} and document["question"] == question
    assert "yes: über" in path.read_text()
    found = judged_study.of_file(path)
    assert found.study["metrics"]["n o: #1"]["unit"] == "ms" and found.results[0]["verdict"]


def test_a_study_of_a_tools_output_is_written_too(tmp_path):
    output = TABLES / "readers/google-benchmark.json"
    path, _ = study.of_table("sorting", tmp_path, output, "benchmark", "real_time", "lower", "Which sort is faster?")
    assert judged_study.of_file(path).results[0]["comparisons"] == 2


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (lambda root: study.of_table("Own Table", root, None, "", "time", "lower", "?"), "'Own Table' cannot be the name"),
        (
            lambda root: study.of_benchmark("own", root, "stream", [], "?"),
            "'own' cannot be the name of a study. Nothing was written. Take lower-case letters and a year",
        ),
        (lambda root: study.of_benchmark("own2026", root, "strem", [], "?"), "There is no benchmark 'strem'"),
        (lambda root: study.of_benchmark("own2026", root, "stream", ["dokcer"], "?"), "There is no"),
        (lambda root: files.runtime("own", root, "dokcer", "Own"), "There is no"),
        (lambda root: files.chart("own", root, "overhed", "Own."), "There is no design 'overhed'"),
        (
            lambda root: study.of_table("x", root, None, "", "time", "lowre", "?"),
            "'lowre' is not a direction (did you mean",
        ),
        (lambda root: study.of_table("x", root, root / "no.csv", "", "time", "lower", "?"), "no.csv cannot be read"),
    ],
)
def test_what_cannot_be_begun_is_one_sentence_and_writes_nothing(begin, said, tmp_path):
    with pytest.raises(PlimsollError) as refused:
        begin(tmp_path)
    assert said in str(refused.value) and not any(tmp_path.iterdir())


def test_nothing_is_written_over(tmp_path):
    written = study.of_table("own", tmp_path, None, "", "time", "lower", "Which?")
    before = [path.read_text() for path in written]
    with pytest.raises(PlimsollError, match="exists already. Nothing was written. Take another name, or move it."):
        study.of_table("own", tmp_path, None, "", "time", "lower", "Another?")
    assert [path.read_text() for path in written] == before


def program(root: Path, monkeypatch, command: str = "solver case.txt") -> list[Path]:
    """Begin a study of a program in a folder, of which everything is real but its trial run and the search for its files."""
    monkeypatch.chdir(root)
    (root / "case.txt").write_text("1\n")
    (root / "timer").write_text("")
    tried = trial.TrialResult(0.02, {}, ("0" * 64, "0" * 64))
    monkeypatch.setattr(making, "on_host", lambda *_: tried)
    monkeypatch.setattr(making, "defaults_here", lambda ranks, chosen: ["docker", "singularity"])
    monkeypatch.setattr(recipe.files, "needed", lambda *_: [root / "case.txt"])
    monkeypatch.setattr(begin.timer, "program_path", lambda: root / "timer")
    return begin.of_program("solver", command, "Does Docker slow my solver?", study.test_of_program)


def test_a_study_of_a_program_is_the_one_that_try_writes_with_comments_claims_and_a_test(tmp_path, copy, monkeypatch, capsys):
    """Claims that the user has made their own stay. Others follow the study."""
    file, claims, test = program(tmp_path, monkeypatch)
    assert [path.name for path in (file, claims, test)] == ["my-solver.yaml", "my-solver.yaml", "test_my_solver.py"]
    run(copy, test)
    text, content = file.read_text(), yaml.safe_load(file.read_text())
    assert folder_copy.is_ours(file) and text.count("\n# ") == 5 and "\n  # Minutes of measuring" in text
    assert content["question"] == "Does Docker slow my solver?" and content["program"]["command"] == ["solver", "case.txt"]
    config = tmp_path / "my-solver/config"
    assert (config / "folder/case.txt").read_text() == "1\n" and (config / "containers/program/Dockerfile").is_file()
    own = claims.read_text().replace("margin: 0.01", "margin: 0.2")
    assert own.count("margin: 0.2") == 3 and "&id" not in own
    claims.write_text(own)
    making.write_study(config, content)
    assert claims.read_text() == own
    claims.write_text(own.partition("\n")[2])
    making.write_study(config, content)
    assert claims.read_text().count("margin: 0.01") == 3
    (config / "folder/case.txt").write_text("2\n")
    with pytest.raises(AssertionError, match="has changed since"):
        run(copy, test)
    with pytest.raises(
        PlimsollError, match="my-solver.yaml exists already. Nothing was written. Take another name, or move it"
    ):
        program(tmp_path, monkeypatch)
    claims.write_text(own)
    with pytest.raises(PlimsollError, match="has claims of your own"):
        making._refuse_others(making.place_of(file))


@pytest.mark.parametrize(
    ("command", "said"), [("", "The command to measure is missing"), ("a 'b", "is no command: No closing quo")]
)
def test_a_study_of_no_command_is_refused_and_nothing_is_written(tmp_path, monkeypatch, command, said):
    with pytest.raises(PlimsollError, match=re.escape(said)):
        program(tmp_path, monkeypatch, command)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["case.txt", "timer"]


def test_questions_are_those_of_what_a_study_is_of(tmp_path, monkeypatch, capsys):
    """The direction follows from the data, unless an option names one that they contradict."""
    asked = []
    monkeypatch.setattr(new, "_answer", lambda given, question, usual: asked.append(question) or given or usual)
    monkeypatch.chdir(tmp_path)
    data = TABLES / "readers/google-benchmark.json"
    new.new("study", "sorting", data=str(data), metric="real_time")
    assert len(asked) == 5 and "better: lower" in (tmp_path / "sorting/study.yaml").read_text()
    asked.clear()
    with pytest.raises(PlimsollError, match="The command to measure"):
        new.new("study", "own", of="program")
    assert len(asked) == 3 and sorted(path.name for path in tmp_path.iterdir()) == ["sorting"]
    new.new("study", "other", data=str(data), metric="real_time", better="higher")


@pytest.mark.parametrize(
    ("metric", "better"),
    [("wall_time", "lower"), ("throughput", "higher"), ("read_bandwidth", "higher"), ("rate", None), ("time_score", None)],
)
def test_the_better_direction_follows_from_a_name_or_is_asked_for(metric, better):
    """A rate may be of errors. Nothing is guessed that would reverse a recommendation."""
    if better:
        assert study._by_name(metric) == better
    else:
        with pytest.raises(PlimsollError, match="Nothing says whether a higher or a lower .* Add --better higher"):
            study._by_name(metric)

"""Where rows of `plimsoll judge` come from, and what it says of them: zips, papers' tables, sessions, bad input."""

import json
import re
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from plimsoll import cli
from plimsoll.cli import place
from plimsoll.designs.table import inputs, judged_study, outputs, verdict_text
from plimsoll.designs.table.claim_file import OF_STUDIES
from plimsoll.designs.table.factors import RESERVED
from plimsoll.designs.table.rows import Columns
from plimsoll.errors import PlimsollError
from plimsoll.verdicts import judge

from tests.conftest import PROJECT
from tests.unit.test_judge import CLAIMS, HIGHER, refusal, rows, summarised, written
from tests.unit.test_table_readers import READERS

REFERENCE = PROJECT / "results/reference"
ROLES = Columns().roles
VERDICTS = ["reproduced", "contradicted", "reproduced"]


def packed(path, files: dict[str, str]):
    """Write a zip of texts, by the names of files, and return its path."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def of_data(folder, *data, claims=CLAIMS, **options):
    """Return rows that files name, judged by claims."""
    (folder / "paper.yaml").write_text(yaml.safe_dump({"claims": claims}))
    return judged_study.of_files([folder / name for name in data], folder / "paper.yaml", **options)


def verdicts_of(found) -> list[str]:
    return [one["verdict"] for one in found.results]


def test_rows_are_read_from_a_zip(tmp_path):
    """The only table of a zip needs no name. One of several is named, or a pattern that gives them sessions."""
    table = rows().to_csv(index=False)
    packed(tmp_path / "one.zip", {"runs.csv": table, "README.md": "about it", "__MACOSX/runs.csv": ""})
    found = of_data(tmp_path, "one.zip")
    assert verdicts_of(found) == VERDICTS and found.source.files == [tmp_path / "one.zip"]
    assert found.source.rows[0].where == f"{tmp_path}/one.zip/runs.csv, line 2"
    days = {"day/mon.csv": table, "day/tue.csv": rows(46).to_csv(index=False), "other.csv": "level\n1\n"}
    packed(tmp_path / "days.zip", days)
    assert verdicts_of(of_data(tmp_path, "days.zip/day/mon.csv")) == VERDICTS
    study = {"design": "table", "data": [{"path": "days.zip/day/*.csv", "session": "{}"}], "claims": CLAIMS}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(study))
    found = judged_study.of_file(tmp_path / "own.yaml")
    assert {row.session for row in found.source.rows} == {"mon", "tue"} and verdicts_of(found) == VERDICTS


@pytest.mark.parametrize(
    ("files", "data", "said"),
    [
        (
            {"a.csv": "x", "b.csv": "x"},
            "z.zip",
            "z.zip has several files with data (a.csv, b.csv). Name one, such as z.zip/a.csv",
        ),
        (
            {"notes.md": "x"},
            "z.zip",
            "z.zip has no file with data. Files that can be read end in .csv, .tsv, .parquet, .json, .xml, .log.",
        ),
        ({"a.csv": "x"}, "z.zip/b.csv", "z.zip/b.csv cannot be read: No such file or directory."),
        ({"a.csv": "x"}, "z.zip/*.json", "z.zip/*.json: there is no such file."),
        ({"a.csv": "level,value\n1,fast\n"}, "z.zip", "z.zip/a.csv, line 2: value is 'fast', which is not a number."),
    ],
)
def test_a_zip_that_cannot_be_judged_is_refused_in_a_sentence(tmp_path, files, data, said):
    packed(tmp_path / "z.zip", files)
    with pytest.raises(PlimsollError) as refused:
        of_data(tmp_path, data)
    assert str(refused.value).replace(f"{tmp_path}/", "").startswith(said)


def test_a_zip_that_is_damaged_is_refused(tmp_path):
    whole = packed(tmp_path / "z.zip", {"a.csv": rows().to_csv(index=False)}).read_bytes()
    (tmp_path / "z.zip").write_bytes(whole.replace(b"level,file", b"lev\0l,file"))
    with pytest.raises(PlimsollError, match=r"z\.zip cannot be unpacked: Bad CRC-32"):
        of_data(tmp_path, "z.zip")


def test_an_archive_of_measurements_is_judged_by_claims_of_ones_own(tmp_path):
    """The factors are the plan's, of which one varies, and the verdicts those of the table beside the archive."""
    claim = {
        "statement": "STREAM is as fast in Docker as on bare metal.",
        "metrics": ["copy", "triad"],
        "a": {"runtime": ["docker"]},
        "b": {"runtime": ["bare"]},
        "expected": "not_worse",
    }
    found = of_data(tmp_path, REFERENCE / "li2018/reference-li2018.zip", claims=[claim])
    assert found.study["factors"] == ["runtime"] and list(found.study["metrics"]) == ["copy", "triad"]
    table = pd.read_csv(REFERENCE / "li2018/observations.csv", keep_default_na=False)
    table = table[table["metric"].isin(claim["metrics"])]
    plain = judge(table[[*found.study["factors"], "metric", "value", "unit", "better", "block"]], [claim])
    pd.testing.assert_frame_equal(found.comparisons.drop(columns="claim"), plain.comparisons.drop(columns="claim"))
    assert plain.results[0]["comparisons"] == 2 and plain.results[0]["n_least"] >= 5
    with pytest.raises(PlimsollError, match=r"metrics: 'tirad' is neither .* \(did you mean triad\?\)"):
        of_data(tmp_path, REFERENCE / "li2018/reference-li2018.zip", claims=[{**claim, "metrics": ["tirad"]}])


def test_the_archive_of_a_judged_study_is_judged_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(place.paths, "PROJECT", tmp_path)
    written(tmp_path, rows()).rename(tmp_path / "study.yaml")
    assert cli.main(["judge", "study.yaml", "--out", "out"]) == 0
    (name,) = (path.name for path in (tmp_path / "out").glob("*.zip"))
    capsys.readouterr()
    assert cli.main(["judge", f"out/{name}", "--json", "--out", "again"]) == 0
    assert [one["verdict"] for one in json.loads(capsys.readouterr().out)] == VERDICTS
    kept, again = (pd.read_csv(tmp_path / folder / "claims.csv") for folder in ("out", "again"))
    pd.testing.assert_frame_equal(kept, again)
    packed(tmp_path / "z.zip", {"notes.md": "x"})
    for zipped, said in (
        (REFERENCE / "li2018/reference-li2018.zip", "is an archive of measurements: `plimsoll remake"),
        ("z.zip", "has no study of the design `table`"),
    ):
        assert cli.main(["judge", str(zipped)]) == 2
        told = capsys.readouterr()
        assert said in told.err and told.out == "" and told.err.count("\n") == 1


def contents(folder) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "words",
    [
        ["in/own.yaml"],
        ["--claims", "in/paper.yaml", "--data", "in/results.csv"],
        ["--claims", "in/study.yaml", "--data", "in/results.csv"],
        ["--claims", "in/paper.yaml", "--data", "in/days/*.csv", "--printed", "in/printed.csv"],
        ["--claims", "in/paper.yaml", "--data", "in/days.zip/day/m*.csv", "--data", "in/days.zip/day/tue.csv"],
    ],
    ids=["claims in a file", "options", "claims of another study", "pattern and printed table", "in a zip"],
)
def test_an_archive_is_judged_again_when_its_inputs_are_gone(words, tmp_path, monkeypatch):
    """All files are the same, byte for byte, and so is the archive's own archive."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(place.paths, "PROJECT", tmp_path)
    given = tmp_path / "in"
    (given / "days").mkdir(parents=True)
    written(given, rows(), claims="paper.yaml")
    (given / "paper.yaml").write_text(yaml.safe_dump({"claims": CLAIMS}))
    # Its data are not those of the options, and are not there.
    (given / "study.yaml").write_text(yaml.safe_dump({"design": "table", "data": "other.csv", "claims": CLAIMS}))
    summarised(rows()).to_csv(given / "printed.csv", index=False)
    days = {f"day/{day}.csv": rows(seed).to_csv(index=False) for day, seed in (("mon", 45), ("tue", 46))}
    packed(given / "days.zip", days)
    for name, text in days.items():
        (given / name.replace("day", "days", 1)).write_text(text)
    assert cli.main(["judge", *words, "--out", "out"]) == 0
    shutil.rmtree(given)
    (archive,) = (tmp_path / "out").glob("*.zip")
    assert cli.main(["judge", str(archive), "--out", "again"]) == 0
    assert [one["verdict"] for one in json.loads((tmp_path / "again/claims.json").read_text())] == VERDICTS
    assert contents(tmp_path / "again") == contents(tmp_path / "out")


def test_a_folder_of_outputs_is_whole_in_the_archive(tmp_path):
    """The claims lie in it. The names of its folders are levels."""
    shutil.copytree(READERS / "outputs", tmp_path / "runs")
    claim = {"statement": "A second thread makes no difference.", "metrics": ["stream_copy"], "expected": "no_difference"}
    sides = {"a": {"folder": ["threads-1"]}, "b": {"folder": ["threads-2"]}}
    (tmp_path / "runs/threads-1/paper.yaml").write_text(yaml.safe_dump({"claims": [claim | sides]}))
    found = judged_study.of_files([tmp_path / "runs"], tmp_path / "runs/threads-1/paper.yaml")
    for name, content in inputs.of_study(found.source.document, found.claims_file, found.source.files, []).contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    again = judged_study.of_file(tmp_path / inputs.STUDY)
    pd.testing.assert_frame_equal(again.comparisons, found.comparisons)
    assert again.results[0]["comparisons"] > 0


# What amaral2015 prints of its network, and what it says of these numbers.
OF_NETWORK = [
    {
        "statement": "The bridge has less throughput than the host's network.",
        "metrics": ["throughput"],
        "a": {"network": ["linux_bridge"]},
        "b": {"network": ["host"]},
        "scope": {"client": ["container"]},
        "expected": "lower",
    },
    {
        "statement": "The bridge has more throughput (planted, and wrong).",
        "metrics": ["throughput"],
        "a": {"network": ["linux_bridge"]},
        "b": {"network": ["host"]},
        "scope": {"client": ["container"]},
        "expected": "higher",
    },
]


def test_a_papers_printed_table_says_whether_the_paper_is_consistent(tmp_path, monkeypatch, capsys):
    """Table 2 of amaral2015, as it was printed, and as it would be without its standard deviations."""
    table = pd.read_csv(PROJECT / "config/reference/amaral2015_table2_network_local.csv").rename(columns={"repetitions": "n"})
    study = {
        "design": "table",
        "data": "printed.csv",
        "factors": ["client", "server", "network"],
        "metrics": {"throughput": {"better": "higher"}, "latency": {"better": "lower"}},
        "claims": OF_NETWORK,
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study))
    for dropped, said in (([], ["yes", "no"]), (["sd"], ["yes, by the means alone", "no, by the means alone"])):
        table[table["metric"] == "throughput"].drop(columns=dropped).to_csv(tmp_path / "printed.csv", index=False)
        (tmp_path / "study.yaml").write_text(yaml.safe_dump({**study, "metrics": {"throughput": {"better": "higher"}}}))
        found = judged_study.of_file(tmp_path / "study.yaml")
        assert [one["paper_consistent"] for one in found.results] == said


def test_what_a_paper_prints_is_shown_beside_the_verdicts(tmp_path, monkeypatch, capsys):
    """On the page, in claims.csv, in the terminal, and from the library. Remarks in the paper's table are no factors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(place.paths, "PROJECT", tmp_path)
    rows(y=1.2).to_csv("results.csv", index=False)
    table = summarised(rows()).assign(note="Table 3")
    table[table["file"] == "x"].to_csv("printed.csv", index=False)
    (tmp_path / "paper.yaml").write_text(yaml.safe_dump({"claims": CLAIMS}))
    words = ["judge", "--claims", "paper.yaml", "--data", "results.csv", "--printed", "printed.csv", "--out", "out"]
    assert cli.main(words) == 0
    told = capsys.readouterr().out
    assert "The paper's own numbers support 1, contradict 1 of 3 claims, and cannot test 1." in told
    assert pd.read_csv("out/claims.csv", keep_default_na=False)["paper_consistent"].tolist() == ["yes", "no", ""]
    page = (tmp_path / "out/report.html").read_text()
    assert "support 1, contradict 1 of 3 claims" in page and "the paper's own numbers support it: yes" in page
    found = judge(rows(y=1.2), CLAIMS, printed=table)
    assert [one["paper_consistent"] for one in found.results] == ["yes", "no", "yes"]
    assert list(found.verdicts.values()) == ["reproduced", "contradicted", "contradicted"]
    for changed, said in (
        (table.rename(columns={"file": "flie"}), "table, as printed, line 1: there is no column 'file' (did you mean flie?)"),
        (table.assign(mean=""), "table, as printed, row 1: this row of the paper's own table has no mean"),
        (
            table.assign(metric="tiem"),
            "table, as printed, row 1: no row of the data has the metric 'tiem' (did you mean time?)",
        ),
        (table.assign(better="higher"), "table, as printed, row 1: time has the better 'higher'"),
    ):
        changed = changed.assign(value=1.0) if (changed["mean"] == "").all() else changed
        with pytest.raises(PlimsollError) as refused:
            judge(rows().assign(better="lower"), CLAIMS, printed=changed)
        assert str(refused.value).startswith(said)


def test_two_sessions_without_blocks_are_pooled_and_that_is_said(tmp_path):
    """Three sessions are the unit, and blocks pair the sides: then there is nothing to say."""
    days = [rows(seed).assign(session=f"day {seed}").drop(columns="block") for seed in (1, 2, 3)]
    found = judged_study.of_file(written(tmp_path, pd.concat(days[:2])))
    (note,) = found.notes
    assert note.startswith("The rows of 2 sessions are pooled") and note.endswith("measure another session, or name the block.")
    page = outputs.write(found, tmp_path / "out", [])
    # Words of the glossary are links.
    assert "The rows of 2 sessions are pooled" in re.sub("<[^>]+>", "", page.read_text())
    assert f"Note: {note}" in verdict_text.text(found, page)
    alone = pd.concat([days[0][days[0]["level"] == "1"], days[1]])
    assert judge(alone, CLAIMS).notes[1].startswith("Of 4 cells, 2 were measured in one session only.")
    assert judge(pd.concat(days), CLAIMS).notes == [] and judge(rows().assign(session="a"), CLAIMS).notes == []


def test_a_study_and_data_that_disagree_on_what_is_better_are_refused(tmp_path):
    table = rows().assign(better="lower")
    assert refusal(tmp_path, table, metrics={"time": {"better": "higher"}}) == (
        "results.csv, line 2: a lower time is better there, and a higher one in own.yaml, line 26. Leave `better` "
        "out of the study, or correct the data."
    )
    assert judged_study.of_file(written(tmp_path, table, metrics={"time": {"better": "lower"}})).study["metrics"]["time"][
        "known"
    ]
    table.loc[7, "better"] = "higher"
    assert refusal(tmp_path, table).startswith(
        "results.csv, line 9: time has the better 'higher' there, and 'lower' in results.csv,"
    )
    # A unit only suggests a direction: a study may say another one.
    study = judged_study.of_file(written(tmp_path, rows(), metrics={"time": {"better": "higher"}})).study
    assert study["metrics"]["time"]["better"] == "higher"


# Each kind of bad input that issue reports name: how the table or a claim is spoilt, and where that is.
SPOILT = {
    "a column is missing": (
        lambda table: table.drop(columns="level"),
        {},
        r"own.yaml, line \d+: own-c01: a: 'level' is not a factor",
    ),
    "two units": (
        lambda table: table.assign(unit=["ms", *table["unit"][1:]]),
        {},
        r"results.csv, line 3: time has the unit 's' there, and 'ms' in results.csv, line 2",
    ),
    "a misspelt level": (
        lambda table: table,
        {"b": {"level": ["l"]}, "a": {"file": ["x"]}},
        r"own.yaml, line 4: own-c01: b.level: 'l' is not a level",
    ),
    "a level whose nearest is named": (
        lambda table: table.replace({"level": {"1": "fast", "9": "slow"}}),
        {"a": {"level": ["slwo"]}, "b": {"level": ["fast"]}},
        r"own.yaml, line 4: own-c01: a.level: 'slwo' is not a level of the study \(did you mean slow\?\)",
    ),
    "one run per cell": (
        lambda table: table.head(4),
        {},
        r"results.csv, line 2: its cell \(level 1, file x\) has one run, and no cell has 3",
    ),
    "not a number": (
        lambda table: table.astype({"value": object}).assign(value=["0,98", *table["value"][1:]]),
        {},
        r"results.csv, line 2: time is '0,98', which is not a number",
    ),
    "what the table lacks": (
        lambda table: table,
        {"scope": {"threads": ["4"]}},
        r"own.yaml, line 4: own-c01: scope: 'threads' is not a factor of the study",
    ),
    "a factor of a trend": (
        lambda table: table,
        {"along": {"factor": "levle", "direction": "increasing"}, "a": None, "b": None, "expected": None},
        r"own.yaml, line 4: own-c01: along(\.factor)?: 'levle' .*\(did you mean level\?\)",
    ),
    "a level of an order": (
        lambda table: table,
        {"order": [{"level": ["9"]}, {"level": ["01"]}], "a": None, "b": None},
        r"own.yaml, line 4: own-c01: order.level: '01' is not a level",
    ),
    "a metric": (
        lambda table: table,
        {"metrics": ["tiem"]},
        r"own.yaml, line 4: own-c01: metrics: 'tiem' .*did you mean time\?",
    ),
}


@pytest.mark.parametrize("kind", SPOILT)
@pytest.mark.parametrize("zipped", [False, True], ids=["file", "zip"])
def test_bad_input_is_one_sentence_with_file_and_line(tmp_path, kind, zipped):
    spoil, changes, said = SPOILT[kind]
    claim = {key: value for key, value in {**HIGHER, **changes}.items() if value is not None}
    table = spoil(rows().astype({"level": str, "block": str}))
    study = written(tmp_path, table, [claim])
    if zipped:
        packed(tmp_path / "z.zip", {"results.csv": (tmp_path / "results.csv").read_text()})
        study.write_text(study.read_text().replace("results.csv", "z.zip"))
    with pytest.raises(PlimsollError) as refused:
        judged_study.of_file(study)
    told = str(refused.value)
    assert "\n" not in told and told.endswith(".")
    plain = told.replace(f"{tmp_path}/", "").replace("z.zip/", "")
    assert re.match(said, plain), plain


@pytest.mark.parametrize("name", [*RESERVED, "runtime", "host", "system", "cell", "n", "sd", "id", "cells"])
def test_no_factor_has_the_name_of_a_column_that_tables_have(name):
    """Plimsoll's own columns would be overwritten, and a verdict would be about something else. Other names change nothing."""
    table, role = rows(), name in ROLES and name not in ("n", "sd")
    if role:
        # The column that has the role is then another one.
        table["own"] = table.get(name, "lower")
    table[name] = table.pop("level")
    claims = [{**claim, "a": {name: claim["a"]["level"]}, "b": {name: claim["b"]["level"]}} for claim in CLAIMS[:2]]
    asked = {"factors": [name, "file"], "columns": {name: "own"} if role else {}}
    if name in RESERVED:
        with pytest.raises(PlimsollError, match=f"row 1: no factor can be called '{name}'"):
            judge(table, claims, **asked)
    else:
        assert list(judge(table, claims, **asked).verdicts.values()) == VERDICTS[:2]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"metrics": {"time": "s"}}, "metrics.time: 's' is not a mapping"),
        ({"metrics": {"time": {"better": "smaller"}}}, "metrics.time.better: 'smaller' is not one of higher, lower"),
        ({"columns": {"blok": "block"}}, "columns: unknown key 'blok' (did you mean block?)"),
        ({"alpha": 2}, "alpha: 2 is greater than or equal to the maximum of 1"),
        ({"data": [1, 2]}, "a data frame of pandas is needed, and this is a list"),
    ],
)
def test_the_library_refuses_arguments_of_another_form(given, said):
    with pytest.raises(PlimsollError, match=re.escape(said)):
        judge(**{"data": rows(), "claims": CLAIMS, **given})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"a": None}, "it has no 'a'"),
        ({"b": None}, "it has no 'b'"),
        ({"expected": None}, "it has no 'expected'"),
        ({"b": HIGHER["a"]}, "a and b are the same levels"),
        ({"needs": ["sockets"]}, "needs: sockets, but a table says nothing of the machine that made it"),
    ],
)
def test_a_claim_that_does_not_say_what_it_compares_is_refused(tmp_path, changed, said):
    claim = {key: value for key, value in {**HIGHER, **changed}.items() if value is not None}
    assert refusal(tmp_path, rows(), [claim]).startswith(f"own.yaml, line 4: own-c01: {said}")


def test_an_answer_needs_a_direction(tmp_path):
    """Without one, a slower level would be recommended as often as a faster one."""
    table = rows().assign(unit="points")
    told = refusal(tmp_path, table, baseline={"level": ["1"]})
    assert "baseline: nothing says whether a higher or a lower 'time' is better" in told
    found = judged_study.of_file(written(tmp_path, table, baseline={"level": ["1"]}, metrics={"time": {"better": "lower"}}))
    assert list(found.answer["metric"].unique()) == ["time"]


def test_means_test_no_trend_and_no_spread_and_the_reason_says_so(tmp_path):
    trend = {"statement": "Time grows with the level.", "along": {"factor": "level", "direction": "increasing"}}
    spread = {**HIGHER, "statement": "Level 9 spreads more.", "quantity": "dispersion"}
    found = judged_study.of_file(written(tmp_path, summarised(rows()), [*CLAIMS, trend, spread]))
    assert verdicts_of(found) == [*VERDICTS, "not testable here", "not testable here"]
    assert [one["reason"] for one in found.results[3:]] == [
        "a trend is tested by single runs, and these are means",
        "the quantity dispersion is tested by single runs, and these are means",
    ]
    assert "cannot test 2." in verdict_text.text(found, tmp_path)


def test_two_files_of_the_same_runs_are_noted(tmp_path):
    claim = {"statement": "zstd is faster.", "a": {"tool": ["zstd"]}, "b": {"tool": ["gzip"]}, "expected": "higher"}
    both = of_data(tmp_path, READERS / "reframe-perflog.log", READERS / "reframe-report.json", claims=[claim])
    assert (
        len(both.notes) == 1
        and "have the same values. If they are of the same runs, these count more than once" in both.notes[0]
    )
    assert of_data(tmp_path, READERS / "reframe-perflog.log", claims=[claim]).notes == []


@pytest.mark.parametrize("role", ["block", "session", "machine"])
def test_a_role_is_of_all_rows_or_of_none(tmp_path, role):
    table = rows().drop(columns="block").assign(**{role: ["", *["1"] * 47]})
    assert f"results.csv, line 2 names no {role}, and results.csv, line 3 does" in refusal(tmp_path, table)


@pytest.mark.parametrize("quantity", OF_STUDIES)
def test_what_only_our_own_runs_have_is_refused(tmp_path, quantity):
    told = refusal(
        tmp_path,
        rows(),
        [{**HIGHER, "quantity": quantity, "relative_to": {"level": ["1"]}, "values": {"a": "TCP", "b": "TCP"}}],
    )
    assert f"quantity: the {quantity} follows from what Plimsoll observes of its own runs" in told


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {"magnitude": {"low": -30, "high": -20, "of": "(a - b) / b"}, "expected": "lower"},
            "magnitude: -30 is a loss of 3000 %, and nothing can lose more than 100 %. Write shares: -0.3 for 30 %.",
        ),
        (
            {"margin": 5, "threshold": "5 % is small.", "expected": "not_lower"},
            "margin: 5 allows a loss of 500 %, and nothing can lose 100 %. Write shares: 0.05 for 5 %.",
        ),
    ],
)
def test_a_percentage_in_place_of_a_share_is_refused(tmp_path, keys, said):
    assert refusal(tmp_path, rows(), [{**HIGHER, **keys}]) == f"own.yaml, line 4: own-c01: {said}"


def test_a_key_that_a_file_of_claims_does_not_have_is_refused(tmp_path):
    rows().to_csv(tmp_path / "results.csv", index=False)
    (tmp_path / "paper.yaml").write_text(yaml.safe_dump({"factors": ["level"], "claims": CLAIMS}))
    with pytest.raises(
        PlimsollError, match=r"paper.yaml, line \d+: unknown key 'factors'; a file of claims has claims and questions"
    ):
        judged_study.of_files([tmp_path / "results.csv"], tmp_path / "paper.yaml")


def test_a_number_of_the_run_is_no_factor():
    """Most tables have one. As a factor it would leave one run in each cell."""
    for name in ("repetition", "rep", "Run_ID"):
        table = rows().rename(columns={"block": name})
        assert list(judge(table, CLAIMS).verdicts.values()) == VERDICTS


def test_a_size_that_is_not_relative_to_side_b_may_be_below_minus_one():
    """Relative to side a, three times as much is -2; and the rates of some papers are in percentage points."""
    for of in ("(a - b) / a", "a - b (difference of rates)"):
        claim = {**HIGHER, "magnitude": {"low": -3, "high": -2, "of": of}}
        assert judge(rows(), [claim]).verdicts == {"table-c01": "reproduced"}
    untestable = {**HIGHER, "magnitude": {"low": -30, "high": -20, "of": "(a - b) / b"}, "untestable": "it is not measured"}
    assert judge(rows(), [untestable]).results[0]["reason"] == "it is not measured"


def test_a_column_n_is_a_factor_without_deviations():
    """It is then the size of a problem. Beside `sd` or `mean` it is a number of values."""
    table = rows().rename(columns={"file": "n"})
    assert judge(table, CLAIMS[:1]).comparisons["cell_a"].tolist() == ["9/x", "9/y"]
    assert judge(table.assign(sd=0.1, n=5), CLAIMS[:1]).comparisons["cell_a"].tolist() == ["9"]


def test_what_was_concluded_about_columns_is_noted(tmp_path):
    wide = rows().rename(columns={"value": "time", "block": "trial"}).drop(columns=["metric", "unit"])
    wide["load"] = np.tile([0.5, 0.9], len(wide) // 2)
    notes = judge(wide, CLAIMS[:2], metrics={"time": {"unit": "s"}}).notes
    assert [note.partition(",")[0] for note in notes] == [
        "The column trial numbers the runs",
        "The column load has decimal numbers that come again and again",
    ]
    # A trial that has a name is a factor.
    named = wide.drop(columns="load").assign(trial=np.repeat(["early", "late"], len(wide) // 2))
    assert judge(named, CLAIMS[:2], metrics={"time": {"unit": "s"}}).comparisons["cell_a"].str.contains("early").any()


def test_factors_are_named_on_the_command_line_and_the_page_from_there(tmp_path, monkeypatch, capsys):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    rows().to_csv("results.csv", index=False)
    Path("paper.yaml").write_text(yaml.safe_dump({"claims": CLAIMS[:2]}))
    monkeypatch.setattr(place.paths, "PROJECT", tmp_path)
    assert cli.main(["judge", "--claims", "paper.yaml", "--data", "results.csv", "--factors", "level"]) == 0
    assert f"Read on: {tmp_path}/results/judged/paper/report.html" in capsys.readouterr().out
    found = pd.read_csv(tmp_path / "results/judged/paper/comparisons.csv", dtype=str)
    assert set(found["cell_a"]) == {"9"}


def test_an_order_needs_what_it_expects(tmp_path):
    order = {"statement": "From small to large.", "order": [{"level": ["1"]}, {"level": ["9"]}]}
    assert "it has no 'expected'" in refusal(tmp_path, rows(), [order])

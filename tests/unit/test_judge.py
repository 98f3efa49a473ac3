"""`plimsoll judge`: measurements and the claims about them, from files to verdicts."""

import json
import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from plimsoll import cli, designs
from plimsoll.analysis import collect, summaries
from plimsoll.analysis.summaries import Summary
from plimsoll.claims import book, compare, findings, quantities, verdicts
from plimsoll.cli import place
from plimsoll.config import studies
from plimsoll.designs.table import assumptions, judged_study, metrics, outputs, study_file, verdict_text
from plimsoll.errors import PlimsollError
from plimsoll.measuring import plan_file
from plimsoll.verdicts import judge, judge_study
from scipy import stats

from tests.conftest import PROJECT, REFERENCE

TABLES = PROJECT / "tests/data/tables"
HIGHER = {"statement": "Level 9 takes longer than level 1.", "a": {"level": ["9"]}, "b": {"level": ["1"]}, "expected": "higher"}
LIKE = {
    **HIGHER,
    "statement": "Both files take the same.",
    "a": {"file": ["x"]},
    "b": {"file": ["y"]},
    "expected": "no_difference",
}
# Verdicts by the planted ratios below.
CLAIMS = [HIGHER, {**HIGHER, "statement": "Level 9 takes less than level 1.", "expected": "lower"}, LIKE]


def rows(seed: int = 45, n: int = 12, noise: float = 0.02, **ratios: float) -> pd.DataFrame:
    """Return a table in long form: level 9 takes three times as long as level 1, and both files the same."""
    random = np.random.default_rng(seed)
    made = [
        {
            "level": level,
            "file": file,
            "value": base * ratios.get(file, 1.0) * np.exp(random.normal(0, noise)),
            "metric": "time",
            "unit": "s",
            "block": block,
        }
        for block in range(1, n + 1)
        for level, base in (("1", 1.0), ("9", 3.0))
        for file in ("x", "y")
    ]
    return pd.DataFrame(made)


def written(folder, table: pd.DataFrame, claims=CLAIMS, **keys):
    """Write a table and a study of it, and return the study's path."""
    table.to_csv(folder / "results.csv", index=False)
    study = {"design": "table", "data": "results.csv", "claims": claims, **keys}
    (folder / "own.yaml").write_text(yaml.safe_dump(study, sort_keys=False))
    return folder / "own.yaml"


def refusal(folder, table, claims=CLAIMS, **keys) -> str:
    """Return the sentence by which a study is refused, without its folder."""
    with pytest.raises(PlimsollError) as refused:
        judged_study.of_file(written(folder, table, claims, **keys))
    told = str(refused.value)
    assert told.endswith(".") and "\n" not in told
    return told.replace(f"{folder}/", "")


def test_a_table_is_judged_by_its_claims(tmp_path):
    found = judged_study.of_file(written(tmp_path, rows()))
    assert [one["verdict"] for one in found.results] == ["reproduced", "contradicted", "reproduced"]
    first = found.results[0]
    assert first["comparisons"] == 2 and first["n_least"] == 12 and first["q"] < 1e-6
    assert first["effect_least"] == pytest.approx(2.0, rel=0.05)


def test_long_and_wide_form_and_parquet_give_the_same(tmp_path):
    table = rows()
    expected = judge(table, CLAIMS).comparisons
    wide = table.rename(columns={"value": "time"}).drop(columns=["metric", "unit"])
    metrics = {"time": {"unit": "s", "better": "lower"}}
    pd.testing.assert_frame_equal(judge(wide, CLAIMS, metrics=metrics).comparisons, expected)
    table.to_parquet(tmp_path / "results.parquet")
    (tmp_path / "own.yaml").write_text(
        yaml.safe_dump({"design": "table", "id": "table", "data": "results.parquet", "claims": CLAIMS})
    )
    pd.testing.assert_frame_equal(judged_study.of_file(tmp_path / "own.yaml").comparisons, expected)


def test_claims_and_data_need_no_study(tmp_path):
    """A column of numbers that no claim names, such as another metric in wide form, is no factor."""
    table = rows().rename(columns={"value": "time"}).drop(columns=["metric", "unit"])
    table["memory"] = np.linspace(1.5, 9.7, len(table))
    table.to_csv(tmp_path / "results.csv", index=False)
    claims = [{**claim, "metrics": ["time"]} for claim in CLAIMS]
    (tmp_path / "paper.yaml").write_text(yaml.safe_dump({"claims": claims}))
    found = judged_study.of_files([tmp_path / "results.csv"], tmp_path / "paper.yaml")
    assert found.study["factors"] == ["level", "file"] and list(found.study["metrics"]) == ["time"]
    assert [one["verdict"] for one in found.results] == ["reproduced", "contradicted", "reproduced"]
    assert found.results[0]["id"] == "paper-c01" and "The column memory has measured numbers" in found.notes[0]
    # A factor may have decimal numbers too: these come again and again.
    table["memory"] = np.tile([0.5, 0.9], len(table) // 2)
    table.to_csv(tmp_path / "results.csv", index=False)
    found = judged_study.of_files([tmp_path / "results.csv"], tmp_path / "paper.yaml")
    assert found.study["factors"] == ["level", "file", "memory"] and "so it is a factor" in found.notes[0]
    found = judged_study.of_files([tmp_path / "results.csv"], tmp_path / "paper.yaml", factors=["level", "file"])
    assert found.study["factors"] == ["level", "file"]


def test_a_study_makes_what_every_study_has(tmp_path):
    study = written(tmp_path, rows(), baseline={"level": ["1"]}, question="What does a level cost?")
    found = judged_study.of_file(study)
    page = outputs.write(found, tmp_path / "out", [study])
    made = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    tables = {"answer.csv", "cells.csv", "claims.csv", "comparisons.csv", "observations.csv", "tables/tests.csv"}
    figures = {f"figures/time.{end}" for end in ("png", "pdf", "values.json", "csv", "txt", "alt.txt")}
    assert made == {*tables, *figures, "report.html", "junit.xml", "claims.json", "plan.json", "own.zip"}
    text = page.read_text()
    spots = json.loads((tmp_path / "out/figures/time.values.json").read_text())
    assert text.count("data-value=") == len(spots) == 4 and {one["unit"] for one in spots} == {"s"}
    assert "What does a level cost?" in text and 'class="forest"' in text and text.count('<section class="claim') == 3
    assert "Use the runs" not in text and "plimsoll precise" not in text
    answer = pd.read_csv(tmp_path / "out/answer.csv")
    assert answer["ratio"].item() == pytest.approx(3.0, rel=0.05) and answer["p_beyond_holm"].item() < 0.001
    suite = ET.parse(tmp_path / "out/junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "0")
    told = verdict_text.text(found, page)
    assert told.startswith("The answer: 1 of 1 ratio to level 1 loses") and "Avoid level 9" in told
    assert (verdict_text.status(found, strict=False), verdict_text.status(found, strict=True)) == (0, 1)


def test_the_archive_has_inputs_and_results_and_is_judged_alike(tmp_path):
    study = written(tmp_path, rows())
    for out in ("one", "two"):
        outputs.write(judged_study.of_file(study), tmp_path / out, [study])
    assert (tmp_path / "one/own.zip").read_bytes() == (tmp_path / "two/own.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one/own.zip") as archive:
        archive.extractall(tmp_path / "again")
    again = judged_study.of_file(tmp_path / "again/inputs/own.yaml")
    kept = json.loads((tmp_path / "again/results/claims.json").read_text())
    assert [one["verdict"] for one in again.results] == [one["verdict"] for one in kept]


def test_other_files_of_the_folder_stay_out_of_the_archive(tmp_path):
    """The folder may be any: also that of the study, and one with results of another day."""
    study = written(tmp_path, rows())
    (tmp_path / "secret.txt").write_text("not a result")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures/old.png").write_text("of another study")
    outputs.write(judged_study.of_file(study), tmp_path, [study])
    with zipfile.ZipFile(tmp_path / "own.zip") as archive:
        names = archive.namelist()
    assert {"results/report.html", "results/figures/time.png", "inputs/own.yaml", "inputs/results.csv"} <= {*names}
    assert not [name for name in names if "secret" in name or "old" in name or name == "results/own.yaml"]
    assert (tmp_path / "secret.txt").read_text() == "not a result"
    with pytest.raises(PlimsollError, match=r"secret.txt cannot be written: "):
        outputs.write(judged_study.of_file(study), tmp_path / "secret.txt", [study])


@pytest.mark.parametrize(
    ("changed", "claims", "keys", "said"),
    [
        ({"value": "seconds"}, CLAIMS, {}, "results.csv, line 1: there is no column 'value', and no metric is named that is a"),
        (
            {},
            CLAIMS,
            {"factors": ["level", "fiel"]},
            "results.csv, line 1: there is no column 'fiel' (did you mean file?): it has",
        ),
        ({}, CLAIMS, {"columns": {"block": "day"}}, "results.csv, line 1: there is no column 'day': it has level, file,"),
        (
            {},
            [{**HIGHER, "a": {"lvel": ["9"]}}],
            {},
            "own.yaml, line 4: own-c01: a: 'lvel' is not a factor of the study (did you mean level?) (metric, level, file).",
        ),
        (
            {},
            [*CLAIMS, {**HIGHER, "a": {"file": ["xx"]}, "b": {"file": ["y"]}}],
            {},
            "own.yaml, line 24: own-c04: a.file: 'xx' is not a level of the study (did you mean x?) (x, y).",
        ),
        (
            {},
            [{**HIGHER, "metrics": ["tim"]}],
            {},
            "own.yaml, line 4: own-c01: metrics: 'tim' is neither a metric of the study",
        ),
        ({}, [{**HIGHER, "expect": "higher"}], {}, "own.yaml, line 4: unknown key 'expect'"),
        (
            {},
            CLAIMS,
            {"baseline": {"level": ["2"]}},
            "own.yaml, line 26: baseline.level: '2' is not a level of the table. It has 1, 9.",
        ),
        (
            {},
            CLAIMS,
            {"metrics": {"tme": {}}},
            "own.yaml, line 25: metrics: no row has the metric 'tme' (did you mean time?): its data",
        ),
        ({}, CLAIMS, {"datum": 1}, "own.yaml, line 24: unknown key 'datum'"),
    ],
)
def test_what_does_not_fit_is_one_sentence_with_file_and_line(tmp_path, changed, claims, keys, said):
    told = refusal(tmp_path, rows().rename(columns=changed), claims, **keys)
    assert told.startswith(said), told


def test_two_units_in_one_metric_are_refused(tmp_path):
    table = rows()
    table.loc[5, "unit"] = "ms"
    assert refusal(tmp_path, table) == (
        "results.csv, line 7: time has the unit 'ms' there, and 's' in results.csv, line 2. "
        "Give both rows the same unit, or make two metrics of them."
    )


def test_a_unit_that_is_not_the_one_of_the_data_is_refused(tmp_path):
    assert refusal(tmp_path, rows(), metrics={"time": {"unit": "ms"}}) == (
        "results.csv, line 2: time has the unit 's' there, and 'ms' in own.yaml, line 26. Rows are not converted. Write the "
        "rows' unit in the study, or leave it out."
    )
    same = judged_study.of_file(written(tmp_path, rows(), metrics={"time": {"unit": "s"}}))
    assert same.study["metrics"]["time"]["unit"] == "s"


@pytest.mark.parametrize("absolute", [True, False])
def test_a_pattern_of_files_may_be_absolute(tmp_path, absolute, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a [1]").mkdir()
    for session in ("mon", "tue"):
        rows().to_csv(tmp_path / f"a [1]/day-{session}.csv", index=False)
    pattern = "day-*.csv"
    document = {"id": "own", "data": [{"path": str(tmp_path / "a [1]" / pattern) if absolute else pattern, "session": "{}"}]}
    source = study_file.of_document(document, Path("a [1]"), CLAIMS, metrics.at_all("own.yaml"))
    assert {row.session for row in source.rows} == {"mon", "tue"}
    (tmp_path / "paper.yaml").write_text(yaml.safe_dump({"claims": CLAIMS}))
    data = Path(f"{tmp_path}/*/*.csv") if absolute else Path("*/*.csv")
    assert len(judged_study.of_files([data], tmp_path / "paper.yaml").source.files) == 2
    with pytest.raises(PlimsollError, match=r"no\*.csv: there is no such file"):
        judged_study.of_files([tmp_path / "no*.csv"], tmp_path / "paper.yaml")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("fast", "time is 'fast', which is not a number."),
        ("inf", "time is 'inf', which cannot have been measured."),
        ("", "time is ''"),
    ],
)
def test_a_value_that_is_no_number_is_refused(tmp_path, value, said):
    table = rows().astype({"value": object})
    table.loc[3, "value"] = value
    assert refusal(tmp_path, table).startswith(f"results.csv, line 5: {said}")


def test_a_line_with_a_value_too_many_and_a_column_that_is_twice_are_refused(tmp_path):
    study = written(tmp_path, rows())
    whole = (tmp_path / "results.csv").read_text()
    for text, said in (
        (whole.replace("\n1,x", "\n1,x,2", 1), "results.csv, line 2: it has 7 values, and there are 6 columns."),
        (
            whole.replace("level,file", "file,file", 1),
            "results.csv, line 1: two columns have the name 'file'. Rename one of them.",
        ),
        ("level,file,value\n", "results.csv: it has no rows below the names of its columns."),
    ):
        (tmp_path / "results.csv").write_text(text)
        with pytest.raises(PlimsollError) as refused:
            judged_study.of_file(study)
        assert str(refused.value) == f"{tmp_path}/{said}"


def test_zero_and_one_run_per_cell_are_refused(tmp_path):
    table = rows()
    table.loc[0, "value"] = 0
    assert refusal(tmp_path, table).startswith("results.csv, line 2: time is 0, and sides are compared by their ratio")
    table = rows().assign(seed=range(48))
    told = refusal(tmp_path, table)
    assert told.startswith("results.csv, line 2: its cell (level 1, file x, seed 0) has one run, and no cell has 3")


def test_better_is_refused_of_a_metric_without_a_direction():
    table, claim = rows().assign(unit="points"), {**HIGHER, "expected": "better"}
    with pytest.raises(PlimsollError, match="but nothing says whether a higher or a lower"):
        judge(table, [claim])
    assert judge(table, [claim], metrics={"time": {"better": "higher"}}).verdicts == {"table-c01": "reproduced"}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("metrics", "time", "metrics: 'time' is not a list"),
        ("a", ["9"], "a: ['9'] is not a mapping of keys to values"),
        ("along", "level", "along: 'level' is not a mapping of keys to values"),
        ("parts", "two", "parts: 'two' is not a list"),
        ("metrics", 3, "metrics: 3 is not a list"),
    ],
)
def test_a_claim_of_wrong_types_is_refused_before_the_table_is_read(tmp_path, key, value, said):
    wrong = {**HIGHER, key: value}
    told = refusal(tmp_path, rows().drop(columns=["metric", "unit"]).rename(columns={"value": "time"}), [wrong])
    assert told.startswith("own.yaml, line 4: ") and said in told
    with pytest.raises(PlimsollError, match="^claims, number 1: "):
        judge(rows(), [wrong])


def test_what_is_not_tested_may_name_what_the_table_does_not_have():
    untested = {**HIGHER, "a": {"engine": ["v8"]}, "untestable": "the table has no engines"}
    (result,) = judge(rows(), [untested]).results
    assert (result["verdict"], result["reason"]) == ("not testable here", "the table has no engines")


def test_levels_that_paths_cannot_have_are_told_apart():
    """`none` and / are words of paths of cells, and usual levels of tables."""
    table = rows().replace({"level": {"1": "none", "9": "a/b"}})
    found = judge(table, [{**HIGHER, "a": {"level": ["a/b"]}, "b": {"level": ["none"]}}])
    assert found.verdicts == {"table-c01": "reproduced"} and set(found.comparisons["n"]) == {12}


def test_trends_orders_losses_and_counts_are_judged():
    random = np.random.default_rng(1)
    table = pd.DataFrame(
        [
            {
                "threads": t,
                "kind": kind,
                "value": np.exp(random.normal(0, 0.01)) * t ** (0.9 if kind == "a" else 0.5),
                "block": b,
            }
            for b in range(8)
            for t in (1, 2, 4)
            for kind in "ab"
        ]
    )
    claims = [
        {"statement": "More threads are faster.", "along": {"factor": "threads", "direction": "increasing"}},
        {"statement": "Four, two, one.", "order": [{"threads": [n]} for n in "421"], "expected": "higher"},
        {
            "statement": "The kind b loses more against one thread.",
            "a": {"threads": ["4"], "kind": ["b"]},
            "b": {"threads": ["4"], "kind": ["a"]},
            "expected": "higher",
            "quantity": "relative loss",
            "relative_to": {"threads": ["1"]},
        },
        {
            "statement": "One thread is the fastest.",
            "a": {"threads": ["1"]},
            "b": {"threads": ["2", "4"]},
            "expected": "higher",
        },
    ]
    found = judge(table, claims, metrics={"value": {"unit": "1/s", "better": "higher"}})
    assert list(found.verdicts.values()) == ["reproduced", "reproduced", "reproduced", "contradicted"]


def test_sessions_are_the_unit_and_few_sessions_are_not():
    """Sessions that differ by 30 % decide nothing, however many blocks each has; their blocks alone would."""
    table = pd.concat(
        [rows(seed, y=ratio).assign(session=f"day {seed}") for seed, ratio in enumerate((0.8, 1.25, 0.8, 1.25), 1)]
    )
    claim = {**LIKE, "expected": "higher"}
    assert judge(table, [claim]).results[0]["verdict"] == "inconclusive"
    one = judge(table[table["session"] == "day 1"], [claim])
    assert one.results[0]["verdict"] == "reproduced"


def test_a_claim_that_hangs_on_the_machine_is_conditional():
    table = pd.concat([rows(1, y=0.7).assign(machine="old"), rows(2, y=1.5).assign(machine="new")])
    (result,) = judge(table, [{**LIKE, "expected": "higher"}]).results
    assert result["verdict"] == verdicts.CONDITIONAL
    assert {words: one["verdict"] for words, one in result["arrangements"].items()} == {
        "the machine new": "contradicted",
        "the machine old": "reproduced",
    }


def unpaired(seed: int, n: tuple[int, int], ratio: float = 1.0) -> pd.DataFrame:
    """Return rows without blocks, sorted by value as tables often are. Their noise is the same in both levels."""
    random = np.random.default_rng(seed)
    values = [np.sort(base * np.exp(random.normal(0, 0.05, number))) for base, number in zip((1.0, ratio), n, strict=True)]
    levels = np.repeat(["1", "9"], n)
    return pd.DataFrame({"level": levels, "value": np.concatenate(values)})


def test_rows_without_blocks_are_judged_unpaired_whatever_their_order():
    """The p-value is Welch's of the logarithms, of all rows of unequal cells."""
    table = unpaired(1, (12, 9), 1.1)
    logs = [np.log(group["value"]) for _, group in table.groupby("level")]
    usual = stats.ttest_ind(*logs, equal_var=False).pvalue
    for rows_ in (table, table.sample(frac=1, random_state=1)):
        (row,) = judge(rows_, [HIGHER]).comparisons.to_dict("records")
        assert row["p"] == pytest.approx(usual) and (row["n_a"], row["n_b"], row["n"]) == (9, 12, 9)
        assert row["test"] == summaries.WELCH_OF_LOGARITHMS


@pytest.mark.parametrize(
    "claim",
    [
        HIGHER,
        {"statement": "More is slower.", "along": {"factor": "level", "direction": "increasing"}},
        {**HIGHER, "quantity": "dispersion"},
    ],
    ids=["value", "trend", "dispersion"],
)
def test_sorted_rows_without_a_difference_are_decided_as_seldom_as_alpha_says(claim):
    """A/A: one of twenty may be decided, in either direction. Pairs of sorted rows would decide half of them."""
    tables, decided = 100, 0
    for seed in range(tables):
        table = unpaired(seed, (12, 12))
        table = pd.concat([table, unpaired(1000 + seed, (12, 12)).query("level == '9'").replace({"level": {"9": "5"}})])
        (row,) = judge(table, [claim]).comparisons.to_dict("records")
        decided += row["p"] < 0.05
    # Of 100 tables, 12 or more have a probability of 0.4 % if one of twenty is.
    assert 0 < decided < 12


def test_two_metrics_of_one_line_are_of_one_run():
    """Lines of a wide table pair their metrics: what both have in common cancels."""
    random = np.random.default_rng(6)
    shared = np.exp(random.normal(0, 0.5, 10))
    one, other = (shared * ratio * np.exp(random.normal(0, 0.01, 10)) for ratio in (1.1, 1.0))
    table = pd.DataFrame({"level": "1", "one": one, "other": other})
    claim = {"statement": "One takes longer.", "a": {"metric": ["one"]}, "b": {"metric": ["other"]}, "expected": "higher"}
    found = judge(table, [{**claim, "metrics": ["one", "other"]}], metrics={"one": {}, "other": {}})
    assert list(found.verdicts.values()) == ["reproduced"] and set(found.comparisons["test"]) == {"paired t within blocks"}


def test_sorted_rows_whose_cells_differ_are_found():
    found = judge(pd.concat([unpaired(2, (8, 8), 1.3)]), [HIGHER, {**HIGHER, "expected": "no_difference"}])
    assert list(found.verdicts.values()) == ["reproduced", "contradicted"]


def test_some_rows_with_a_block_and_some_without_are_refused(tmp_path):
    table = rows().astype({"block": str})
    table.loc[3, "block"] = ""
    assert refusal(tmp_path, table) == (
        "results.csv, line 5 names no block, and results.csv, line 2 does. Give all rows a block, or none of them."
    )


@pytest.mark.parametrize("block", [{}, {"block": [1, 2, 3, 4] * 2}], ids=["unpaired", "paired"])
def test_values_that_are_the_same_in_every_run_stay_open_and_the_page_says_why(tmp_path, block):
    table = pd.DataFrame({"level": ["1"] * 4 + ["9"] * 4, "value": 3.7, **block})
    found = judged_study.of_file(written(tmp_path, table, [HIGHER, {**HIGHER, "expected": "no_difference"}]))
    assert [one["verdict"] for one in found.results] == ["inconclusive"] * 2
    outputs.write(found, tmp_path / "out", [])
    said = assumptions.said(found.source.rows, pd.read_csv(tmp_path / "out/cells.csv"))[2]
    page = (tmp_path / "out/report.html").read_text()
    assert said.startswith("In 2 of 2 cells, all runs have the same value.") and "No test can decide between two" in page


def test_no_comparison_has_no_average():
    assert compare.whole([], quantities.find(None), 0.05) is None


def test_what_rows_without_blocks_assume_is_said(tmp_path):
    """Runs that drift correlate, and are worth fewer than they are. The page says that cells follow each other."""
    walk = np.exp(np.cumsum(np.random.default_rng(3).normal(0, 0.05, 60)))
    table = pd.DataFrame({"level": ["1"] * 30 + ["9"] * 30, "value": walk})
    found = judged_study.of_file(written(tmp_path, table, [HIGHER]))
    outputs.write(found, tmp_path / "out", [tmp_path / "own.yaml"])
    cells = pd.read_csv(tmp_path / "out/cells.csv")
    assert (cells["lag1"] > 0.5).all() and (cells["effective"] < 12).all()
    page = (tmp_path / "out/report.html").read_text()
    assert "All rows are taken as independent runs" in page and "Welch" in page and "looks like a difference" in page
    steady = assumptions.lag1(np.exp(np.random.default_rng(4).normal(0, 0.05, 2000)))
    assert abs(steady) < 0.1 and assumptions.effective(30, -0.2) == 30


def test_means_are_compared_by_welchs_test():
    """For a small spread the ratio of means has Welch's p of the difference of means."""
    a, b = Summary(101.0, 1.5, 8), Summary(100.0, 0.7, 12)
    shown = summaries.estimate({("time", "a"): (1.0, a), ("time", "b"): (-1.0, b)})
    usual = stats.ttest_ind_from_stats(a.mean, a.sd, 8, b.mean, b.sd, 12, equal_var=False)
    assert 2 * min(shown.above(0), shown.below(0)) == pytest.approx(usual.pvalue, rel=0.03)


def test_an_average_of_means_counts_a_shared_mean_once():
    base, one, other = Summary(10, 1, 5), Summary(12, 1, 5), Summary(14, 1, 5)
    shared = {("time", "base"): (-1.0, base)}
    terms = [{("time", "a"): (1.0, one), **shared}, {("time", "b"): (1.0, other), **shared}]
    together = summaries.together(terms, [0.5, 0.5])
    assert {cell: weight for (_, cell), (weight, _) in together.items()} == {"a": 0.5, "b": 0.5, "base": -1.0}
    assert summaries.estimate(together).error == pytest.approx((one.variance / 4 + other.variance / 4 + base.variance) ** 0.5)


def test_an_average_over_metrics_of_the_same_runs_is_as_uncertain_as_one_metric():
    """Means do not say how metrics move together, and four that do are worth no more than one."""
    one, other = Summary(12, 1, 5), Summary(10, 1, 5)
    terms = [{(name, "a"): (1.0, one), (name, "b"): (-1.0, other)} for name in "wxyz"]
    average = summaries.estimate(summaries.together(terms, [0.25] * 4))
    single = summaries.estimate(terms[0])
    assert (average.mean, average.error, average.degrees) == pytest.approx((single.mean, single.error, single.degrees))


def summarised(table: pd.DataFrame) -> pd.DataFrame:
    of = table.groupby(["level", "file", "metric", "unit"])["value"].agg(mean="mean", sd="std", n="count")
    return of.reset_index()


def test_a_printed_table_is_judged_and_says_whether_the_paper_is_consistent(tmp_path):
    found = judged_study.of_file(written(tmp_path, summarised(rows())))
    assert [one["verdict"] for one in found.results] == ["reproduced", "contradicted", "reproduced"]
    assert [one["paper_consistent"] for one in found.results] == ["yes", "no", "yes"]
    outputs.write(found, tmp_path / "out", [])
    assert "Welch" in (tmp_path / "out/report.html").read_text()


def test_a_paper_that_prints_means_alone_is_consistent_by_them(tmp_path):
    summarised(rows()).drop(columns=["sd", "n"]).to_csv(tmp_path / "printed.csv", index=False)
    found = judged_study.of_file(written(tmp_path, rows(y=1.2), printed="printed.csv"))
    assert [one["verdict"] for one in found.results] == ["reproduced", "contradicted", "contradicted"]
    told = [one["paper_consistent"] for one in found.results]
    assert told == ["yes, by the means alone", "no, by the means alone", "yes, by the means alone"]


def test_means_beside_single_values_and_a_mean_twice_are_refused(tmp_path):
    both = pd.concat([rows(), summarised(rows())])
    assert "a mean, and results.csv, line 2 is a single value" in refusal(tmp_path, both)
    assert "there is another mean of time for the same cell" in refusal(tmp_path, pd.concat([summarised(rows())] * 2))


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("sd", -0.1, "time has the standard deviation -0.1, which is never below 0."),
        ("n", 0, "time has n = 0, and a number of runs is whole and at least 1."),
        ("n", 2.5, "time has n = 2.5, and a number of runs is whole and at least 1."),
        ("mean", 0, "time has the mean 0. Sides are compared by the ratio of their means, which needs means above 0."),
        ("mean", -1, "time has the mean -1. Sides"),
    ],
)
def test_means_spreads_and_numbers_that_no_runs_have_are_refused(tmp_path, column, value, said):
    table = summarised(rows()).astype({"n": float})
    table.loc[1, column] = value
    assert refusal(tmp_path, table).startswith(f"results.csv, line 3: {said}")
    counts = table.assign(unit="count")
    assert refusal(tmp_path, counts).startswith(f"results.csv, line 3: {said}")


@pytest.mark.parametrize(("name", "reproduced"), [("zstd", 4), ("json", 8), ("languages", 6)])
def test_statements_of_documentation_are_judged_and_the_planted_one_is_found(name, reproduced):
    found = judged_study.of_file(TABLES / name / "study.yaml")
    assert len(found.results) == 11
    *written_from_texts, planted = found.results
    assert "planted" in planted["statement"] and planted["verdict"] == "contradicted" and planted["robust"]
    each = [one["verdict"] for one in written_from_texts]
    assert each.count("reproduced") == reproduced and "not testable here" not in each


def of_reference(study: str, folder):
    """Return a study with its plan, its claims, its tables and its verdicts, as results/reference has them."""
    kept = REFERENCE / study
    with zipfile.ZipFile(kept / f"reference-{study}.zip") as archive:
        plan = archive.extract(next(name for name in archive.namelist() if name.endswith(f"{study}/plan.json")), folder)
    loaded = studies.load(study, designs.known())
    read = plan_file.read(Path(plan), loaded.design.factors)
    tables = [collect.table(kept / f"{name}.csv", read["factors"]) for name in ("observations", "runs")]
    expected = {one["id"]: one["verdict"] for one in findings.of_table(kept / "claims.csv")}
    return loaded, read, tables, book.load(study), expected


# The claims of these take half a minute together.
LARGE = [pytest.param(name, marks=pytest.mark.long) for name in ("jha2018", "jha2021", "liu2020")]


@pytest.mark.parametrize("study", ["li2018", "plimsoll2026", "amaral2015", "li2018-hadoop", *LARGE])
def test_the_library_says_what_the_workflow_says_of_the_reference_results(study, tmp_path):
    loaded, plan, tables, claims, expected = of_reference(study, tmp_path)
    found = judge_study(loaded, plan, *tables, claims).verdicts
    # Some claims have the verdicts of other references that answer them.
    kept = pd.read_csv(REFERENCE / study / "claims.csv").set_index("id")["answered_by"]
    own = {name: verdict for name, verdict in expected.items() if kept[name] == "{}"}
    assert own and {name: found[name] for name in own} == own and found.keys() == expected.keys()


def test_a_plain_table_of_reference_observations_has_the_workflows_verdicts(tmp_path):
    """The design `table` knows nothing of li2018 but the columns of its observations."""
    _, _, (observations, _), claims, expected = of_reference("li2018", tmp_path)
    factors = ["benchmark", "runtime", "storage"]
    table = observations[observations["runtime"] != "vm-emulated"].replace({"storage": {"none": ""}})
    asked = [{**claim, "needs": []} for claim in claims if claim["id"][-2:] in ("13", "18", "19", "24")]
    found = judge(table[[*factors, "metric", "value", "unit", "better", "block"]], asked, factors=factors, name="li2018")
    assert found.verdicts == {claim["id"]: expected[claim["id"]] for claim in asked}
    assert set(found.verdicts.values()) == {"reproduced", "inconclusive"}


def test_the_command_prints_verdicts_and_has_true_statuses(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    study = written(tmp_path, rows())
    monkeypatch.setattr(place.paths, "PROJECT", tmp_path)
    assert cli.main(["judge", "own.yaml"]) == 0
    assert "3 claims: 2 reproduced, 1 contradicted.\nRead on: results/judged/own/report.html" in capsys.readouterr().out
    assert cli.main(["judge", str(study), "--strict", "--json", "--out", "out"]) == 1
    assert [one["verdict"] for one in json.loads(capsys.readouterr().out)] == ["reproduced", "contradicted", "reproduced"]
    for words in (
        ["judge"],
        ["judge", "own.yaml", "--data", "results.csv"],
        ["judge", "--claims", "own.yaml"],
        ["judge", "no.yaml"],
    ):
        assert cli.main(words) == 2
        told = capsys.readouterr()
        assert told.out == "" and told.err.count("\n") == 1 and told.err.startswith("plimsoll: ")


def test_the_tutorial_does_what_it_says(tmp_path, monkeypatch, capsys):
    """Its commands are typed one after the other, with its files, and every verdict that it tells is there."""
    text = (PROJECT / "docs/tutorials/judge.md").read_text()
    tables, claims, commands = (re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL) for kind in ("text", "yaml", "sh"))
    for name, content in (("results.csv", tables[0]), ("table3.csv", tables[1]), ("paper.yaml", claims[0])):
        (tmp_path / name).write_text(content)
    (tmp_path / "tests").symlink_to(PROJECT / "tests")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(place.paths, "PROJECT", tmp_path)
    told = []
    for typed in (shlex.split(command) for command in commands if command.startswith("./plimsoll judge ")):
        status = cli.main(typed[1:])
        told.append((status, capsys.readouterr().out.splitlines()))
    assert [status for status, _ in told] == [0, 0, 1, 0, 0]
    counts = [next(line for line in lines if re.match("[0-9]+ claims?: ", line)) for _, lines in told]
    assert counts[0] == counts[4] == "1 claim: 1 reproduced."
    assert counts[1] == "11 claims: 4 reproduced, 2 contradicted, 5 inconclusive."
    assert "8 reproduced, 1 contradicted" in counts[2]
    assert "-40 %" in "".join(told[0][1]).replace("\N{MINUS SIGN}", "-")
    assert any("The paper's own numbers" in line for line in told[4][1])


# Rooms of the package that judging a table needs. Everything else is the workflow, or what only pages and figures need.
OF_LIBRARY = {
    *("analysis", "claims", "config", "design", "designs", "errors", "interchange", "measuring", "paths", "planning"),
    *("registry", "remembered", "spelling", "verdicts"),
}


def test_the_library_is_imported_at_once_and_without_the_workflow():
    """A fresh process, with this package first on its path, says what it has imported before and after it judges."""
    code = """
import json, sys, time
begun = time.perf_counter()
from plimsoll.verdicts import judge
seconds, first = time.perf_counter() - begun, list(sys.modules)
import pandas
table = pandas.DataFrame({"x": list("abab" * 3), "value": range(1, 13)})
claim = {"statement": "a is like b.", "a": {"x": ["a"]}, "b": {"x": ["b"]}, "expected": "no_difference"}
found = judge(table, [claim])
print(json.dumps([seconds, first, list(sys.modules), sys.modules["plimsoll"].__file__, found.verdicts]))
"""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "scripts")}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/", env=environment)
    assert told.returncode == 0, told.stderr
    seconds, first, then, file, found = json.loads(told.stdout)
    assert file == str(PROJECT / "scripts/plimsoll/__init__.py") and found == {"table-c01": "inconclusive"}
    assert seconds < 1
    assert [name for name in first if name.startswith("plimsoll")] == ["plimsoll", "plimsoll.verdicts"]
    assert not {"pandas", "numpy", "scipy", "yaml"} & {*first}
    assert {name.split(".")[1] for name in then if name.startswith("plimsoll.")} <= OF_LIBRARY
    of_measuring = {name for name in then if name.startswith("plimsoll.measuring.")}
    assert of_measuring <= {"plimsoll.measuring.status"}, "of what measures, only the names of statuses are needed"
    assert not {"snakemake", "typer", "jinja2", "papermill", "nbformat", "psutil"} & {*then}

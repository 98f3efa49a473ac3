"""A comparison of two result sets, as a user makes it: the reference with itself after a change."""

import json
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from plimsoll import cli, designs
from plimsoll.analysis import cell_paths, collect
from plimsoll.claims import host_agreement, verdicts
from plimsoll.config import studies as configured
from plimsoll.errors import PlimsollError
from plimsoll.features.archive import opening
from plimsoll.features.compare import comparison_figure, comparison_options, junit, set_sides, studies
from plimsoll.measuring import record
from plimsoll.planning import planner
from plimsoll.result_sets import comparable, findings, sets

from tests import pages
from tests.conftest import REFERENCE, built, recorded

STUDY = "plimsoll2026"
DOCKER = "uma/exact/E2/docker/any/default/standard/plain/beff"


@pytest.fixture(scope="module")
def factors():
    return built(STUDY).design.factors.FACTORS


@pytest.fixture
def folders(tmp_path) -> dict[str, Path]:
    """Two copies of the reference, as folders of results."""
    made = {}
    for name in "ab":
        made[name] = tmp_path / name / STUDY
        made[name].mkdir(parents=True)
        for file in ("observations.csv", "runs.csv", "claims.csv", "comparisons.csv", "host.txt"):
            shutil.copy(REFERENCE / STUDY / file, made[name])
    return made


@pytest.fixture
def unillustrated(monkeypatch):
    """Draw nothing: that takes most of the time, and other tests check the figure."""
    monkeypatch.setattr(comparison_figure, "draw", lambda rows, margin: None)


def changed(folder: Path, change, file: str = "observations.csv") -> None:
    """Change a table of a folder. `change` returns another table, or changes the one it is given."""
    table = pd.read_csv(folder / file, keep_default_na=False, na_values=[""])
    other = change(table)
    (table if other is None else other).to_csv(folder / file, index=False)


def slower(table: pd.DataFrame) -> None:
    """Reduce Docker's bandwidths to a third."""
    own = (table["runtime"] == "docker") & table["metric"].str.endswith("bandwidth")
    table.loc[own, "value"] /= 3


def compare(folders, tmp_path, *options: str) -> tuple[int, Path]:
    """Run the command. Return (exit status, folder of its files)."""
    out = tmp_path / "out"
    return cli.main(["compare", str(folders["a"]), str(folders["b"]), "--out", str(out), *options]), out


def rows_of(out: Path, effects: bool = False) -> pd.DataFrame:
    """Return the rows of compare.csv for cells and averages, or those for the effects that claims rest on."""
    table = pd.read_csv(out / "compare.csv")
    return table[(table["kind"] == "effect") == effects]


@pytest.mark.usefixtures("unillustrated")
def test_a_set_against_itself_is_never_better_or_worse(folders, tmp_path, capsys):
    status, out = compare(folders, tmp_path)
    assert status == 0
    # Without a value from the user it is that of the calibration.
    assert json.loads((out / "compare.json").read_text())["session_blocks"] == set_sides.SESSION_BLOCKS
    rows = rows_of(out)
    assert set(rows["answer"]) <= {"alike", "undecided"} and (rows["ratio"] == 1).all() and len(rows) > 50
    effects = rows_of(out, effects=True)
    assert set(effects["answer"]) <= {"alike", "undecided"} and len(effects) > 10
    assert effects["change"].dropna().to_numpy() == pytest.approx(0, abs=1e-12) and effects["change"].notna().any()
    told = capsys.readouterr().out
    assert told.splitlines()[-1].startswith("Nothing is worse in B; ") and told.splitlines()[-1].endswith("(exit 0)")


@pytest.mark.usefixtures("unillustrated")
def test_nothing_is_said_about_the_speed_of_an_emulated_machine(tmp_path, capsys):
    built("li2018")
    observed = pd.read_csv(REFERENCE / "li2018/observations.csv")
    assert "vm-emulated" in set(observed["runtime"])
    status, out = compare(dict.fromkeys("ab", REFERENCE / "li2018"), tmp_path, "--force")
    assert status == 0 and "docker" in set(rows_of(out)["runtime"])
    assert not rows_of(out)["runtime"].str.contains("emulated").any()
    said = "on an emulated processor, whose times say nothing about speed"
    assert said in " ".join(capsys.readouterr().out.split()) and said in (out / "compare.junit.xml").read_text()
    # If there is nothing else, that is the reason why nothing is compared.
    alone = tmp_path / "alone/li2018"
    alone.mkdir(parents=True)
    observed[observed["runtime"] == "vm-emulated"].to_csv(alone / "observations.csv", index=False)
    status, _ = compare(dict.fromkeys("ab", alone), tmp_path, "--force")
    assert status == 2 and f"cells are {said}" in " ".join(capsys.readouterr().err.split())


def test_the_folder_of_a_host_has_what_was_measured_on_it(folders, tmp_path):
    """rules/cluster.smk leaves such a folder: hosts/n1."""
    shutil.copytree(folders["a"], tmp_path / "hosts/n1/results" / STUDY)
    (found,) = sets.read(tmp_path / "hosts/n1").values()
    assert found.folders == (tmp_path / "hosts/n1/results" / STUDY,)


@pytest.mark.usefixtures("unillustrated")
def test_what_is_worse_is_told_and_decides(folders, tmp_path, capsys):
    changed(folders["b"], slower)
    status, out = compare(folders, tmp_path)
    assert status == 1
    rows = rows_of(out)
    worse = rows[rows["answer"] == "worse"]
    assert set(worse["runtime"]) == {"docker"} and "randomring_bandwidth" in set(worse["metric"])
    assert worse["ratio"].to_numpy() == pytest.approx(1 / 3)
    assert ((worse["low"] < 1 / 3) & (worse["high"] > 1 / 3) & (worse["p_holm"] < 0.05)).all()
    told = capsys.readouterr().out
    assert f"{len(worse)} of {len(rows)} comparisons are worse in B (exit 1)" in " ".join(told.split())
    assert "−67 % [" in told and "random-ring bandwidth: two Docker containers" in " ".join(told.split())
    # In the other direction it is a gain, and nothing is worse.
    status, out = compare({"a": folders["b"], "b": folders["a"]}, tmp_path)
    assert status == 0 and "better" in set(rows_of(out)["answer"])


@pytest.mark.usefixtures("unillustrated")
def test_lines_fit_the_terminal(folders, tmp_path, capsys, monkeypatch):
    changed(folders["b"], slower)
    for width in ("80", "140"):
        monkeypatch.setenv("COLUMNS", width)
        compare(folders, tmp_path, "--all")
        lines = capsys.readouterr().out.splitlines()
        assert max(len(line) for line in lines if str(tmp_path) not in line) <= int(width)


@pytest.mark.usefixtures("unillustrated")
def test_only_what_changed_is_told_unless_all_is_asked_for(folders, tmp_path, capsys):
    changed(folders["b"], slower)
    compare(folders, tmp_path)
    few = capsys.readouterr().out
    compare(folders, tmp_path, "--all")
    many = capsys.readouterr().out
    assert "  undecided  " not in few and "  undecided  " in many
    assert "would decide" in many and len(many.splitlines()) > 2 * len(few.splitlines())


@pytest.mark.usefixtures("unillustrated")
def test_undecided_counts_where_it_is_asked_to(folders, tmp_path):
    for side in "ab":
        records_of(folders[side], {"hpcc": "1" * 40})
    assert compare(folders, tmp_path)[0] == 0
    assert compare(folders, tmp_path, "--strict")[0] == 1
    assert compare(folders, tmp_path, "--strict", "--margin", "30")[0] == 0


def test_the_files_say_the_same(folders, tmp_path):
    changed(folders["b"], slower)
    _, out = compare(folders, tmp_path)
    names = [
        f"compare{end}" for end in (f"-{STUDY}.csv", f"-{STUDY}.pdf", f"-{STUDY}.png", ".csv", ".html", ".json", ".junit.xml")
    ]
    assert sorted(path.name for path in out.iterdir()) == names
    rows = rows_of(out)
    told = json.loads((out / "compare.json").read_text(), parse_constant=lambda name: pytest.fail(name))
    assert (
        told["status"] == 1
        and told["studies"][STUDY]["counts"]["worse"]
        == (rows["answer"] == "worse").sum() - ((rows["answer"] == "worse") & (rows["kind"] == "average")).sum()
    )
    assert len(told["studies"][STUDY]["rows"]) == len(rows)
    suite = ET.parse(out / "compare.junit.xml").getroot().find("testsuite")
    cases = suite.findall("testcase")
    of_findings = [case for case in cases if case.get("classname") == f"{STUDY}.findings"]
    found = {outcome: len(suite.findall(f"testcase/{outcome}")) for outcome in ("failure", "error", "skipped")}
    assert len(cases) == int(suite.get("tests")) == len(rows) + len(of_findings)
    assert len(of_findings) == len(told["studies"][STUDY]["findings"]) > 5
    assert found == {
        "failure": int(suite.get("failures")),
        "error": int(suite.get("errors")),
        "skipped": int(suite.get("skipped")),
    }
    undecided = (rows["answer"] == "undecided").sum() + sum(case.find("skipped") is not None for case in of_findings)
    assert found["failure"] == (rows["answer"] == "worse").sum() and found["skipped"] == undecided
    assert len(told["studies"][STUDY]["effects"]) == len(rows_of(out, effects=True)) > 10
    failure = suite.find("testcase/failure")
    assert failure.get("type") == "worse" and "p = " in failure.get("message")
    drawn = pd.read_csv(out / f"compare-{STUDY}.csv")
    assert set(drawn["kind"]) == {"cell"} and len(drawn) == (rows["kind"] == "cell").sum()


def test_the_page_can_be_read_by_everyone(folders, tmp_path):
    changed(folders["b"], slower)
    _, out = compare(folders, tmp_path)
    page = pages.check((out / "compare.html").read_text(), out)
    assert page.h1.get_text() == "What changed from A to B" and page.select("figure img")
    assert "(exit status 1)" in page.get_text()
    marked = [row for row in page.select("tbody tr") if row.select("b.contradicted")]
    rows = rows_of(out)
    assert len(marked) == (rows["answer"] == "worse").sum()


@pytest.mark.usefixtures("unillustrated")
def test_what_files_say_is_escaped(folders, tmp_path):
    evil = "<script>alert('x')</script> & \"y\" \x07"
    path = folders["b"] / "host.txt"
    path.write_text(path.read_text().replace("6.18.44", evil))

    def mark(table):
        table.loc[table["metric"] == "fft_gflops", "label"] = evil

    changed(folders["b"], mark)
    _, out = compare(folders, tmp_path)
    text = (out / "compare.html").read_text()
    assert "<script>alert" not in text and "&lt;script&gt;alert" in text
    properties = {one.get("name"): one.get("value") for one in ET.parse(out / "compare.junit.xml").getroot().iter("property")}
    assert "<script>alert('x')</script> & \"y\" \N{REPLACEMENT CHARACTER}" in properties["kernel"]


@pytest.mark.usefixtures("unillustrated")
def test_what_differs_between_the_machines_is_said_and_compared(folders, tmp_path, capsys):
    path = folders["b"] / "host.txt"
    path.write_text(path.read_text().replace("Docker 20.10.24+dfsg1", "Docker 28.0.1"))
    assert compare(folders, tmp_path)[0] == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Differs: runtime docker: works: Docker 20.10.24+dfsg1 in A, works: Docker 28.0.1 in B." in told
    assert "The same: processor AMD EPYC" in told and "Whether both ran the same bits is not known" in told


@pytest.mark.usefixtures("unillustrated")
def test_cells_of_other_sizes_are_refused_or_left_out(folders, tmp_path, capsys):
    def resized(table):
        table.loc[table["section"] == "fft", "fingerprint"] = "0123456789abcdef"

    changed(folders["b"], resized)
    status, out = compare(folders, tmp_path)
    assert status == 2
    said = capsys.readouterr().err
    assert (
        said.count("plimsoll: ") == 1
        and "cells were measured with other sizes or in other places: " in said
        and "--force" in said
    )
    suite = ET.parse(out / "compare.junit.xml").getroot().find("testsuite")
    assert suite.find("testcase/error").get("type") == "not comparable" and int(suite.get("failures")) == 0
    assert rows_of(out).empty and "Not compared." in (out / "compare.html").read_text()
    status, out = compare(folders, tmp_path, "--force")
    rows = rows_of(out)
    assert status == 0 and "fft_gflops" not in set(rows["metric"]) and len(rows) > 30
    assert "other sizes" in capsys.readouterr().out


@pytest.mark.usefixtures("unillustrated")
def test_sets_without_a_cell_in_common_are_not_compared(folders, tmp_path, capsys):
    changed(folders["b"], lambda table: table.assign(fingerprint="0", profile="paper"))
    assert compare(folders, tmp_path, "--force")[0] == 2
    assert "Nothing can be compared: " in (said := capsys.readouterr().err) and "(profile quick in A, paper in B)" in said


@pytest.mark.usefixtures("unillustrated")
def test_cells_that_one_set_lacks_are_left_out_and_count_where_it_is_strict(folders, tmp_path, capsys, factors):
    for side in "ab":
        records_of(folders[side], {"hpcc": "1" * 40})
    for file in ("observations.csv", "runs.csv"):
        changed(folders["b"], lambda table: table[table["runtime"] != "docker-shared"], file)
    status, out = compare(folders, tmp_path)
    assert status == 0 and "docker-shared" not in set(rows_of(out)["runtime"])
    told = " ".join(capsys.readouterr().out.split())
    observed = collect.table(folders["a"] / "observations.csv", factors)
    number = cell_paths.of_table(observed[observed["runtime"] == "docker-shared"], factors).nunique()
    assert f"Not compared: {number} cells only in A." in told and f"B lacks {number} cells of A (exit 0)" in told
    skipped = [one.get("message") for one in ET.parse(out / "compare.junit.xml").getroot().iter("skipped")]
    assert skipped.count("only in A") == number
    # The margin is so wide that nothing is undecided.
    assert compare(folders, tmp_path, "--strict", "--margin", "1000")[0] == 1
    assert f"B lacks {number} cells of A (--strict) (exit 1)" in " ".join(capsys.readouterr().out.split())
    # In the other direction nothing of A is missing.
    status, _ = compare({"a": folders["b"], "b": folders["a"]}, tmp_path, "--strict", "--margin", "1000")
    assert status == 0 and "cells only in B." in capsys.readouterr().out


def without_docker(folders, factors) -> None:
    """Remove the observations and runs of one cell (DOCKER) from B."""
    for file in ("observations.csv", "runs.csv"):
        changed(folders["b"], lambda table: table[cell_paths.of_table(table, factors) != DOCKER], file)


@pytest.mark.usefixtures("unillustrated")
def test_a_cell_that_b_cannot_measure_is_lost(folders, tmp_path, capsys, factors):
    """The plan of B says why. A regression check whose engine no longer answers must not pass."""
    without_docker(folders, factors)
    assert compare(folders, tmp_path)[0] == 0
    plan = {"cells": {DOCKER: {"reason": "docker does not work: no such daemon"}, "another/cell": {"reason": "why"}}}
    (folders["b"] / "plan.json").write_text(json.dumps(plan))
    capsys.readouterr()
    status, out = compare(folders, tmp_path)
    (row,) = rows_of(out).query("answer == 'failed'").to_dict("records")
    assert status == 1 and (row["cell"], row["runtime"], row["kind"]) == (DOCKER, "docker", "cell")
    said = "B cannot measure it: docker does not work: no such daemon"
    assert row["note"] == said and said in " ".join(capsys.readouterr().out.split())
    failures = [one.get("message") for one in ET.parse(out / "compare.junit.xml").getroot().iter("failure")]
    assert failures == [said] and said in (out / "compare.html").read_text()
    # What A has not observed is not lost, even if B's plan gives a reason for it.
    assert compare({"a": folders["b"], "b": folders["a"]}, tmp_path)[0] == 0


@pytest.mark.usefixtures("unillustrated")
def test_a_set_that_can_measure_nothing_of_a_is_worse_and_not_incomparable(folders, tmp_path, factors):
    cells = set(cell_paths.of_table(collect.table(folders["a"] / "observations.csv", factors), factors))
    for file in ("observations.csv", "runs.csv"):
        changed(folders["b"], lambda table: table.head(0), file)
    (folders["b"] / "plan.json").write_text(json.dumps({"cells": {cell: {"reason": "nothing works"} for cell in cells}}))
    status, out = compare(folders, tmp_path)
    assert status == 1 and set(rows_of(out)["answer"]) == {"failed"} and len(rows_of(out)) == len(cells)


@pytest.mark.usefixtures("unillustrated")
def test_a_value_that_only_a_has_is_undecided(folders, tmp_path, factors):
    def without(table):
        own = (cell_paths.of_table(table, factors) == DOCKER) & (table["metric"] == "randomring_bandwidth")
        return table[~own]

    changed(folders["b"], without)
    status, out = compare(folders, tmp_path)
    (row,) = rows_of(out).query("note == 'B has no value of it'").to_dict("records")
    assert status == 0 and (row["cell"], row["metric"], row["answer"]) == (DOCKER, "randomring_bandwidth", "undecided")
    assert row["blocks_a"] > 0 and row["blocks_b"] == 0


@pytest.mark.usefixtures("unillustrated")
def test_a_cell_that_only_fails_now_is_worse(folders, tmp_path, capsys, factors):
    def gone(table):
        return table[cell_paths.of_table(table, factors) != DOCKER]

    def failed(table):
        own = cell_paths.of_table(table, factors) == DOCKER
        # If no run has a reason, pandas reads the column as numbers.
        table["reason"] = table["reason"].astype(object)
        table.loc[own, "status"], table.loc[own, "reason"] = "failed", "exit code 7"

    changed(folders["b"], gone)
    changed(folders["b"], failed, "runs.csv")
    status, out = compare(folders, tmp_path)
    assert status == 1
    runs = pd.read_csv(folders["b"] / "runs.csv")
    number = ((cell_paths.of_table(runs, factors) == DOCKER) & (runs["status"] == "failed")).sum()
    (failure,) = ET.parse(out / "compare.junit.xml").getroot().iter("failure")
    assert f"failed in each of {number} runs of B: exit code 7" in failure.get("message")
    assert f"failed in each of {number} runs of B" in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("unillustrated")
def test_a_set_in_which_everything_fails_is_worse_and_not_incomparable(folders, tmp_path):
    changed(folders["b"], lambda table: table.head(0))
    changed(folders["b"], lambda table: table.assign(status="timeout", reason="it took too long"), "runs.csv")
    status, out = compare(folders, tmp_path)
    rows = rows_of(out)
    assert status == 1 and set(rows["answer"]) == {"failed"} and len(rows) > 10
    changed(folders["b"], lambda table: table.assign(status="disturbed"), "runs.csv")
    assert compare(folders, tmp_path)[0] == 2


def records_of(folder: Path, *each: dict[str, str]) -> None:
    """Write one record of a cell for each of these dictionaries of build identifiers."""
    shutil.rmtree(folder / "runs", ignore_errors=True)
    for number, bits in enumerate(each, 1):
        record.write(folder / f"runs/{DOCKER}/{number}.json", recorded(study=STUDY, repetition=number, bits=bits))


BITS = {"hpcc": "1" * 40, "libmpi.so.40": "2" * 40}


@pytest.mark.usefixtures("unillustrated")
@pytest.mark.parametrize(
    ("of_b", "named", "said"),
    [
        ([{**BITS, "libmpi.so.40": "3" * 40}], "libmpi.so.40", "is 2222222222222222 in A and 3333333333333333 in B"),
        ([{"hpcc": "1" * 40}], "libmpi.so.40", "is 2222222222222222 in A and absent in B"),
        ([{**BITS, "libz.so.1": "4" * 40}], "libz.so.1", "is absent in A and 4444444444444444 in B"),
        (
            [BITS, {**BITS, "libmpi.so.40": "3" * 40}],
            "libmpi.so.40",
            "is 2222222222222222 in A and 2222222222222222 and 3333333333333333 in B",
        ),
    ],
)
def test_other_libraries_are_a_note_unless_they_must_be_the_same(folders, tmp_path, capsys, of_b, named, said):
    """This happens after an update of Debian. Some runs of B may have mapped another library, or none."""
    records_of(folders["a"], BITS)
    records_of(folders["b"], BITS)
    assert compare(folders, tmp_path)[0] == 0
    assert "Both ran the same bits (2 programs and libraries)." in capsys.readouterr().out
    records_of(folders["b"], *of_b)
    status, out = compare(folders, tmp_path)
    assert status == 0 and len(rows_of(out)) > 50
    assert f"Other builds of 1 programs and libraries: {named}." in " ".join(capsys.readouterr().out.split())
    assert named in (out / "compare.html").read_text() and f'"name": "{named}"' in (out / "compare.json").read_text()
    assert compare(folders, tmp_path, "--strict")[0] == 2
    told = capsys.readouterr()
    assert f"A and B ran other bits (--strict): {named} {said}; --force" in told.err
    # It is said only once.
    assert "ran other bits" not in told.out


def built_with(folder: Path, version: str, identifier: str = "sha256:1") -> None:
    """Write the description of an image beside a folder, with this version of its benchmark."""
    (folder.parent / "images").mkdir(exist_ok=True)
    described = {"tag": "plimsoll/hpcc:1", "id": identifier, "versions": {"HPCC": version, "BLAS": "of its own"}}
    (folder.parent / "images/hpcc.json").write_text(json.dumps(described))


@pytest.mark.usefixtures("unillustrated")
@pytest.mark.parametrize(
    ("versions", "identifier", "status", "said"),
    [
        (("1.5.0-3", "1.5.0-3+b1"), "sha256:1", 0, "Other builds of 1 programs and libraries: hpcc."),
        (("1.5.0", "1.6.0"), "sha256:1", 2, "A and B ran other benchmarks: HPCC is 1.5.0 in A and 1.6.0 in B; --force"),
        # The description is of an image that was built later than the records.
        (("1.5.0", "1.5.0"), "sha256:2", 2, "A and B ran other builds of a benchmark: hpcc is 1111111111111111 in A and"),
        ((), "", 2, "which versions these are is not known, as results/images/ of A or B is not there; --force"),
    ],
)
def test_another_version_of_the_benchmark_is_refused_and_another_build_of_it_is_a_note(
    folders, tmp_path, capsys, small_host, config, versions, identifier, status, said
):
    records_of(folders["a"], BITS)
    records_of(folders["b"], {**BITS, "hpcc": "5" * 40})
    plan = planner.make(built(STUDY), configured.profile("quick"), small_host, config, {})
    for side, version in zip("ab", versions, strict=False):
        planner.write(plan, folders[side] / "plan.json")
        built_with(folders[side], version, identifier)
    assert compare(folders, tmp_path)[0] == status
    assert said in " ".join(" ".join(capsys.readouterr()).split())
    assert compare(folders, tmp_path, "--force")[0] == 0


def on_another_machine(folder: Path) -> None:
    path = folder / "host.txt"
    path.write_text(path.read_text().replace("AMD EPYC", "Intel(R) Xeon(R)"))


def judged_otherwise(folder: Path, verdict: str, of: str) -> str:
    """Give another `verdict` to the first counted claim with the verdict `of`. Return the claim's name."""
    table = pd.read_csv(folder / "claims.csv")
    own = table[(table["verdict"] == of) & table["same_as"].isna() & table["counted_in"].isna()]["id"].iloc[0]
    changed(folder, lambda table: table.assign(verdict=table["verdict"].where(table["id"] != own, verdict)), "claims.csv")
    return own


@pytest.mark.usefixtures("unillustrated")
def test_between_two_machines_claims_decide_and_no_cell_is_worse(folders, tmp_path, capsys):
    changed(folders["b"], slower)
    on_another_machine(folders["b"])
    status, out = compare(folders, tmp_path)
    rows = rows_of(out)
    assert status == 0 and not {"worse", "better"} & set(rows["answer"]) and "different" in set(rows["answer"])
    told = " ".join(capsys.readouterr().out.split())
    assert "A and B are of two machines, which differ in processor. So the answer is about claims" in told
    decided = pd.read_csv(folders["a"] / "claims.csv").query("verdict in ('reproduced', 'contradicted', 'conditional')")
    alike = (~decided["same_as"].isin(decided["id"]) & decided["counted_in"].isna()).sum()
    assert re.search(
        rf"Of \d+ claims none is reversed in B: .*\b{alike} decided alike, \d+ decided in neither \(exit 0\)$", told
    )
    suite = ET.parse(out / "compare.junit.xml").getroot().find("testsuite")
    assert int(suite.get("failures")) == int(suite.get("errors")) == 0
    pages.check((out / "compare.html").read_text(), out)
    # With --force they are compared as if they were one machine.
    assert compare(folders, tmp_path, "--force")[0] == 1 and "worse" in set(rows_of(out)["answer"])


@pytest.mark.usefixtures("unillustrated")
def test_a_claim_that_another_machine_reverses_ends_with_1(folders, tmp_path, capsys):
    on_another_machine(folders["b"])
    turned = judged_otherwise(folders["b"], "contradicted", "reproduced")
    status, out = compare(folders, tmp_path)
    assert status == 1
    told = " ".join(capsys.readouterr().out.split())
    assert f"reversed claims {turned} reproduced in A, contradicted in B" in told
    assert re.search(r"1 of \d+ claims is reversed in B \(.*\) \(exit 1\)$", told)
    failures = [
        case for case in ET.parse(out / "compare.junit.xml").getroot().iter("testcase") if case.find("failure") is not None
    ]
    assert [case.get("name").partition(":")[0] for case in failures] == [turned]
    # A claim that only A decides counts with --strict.
    shutil.copy(folders["a"] / "claims.csv", folders["b"])
    for side in "ab":
        records_of(folders[side], BITS)
    judged_otherwise(folders["b"], "inconclusive", "reproduced")
    assert compare(folders, tmp_path)[0] == 0 and compare(folders, tmp_path, "--strict")[0] == 1


@pytest.mark.usefixtures("unillustrated")
def test_sizes_that_follow_from_another_machine_leave_the_claims(folders, tmp_path, capsys):
    on_another_machine(folders["b"])
    changed(folders["b"], lambda table: table.assign(fingerprint="0"))
    status, out = compare(folders, tmp_path)
    assert status == 0 and rows_of(out).empty and "cells other sizes" in " ".join(capsys.readouterr().out.split())
    changed(folders["b"], lambda table: table.assign(profile="paper"))
    assert compare(folders, tmp_path)[0] == 2
    assert "(profile quick in A, paper in B)" in capsys.readouterr().err
    # Without verdicts there is nothing left to compare.
    changed(folders["b"], lambda table: table.assign(profile="quick"))
    (folders["b"] / "claims.csv").unlink()
    assert compare(folders, tmp_path)[0] == 2
    assert "they have no verdicts on the same claims" in capsys.readouterr().err


@pytest.mark.usefixtures("unillustrated")
def test_a_strict_comparison_needs_to_know_the_bits(folders, tmp_path, capsys):
    records_of(folders["a"], {"hpcc": "1" * 40})
    assert compare(folders, tmp_path, "--strict")[0] == 2
    said = "Whether A and B ran the same bits is not known (--strict): there are no records of B; --force compares"
    assert said in capsys.readouterr().err
    assert compare(folders, tmp_path, "--strict", "--force")[0] == 1


@pytest.mark.usefixtures("unillustrated")
def test_bits_of_cells_that_one_set_has_not_are_no_other_bits(folders, tmp_path, factors):
    """Another part of the study may have its own programs."""
    for side in "ab":
        records_of(folders[side], {"hpcc": "1" * 40})
    record.write(folders["a"] / "runs/another/cell/1.json", recorded(study=STUDY, bits={"netperf": "5" * 40}))
    assert compare(folders, tmp_path)[0] == 0


@pytest.mark.usefixtures("unillustrated")
def test_the_same_on_another_host_is_the_same_cell(folders, tmp_path, small_host, config):
    """Fingerprints contain the host. The plans show that everything else is the same."""
    loaded = built(STUDY)
    for name, model in (("a", "old"), ("b", "new")):
        plan = planner.make(loaded, configured.profile("quick"), {**small_host, "cpu_model": model}, config, {})
        planner.write(plan, folders[name] / "plan.json")

        def of_this_host(table, plan=plan):
            cells = cell_paths.of_table(table, loaded.design.factors.FACTORS)
            table["fingerprint"] = [plan["cells"][cell]["fingerprint"] for cell in cells]

        changed(folders[name], of_this_host)
    prints = [set(pd.read_csv(folder / "observations.csv")["fingerprint"]) for folder in folders.values()]
    assert not prints[0] & prints[1]
    assert compare(folders, tmp_path)[0] == 0
    (folders["b"] / "plan.json").unlink()
    assert compare(folders, tmp_path)[0] == 2


def test_the_reference_is_compared_with_results_of_another_machine(folders, tmp_path, monkeypatch, unillustrated):
    """The plan in the archive beside the reference's tables shows that everything but the host is the same."""
    monkeypatch.chdir(tmp_path)
    reference, loaded = REFERENCE / STUDY, built(STUDY)
    there = opening.reference_of(reference)
    assert there != reference
    plan = json.loads((there / "plan.json").read_text())
    elsewhere = {path: {**cell, "host": "another one"} for path, cell in plan["cells"].items()}
    measured = loaded.design.cells.measured
    prints = {cell["fingerprint"]: record.identify(measured(elsewhere[path])) for path, cell in plan["cells"].items()}
    for cell in elsewhere.values():
        cell["fingerprint"] = prints[cell["fingerprint"]]
    planner.write({**plan, "cells": elsewhere}, folders["b"] / "plan.json")
    changed(folders["b"], lambda table: table.assign(fingerprint=table["fingerprint"].map(prints)))
    assert compare({"a": folders["a"], "b": folders["b"]}, tmp_path)[0] == 2
    status, out = compare({"a": reference, "b": folders["b"]}, tmp_path)
    assert status == 0 and len(rows_of(out)) > 50 and set(rows_of(out)["answer"]) <= {"alike", "undecided"}
    # In a folder with several reference studies, each is read from its archive too.
    assert sets.read(reference.parent, opening.reference_of)[STUDY].folders == (there,)


@pytest.mark.usefixtures("unillustrated")
def test_a_folder_of_sessions_is_one_set(folders, tmp_path, capsys):
    place = tmp_path / "sessions"
    for number in (1, 2, 10):
        shutil.copytree(folders["a"], place / str(number))
    (found,) = sets.read(place).values()
    assert [folder.name for folder in found.folders] == ["1", "2", "10"]
    status, out = compare({"a": place, "b": folders["b"]}, tmp_path)
    rows = rows_of(out)
    assert status == 0 and set(rows["sessions_a"]) == {3} and set(rows["sessions_b"]) == {1}
    assert "3 sessions" in capsys.readouterr().out


@pytest.mark.usefixtures("unillustrated")
def test_studies_that_both_have_are_compared(tmp_path, capsys):
    for name, studies_of in (("a", (STUDY, "li2018")), ("b", ("li2018", "jha2018"))):
        for study in studies_of:
            built(study)
            shutil.copytree(
                REFERENCE / study, tmp_path / name / study, ignore=shutil.ignore_patterns("figures", "tables", "*.zip")
            )
    status, out = compare({side: tmp_path / side for side in "ab"}, tmp_path)
    assert status == 0 and set(rows_of(out)["study"]) == {"li2018"}
    shutil.rmtree(tmp_path / "b/li2018")
    assert compare({side: tmp_path / side for side in "ab"}, tmp_path)[0] == 2
    assert (
        f"A has li2018, {STUDY} and B has jha2018, so nothing can be compared. Name two sets that share a study."
        in capsys.readouterr().err
    )


@pytest.fixture
def two(folders, tmp_path) -> dict[str, Path]:
    """Two sets of two studies."""
    built("li2018")
    for side in "ab":
        shutil.copytree(
            REFERENCE / "li2018", tmp_path / side / "li2018", ignore=shutil.ignore_patterns("figures", "tables", "*.zip")
        )
    return {side: tmp_path / side for side in "ab"}


def twice_as_slow(table: pd.DataFrame) -> None:
    table.loc[table["runtime"] == "docker", "value"] *= table["better"].map({"higher": 0.5, "lower": 2.0})


@pytest.mark.usefixtures("unillustrated")
def test_p_is_adjusted_for_the_number_of_studies_that_are_compared(two, folders, tmp_path):
    """One exit status is for all studies, so the error rate of one in twenty is for all of them together."""
    changed(folders["b"], slower)
    _, out = compare(folders, tmp_path)
    alone = rows_of(out).set_index(["kind", "metric", "cell"])
    _, out = compare(two, tmp_path)
    together = rows_of(out).query("study == @STUDY").set_index(["kind", "metric", "cell"])
    known = alone["p_holm"].notna()
    assert known.sum() > 50 and (alone.loc[known, "p_holm"] < 0.5).any()
    for p in ("p_holm", "p_alike_holm"):
        doubled = np.minimum(1, 2 * alone.loc[known, p])
        assert together.loc[alone.index, p][known].to_numpy() == pytest.approx(doubled, nan_ok=True)


@pytest.mark.usefixtures("unillustrated")
def test_a_study_that_cannot_be_compared_hides_nothing_of_another(two, tmp_path, capsys):
    changed(two["b"] / STUDY, lambda table: table.assign(fingerprint="0"))
    assert compare(two, tmp_path)[0] == 2
    assert f"plimsoll: Not compared: {STUDY}: Nothing can be compared: " in capsys.readouterr().err
    changed(two["b"] / "li2018", twice_as_slow)
    status, out = compare(two, tmp_path)
    last = " ".join(capsys.readouterr().out.split())
    assert status == 1 and set(rows_of(out)["study"]) == {"li2018"}
    assert f"comparisons are worse in B; not compared: {STUDY}: Nothing can be compared: " in last and last.endswith("(exit 1)")
    assert json.loads((out / "compare.json").read_text())["status"] == 1


@pytest.mark.usefixtures("unillustrated")
def test_a_study_that_only_a_has_is_told_and_counts_where_it_is_strict(two, tmp_path, capsys):
    shutil.rmtree(two["b"] / STUDY)
    assert compare(two, tmp_path)[0] == 0
    assert f"and B lacks all of {STUDY} (exit 0)" in " ".join(capsys.readouterr().out.split())
    # The bits of the other study are not known, so --force is needed. This margin leaves nothing undecided.
    assert compare(two, tmp_path, "--strict", "--force", "--margin", "100000")[0] == 1
    assert f"and B lacks all of {STUDY} (--strict) (exit 1)" in " ".join(capsys.readouterr().out.split())


def test_every_study_of_the_reference_can_be_compared_with_itself():
    """The studies cover all designs: with iterations, with watched runs, and with counts that never vary."""
    for name in configured.names(configured.STUDIES):
        (one,) = sets.read(REFERENCE / name).values()
        found = studies.compare(configured.load(name, designs.known()), one, one, comparison_options.ComparisonOptions())
        assert not found.refusal and set(found.left_out.values()) <= {comparable.EMULATED} and len(found.rows) > 10
        assert set(found.rows["answer"]) <= {"alike", "undecided"}
        assert {finding["standing"] for finding in found.findings} <= {findings.ALIKE, findings.OPEN}
        assert all(finding["encoded_alike"] for finding in found.findings)
        effects = found.effects.rows
        assert len(effects) >= 10 and set(effects["answer"]) <= {"alike", "undecided"} and not found.effects.alone


@pytest.mark.parametrize("name", configured.names(configured.STUDIES))
def test_a_cell_as_a_whole_has_a_name(name):
    """A cell that is left out or lost has no metric."""
    loaded = built(name)
    (one,) = sets.read(REFERENCE / name).values()
    table = one.observations(loaded)
    cells = set(cell_paths.of_table(table, loaded.design.factors.FACTORS))
    named = {junit.cell_name(cell, loaded) for cell in cells}
    assert len(cells) > 5 and all(len(words) > 3 for words in named)


def test_watched_runs_decide_nothing():
    loaded = built("liu2020")
    (one,) = sets.read(REFERENCE / "liu2020").values()
    found = studies.compare(loaded, one, one, comparison_options.ComparisonOptions())
    watched = found.rows[found.rows["kind"] == studies.WATCHED]
    assert len(watched) > 100 and not watched["cell"].str.contains("/plain/").any()
    assert found.deciding["cell"][found.deciding["kind"] == studies.CELL].str.contains("/plain/").all()


def result(name: str, verdict: str, **keys) -> dict:
    return {"id": name, "statement": f"{name} is said.", "verdict": verdict, "asked": {"a": 1}, **keys}


def test_findings_that_turned_come_first_and_repetitions_count_once():
    yes, no, still = verdicts.REPRODUCED, verdicts.CONTRADICTED, verdicts.INCONCLUSIVE
    a = {"s-1": result("s-1", yes), "s-2": result("s-2", yes), "s-3": result("s-3", still), "s-4": result("s-4", yes)}
    b = {
        "s-1": result("s-1", yes),
        "s-2": result("s-2", still),
        "s-3": result("s-3", no),
        "s-4": result("s-4", no, asked={"a": 2}),
        "s-5": result("s-5", no),
    }
    a["s-6"], b["s-6"] = (result("s-6", verdict, same_as="s-4") for verdict in (yes, no))
    # With few data of B it rests on the comparisons of s-3 there. In A it says something of its own.
    a["s-9"], b["s-9"] = result("s-9", yes), result("s-9", still, counted_in="s-3")
    # A claim that holds in all arrangements in A, and only in some in B, is not reversed.
    a["s-7"], b["s-7"] = result("s-7", yes), result("s-7", verdicts.CONDITIONAL)
    # A claim is not reversed either if each set decides it in another arrangement.
    one, other = (
        {name: {"verdict": verdict} for name, verdict in zip("xy", of, strict=True)} for of in ((yes, still), (still, no))
    )
    a["s-8"], b["s-8"] = result("s-8", yes, arrangements=one), result("s-8", no, arrangements=other)
    rows = findings.compare(a, b)
    assert [(row["id"], row["standing"]) for row in rows] == [
        ("s-4", findings.TURNED),
        ("s-7", findings.OTHERWISE),
        ("s-8", findings.OTHERWISE),
        ("s-3", findings.ONLY_B),
        ("s-2", findings.ONLY_A),
        ("s-9", findings.ONLY_A),
        ("s-1", findings.ALIKE),
    ]
    assert rows[0]["encoded_alike"] is False and rows[1]["encoded_alike"] is True and findings.reversals(rows) == 0


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        ({"asked": {"a": 1, "holds": "each"}, "comparisons": 2}, {"asked": {"a": 1, "holds": "each"}, "comparisons": 5}, True),
        ({"asked": {"a": 1, "holds": "each"}, "comparisons": 2}, {"asked": {"a": 1, "holds": "most"}, "comparisons": 2}, False),
        # A claim that could not be tested has the rule that its file names, not the rule that was applied.
        (
            {"asked": {"a": 1, "holds": "average"}, "comparisons": 0},
            {"asked": {"a": 1, "holds": "each"}, "comparisons": 2},
            True,
        ),
        ({"asked": {"a": 1, "margin": 0.05}}, {"asked": {"a": 1, "margin": 0.1}}, False),
        ({"asked": {}}, {"asked": {"a": 1}}, None),
        ({"asked": None}, {}, None),
        ({"asked": {"a": 1}, "parts": [{"asked": {"a": 2}}]}, {"asked": {"a": 1}, "parts": [{"asked": {"a": 3}}]}, False),
        ({"asked": {"a": 1}, "parts": [{"asked": {"a": 2}}]}, {"asked": {"a": 1}, "parts": []}, False),
        # A claim whose condition is not shown has no parts, or the condition as one more part.
        (
            {"asked": {"a": 1}, "parts": [{"asked": {"a": 2}}] * 2, "reason": None},
            {"asked": {"a": 1}, "parts": [], "reason": "it is tested only if so; here that is contradicted"},
            None,
        ),
        (
            {"asked": {"a": 1}, "parts": [{"asked": {"a": 2}}] * 2, "reason": None},
            {
                "asked": {"a": 1},
                "parts": [{"asked": {"a": 2}}] * 3,
                "reason": "it is tested only if so; here that is inconclusive",
            },
            None,
        ),
    ],
)
def test_whether_a_finding_was_asked_the_same(a, b, alike):
    assert host_agreement.asked_alike(a, b) is alike and host_agreement.asked_alike(b, a) is alike


@pytest.mark.usefixtures("unillustrated")
def test_findings_that_turned_are_told_before_all_else(folders, tmp_path, capsys):
    """The effects that claims rest on are shown too: a verdict may change without them, and they may change without a
    verdict."""
    turned = pd.read_csv(folders["b"] / "claims.csv").query("verdict == 'reproduced'")["id"].iloc[0]

    def turn(table):
        table.loc[table["id"] == turned, "verdict"] = "contradicted"

    changed(folders["b"], turn, "claims.csv")
    changed(folders["b"], slower)
    status, out = compare(folders, tmp_path)
    told = capsys.readouterr().out
    assert status == 1 and told.index(turned) < told.index("geometric means") < told.index("answer  A")
    assert f"{turned} reproduced in A, contradicted in B (effects: " in " ".join(told.split())
    page = (out / "compare.html").read_text()
    assert page.index(turned) < page.index("Geometric means over the cells") < page.index("What changed: better or worse")
    cases = {
        case.get("name").partition(":")[0]: case for case in ET.parse(out / "compare.junit.xml").getroot().iter("testcase")
    }
    assert cases[turned].find("system-out").text.startswith("reversed: reproduced in A, contradicted in B (effects: ")
    # A changed verdict is no failure, and nothing else has changed.
    changed(folders["b"], lambda table: pd.read_csv(folders["a"] / "observations.csv", keep_default_na=False, na_values=[""]))
    assert compare(folders, tmp_path)[0] == 0


@pytest.mark.usefixtures("unillustrated")
def test_an_effect_that_differs_is_told_everywhere_and_decides_nothing(folders, tmp_path, capsys):
    """B's own judge found three times the effect in one comparison, with the same certainty."""
    table = pd.read_csv(folders["b"] / "comparisons.csv")
    sure = table[(table["scale"] == "ratio") & (table["high"] - table["low"] < 0.3)].iloc[0]

    def larger(table):
        own = (table[["cell_a", "cell_b", "metric"]] == sure[["cell_a", "cell_b", "metric"]]).all(axis=1)
        table.loc[own, ["effect", "low", "high"]] = 3 * (1 + table.loc[own, ["effect", "low", "high"]]) - 1

    def all_of_them(table):
        """Make every claim be about each of its comparisons, so that none is about an average."""
        table["holds"] = "each"

    for side in "ab":
        changed(folders[side], all_of_them, "claims.csv")
    changed(folders["b"], larger, "comparisons.csv")
    status, out = compare(folders, tmp_path)
    (row,) = rows_of(out, effects=True).query("answer == 'different'").to_dict("records")
    assert status == 0 and (row["cell_a"], row["cell_b"], row["metric"]) == (sure["cell_a"], sure["cell_b"], sure["metric"])
    assert row["change"] == pytest.approx(2) and row["change_low"] < 2 < row["change_high"] and sure["claim"] in row["claims"]
    told = " ".join(capsys.readouterr().out.split())
    assert "behind which claim different " in told and "1 different" in told and "which decide nothing" in told
    page = pages.check((out / "compare.html").read_text(), out)
    shown = page.find("caption", string=lambda words: words and words.startswith("Effects behind claims that differ"))
    assert len(shown.parent.tbody.find_all("tr")) == 1
    case = next(
        case
        for case in ET.parse(out / "compare.junit.xml").getroot().iter("testcase")
        if case.get("name").startswith(f"{sure['claim']}: ")
    )
    told = case.find("system-out").text
    assert "1 different" in told and "; different " in told and " [" in told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("", "b"), "Two sets of results are needed, and at most one is named. Name both"),
        (("none", "b"), "none: there is no such folder or archive."),
        (("set.zip", "b"), "set.zip is damaged, or no archive. Nothing was made from it. Copy it again"),
        (("empty", "b"), "empty holds no results: neither it nor a folder in it has observations.csv"),
        (("broken", "b"), "broken/observations.csv is not a table of observations"),
        (("old", "b"), "old/observations.csv has no column instrument: an earlier version of Plimsoll wrote it"),
        (("unknown", "unknown"), "unknown.yaml cannot be read"),
        (("b", "b", "--margin", "wide"), "The margin 'wide' is not a number"),
        (("b", "b", "--margin", "0"), "The margin must be above 0"),
        (("b", "b", "--session-blocks", "many"), "The number of blocks of a session, 'many', is not a number"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(folders, tmp_path, capsys, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set.zip").write_bytes(b"PK")
    for name in ("empty", "broken", "old", "unknown"):
        (tmp_path / name).mkdir()
    (tmp_path / "broken/observations.csv").write_text("a,b\n1,2\n")
    table = pd.read_csv(folders["b"] / "observations.csv")
    table.drop(columns="instrument").to_csv(tmp_path / "old/observations.csv", index=False)
    table.assign(study="unknown").to_csv(tmp_path / "unknown/observations.csv", index=False)
    assert cli.main(["compare", *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("plimsoll: ") and sentence in said and len(said.splitlines()) == 1


def test_two_sets_of_one_study_are_not_a_set(folders, tmp_path):
    shutil.copytree(folders["a"], tmp_path / "both/one")
    shutil.copytree(folders["a"], tmp_path / "both/two")
    with pytest.raises(PlimsollError, match=f"both results of {STUDY}. Name one of them"):
        sets.read(tmp_path / "both")


def test_where_files_go_follows_from_the_names_of_the_sets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a, b = Path("results/reference/liu2020"), Path("results/sessions/liu2020/2")
    assert comparison_options.folder(a, b) == Path("results/compare/reference-liu2020-sessions-liu2020-2")
    assert comparison_options.folder(Path("results"), Path("/elsewhere/results/")) == Path("results/compare/results-elsewhere")
    assert comparison_options.name_of(Path("/some/where/else")) == "else"

"""The page that compares claims over hosts, from the measurements in results/reference."""

import json
import shutil
import zipfile

import pandas as pd
import pytest
from plimsoll import __main__ as stages
from plimsoll import paths
from plimsoll.claims import book, findings, host_agreement
from plimsoll.features.archive import layout
from plimsoll.features.hosts import hosts, marker

from tests import pages
from tests.conftest import REFERENCE, built

STUDY = "liu2020"
# A study whose reference measurements include an archive.
ARCHIVED = "plimsoll2026"


@pytest.mark.parametrize(
    ("of_hosts", "come_to"),
    [
        (["reproduced", "contradicted"], host_agreement.DIFFERS),
        (["reproduced", "conditional", "inconclusive"], host_agreement.DIFFERS),
        (["reproduced", "reproduced", "not testable here"], host_agreement.ALIKE),
        (["contradicted", "contradicted"], host_agreement.ALIKE),
        (["reproduced", "inconclusive"], host_agreement.SOME),
        (["inconclusive", "inconclusive"], host_agreement.OPEN),
        (["reproduced", "not testable here", "study not available"], host_agreement.ONE),
        (["inconclusive"], host_agreement.ONE),
        (["not testable here"], host_agreement.NOWHERE),
        ([], host_agreement.NOWHERE),
    ],
)
def test_what_verdicts_of_several_hosts_come_to(of_hosts, come_to):
    assert host_agreement.standing(of_hosts) == come_to
    assert host_agreement.standing(reversed(of_hosts)) == come_to


def test_a_table_of_verdicts_is_read_as_it_was(tmp_path):
    built(STUDY)
    results = findings.of_table(REFERENCE / STUDY / "claims.csv")
    findings.table_of(results).to_csv(tmp_path / "claims.csv", index=False)
    assert findings.of_table(tmp_path / "claims.csv") == results
    assert {result["id"] for result in results} == {claim["id"] for claim in book.load(STUDY)}
    assert all(isinstance(result["asked"], dict) and isinstance(result["parts"], list) for result in results)
    assert any(result["whole"] for result in results) and not any(result["whole"] == {} for result in results)


@pytest.fixture
def host(tmp_path):
    """Return a function that makes a host's folder. `verdicts` (such as `c01="reproduced"`) replace some of the reference's."""
    built(STUDY)

    def make(name: str, mark: bool = True, **verdicts: str):
        results = tmp_path / name / "results"
        (results / STUDY).mkdir(parents=True)
        changed = [
            {**result, "verdict": verdicts.get(result["id"].rpartition("-")[2], result["verdict"])}
            for result in findings.of_table(REFERENCE / STUDY / "claims.csv")
        ]
        (results / STUDY / "claims.json").write_text(json.dumps(changed))
        shutil.copy2(REFERENCE / STUDY / "comparisons.csv", results / STUDY)
        (results / "host.txt").write_text("processor                AMD EPYC, of a test\nmemory                   23.5 GiB\n")
        (results / "claims.html").write_text("".join(f'<p id="{result["id"]}">' for result in changed))
        if mark:
            marker.write(tmp_path / name, name)
        return tmp_path / name

    return make


def made(tmp_path, *folders) -> tuple[int, str, pd.DataFrame]:
    page, table = tmp_path / "out/findings.html", tmp_path / "out/findings.csv"
    code = stages.main(["compare-hosts", "--page", str(page), "--table", str(table), *map(str, folders)])
    return (code, page.read_text(), pd.read_csv(table, keep_default_na=False)) if not code else (code, "", pd.DataFrame())


def test_the_page_has_a_column_for_each_host_beside_the_paper_and_the_reference(host, tmp_path):
    reference = {result["id"]: result["verdict"] for result in findings.of_table(REFERENCE / STUDY / "claims.csv")}
    decided = next(name for name, verdict in reference.items() if verdict == "reproduced")
    opened = next(name for name, verdict in reference.items() if verdict == "inconclusive")
    changes = {decided.rpartition("-")[2]: "contradicted", opened.rpartition("-")[2]: "reproduced"}
    code, text, table = made(tmp_path, host("n1"), host("copied", mark=False, **changes) / "results")
    assert code == 0
    page = pages.check(text, tmp_path / "out")
    heads = [head.get_text() for head in page.find(id=STUDY).find_next("table").thead.find_all("th")]
    assert heads == ["claim", "the paper", "reference", "n1", "copied"]
    rows = {row["id"]: row for row in page.select("tr[data-verdict]")}
    assert list(rows) == [claim["id"] for claim in book.load(STUDY)]
    told = {name: [cell.b.get_text() for cell in row.find_all("td")[1:]] for name, row in rows.items()}
    assert [words.partition(",")[0] for words in told[decided]] == ["reproduced", "reproduced", "contradicted"]
    assert [words.partition(",")[0] for words in told[opened]] == ["inconclusive", "inconclusive", "reproduced"]
    assert (rows[decided]["data-standing"], rows[opened]["data-standing"]) == (host_agreement.DIFFERS, host_agreement.SOME)
    # A host's verdict links to the host's own page. The reference has no page.
    links = [cell.a and cell.a["href"] for cell in rows[decided].find_all("td")[1:]]
    assert links == [None, f"../n1/results/claims.html#{decided}", f"../copied/results/claims.html#{decided}"]
    assert "AMD EPYC, of a test" in text
    # Claims that differ are listed first, and only once.
    first = page.find(id="together").find_next_siblings("div")[1]
    assert [row.a.get_text() for row in first.tbody.find_all("tr")] == [decided]
    assert set(table["host"]) == {"reference", "n1", "copied"} and len(table) == 3 * len(rows)
    own = table.query("id == @decided").set_index("host")["verdict"]
    assert own.to_dict() == {"reference": "reproduced", "n1": "reproduced", "copied": "contradicted"}


def test_an_archive_is_a_host_with_its_name_and_its_machine(tmp_path, monkeypatch):
    """The archive is one that the project has written, as a user would receive it."""
    monkeypatch.chdir(tmp_path)
    built(ARCHIVED)
    sent = shutil.copy(REFERENCE / ARCHIVED / layout.reference(ARCHIVED), tmp_path / "sent.zip")
    code, text, table = made(tmp_path, sent)
    assert code == 0 and set(table["host"]) == {"reference", "sent"} and set(table["study"]) == {ARCHIVED}
    verdicts = table.pivot(index="id", columns="host", values="verdict")
    assert (verdicts["sent"] == verdicts["reference"]).all()
    page = pages.check(text, tmp_path / "out")
    (machine,) = (one for one in page.select("details") if one.summary.get_text() == "sent: what it is")
    told = {name.get_text(): name.find_next_sibling("dd").get_text() for name in machine.select("dt")}
    with zipfile.ZipFile(sent) as file:
        told_in_it = file.read("results/host.txt").decode()
    lines = dict(line.split("  ", 1) for line in told_in_it.splitlines() if "  " in line)
    assert told["processor"] == lines["processor"].strip() and told["kernel"] == lines["kernel"].strip()


def test_findings_that_hosts_were_asked_otherwise_are_marked(host, tmp_path):
    """If hosts tested a sentence with different encodings, different verdicts do not mean that the hosts differ."""
    folder = host("n1")
    path = folder / f"results/{STUDY}/claims.json"
    results = json.loads(path.read_text())
    lenient = next(result for result in results if result["comparisons"] and not result["parts"])
    lenient["asked"]["margin"] = 0.5
    path.write_text(json.dumps(results))
    _, text, table = made(tmp_path, folder, host("n2"))
    page = pages.check(text, tmp_path / "out")
    heads = {row["id"]: row.th.get_text() for row in page.select("tr[data-verdict]")}
    marked = {name: head for name, head in heads.items() if "tested differently" in head}
    assert list(marked) == [lenient["id"]] and marked[lenient["id"]].endswith("tested differently on n1")
    assert (
        set(table.query("asked_otherwise == 'n1'")["id"]) == {lenient["id"]} == set(table.query("asked_otherwise != ''")["id"])
    )


def test_every_choice_of_the_filter_has_a_finding(host, tmp_path):
    _, text, _ = made(tmp_path, host("n1"))
    page = pages.check(text, tmp_path / "out")
    rows = page.select("[data-verdict]")
    for select in page.find(id="filter").find_all("select"):
        values = [option["value"] for option in select.find_all("option")]
        had = {value for row in rows for value in row[f"data-{select['name']}"].split("|")}
        assert values[0] == "" and sorted(values[1:]) == sorted(had), select["name"]
    assert "n1: reproduced" in {option["value"] for option in page.select("select[name=verdict] option")}


def test_comparisons_of_two_hosts_are_linked_where_they_are(host, tmp_path):
    folders = host("n1"), host("n2")
    (tmp_path / "out/compare/n1--n2").mkdir(parents=True)
    (tmp_path / "out/compare/n1--n2/compare.html").write_text("")
    _, text, _ = made(tmp_path, *folders)
    page = pages.check(text, tmp_path / "out")
    (link,) = page.select('a[href^="compare/"]')
    assert link["href"] == "compare/n1--n2/compare.html" and link.get_text() == "n1 and n2"


def test_what_is_no_host_is_refused_in_one_sentence(host, tmp_path, capsys):
    empty, twice, damaged = tmp_path / "empty", host("n1"), host("n3")
    empty.mkdir()
    shutil.copytree(twice, tmp_path / "other")
    (damaged / f"results/{STUDY}/claims.json").write_text("[")
    for folders, sentence in (
        ([tmp_path / "none"], "there is no such folder or archive"),
        ([empty], f"{empty} has no verdicts"),
        ([twice, tmp_path / "other"], "Two of the folders have results of a host n1"),
        ([damaged], "are damaged ("),
    ):
        assert made(tmp_path, *folders)[0] == 1
        said = capsys.readouterr().err
        assert sentence in said and said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_without_any_host_the_page_is_of_the_papers_and_all_reference_measurements(tmp_path, monkeypatch, capsys):
    kept = {path.parent.name for path in REFERENCE.glob("*/claims.csv")}
    code, text, table = made(tmp_path)
    assert code == 0 and set(table["host"]) == {"reference"} and set(table["study"]) == kept
    page = pages.check(text, tmp_path / "out")
    for name in kept:
        heads = [head.get_text() for head in page.find(id=name).find_next("table").thead.find_all("th")]
        assert heads == ["claim", "the paper", "reference"]
    monkeypatch.setattr(paths, "REFERENCES", tmp_path / "none")
    assert made(tmp_path)[0] == 1
    assert "No host is named, and there are no reference measurements" in capsys.readouterr().err


def test_without_any_named_hosts_those_beside_the_page_are_compared(tmp_path):
    for name in ("two/done.json", "one/done.json", "three/results/x", "a;b.zip", "findings.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [path.name for path in hosts._beside(tmp_path / "findings.html")] == ["a;b.zip", "one", "two"]

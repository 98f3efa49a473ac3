"""Whole pages, made from the measurements in results/reference."""

import itertools
import json
import re
import shutil
from dataclasses import fields, replace
from pathlib import Path

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from plimsoll import __main__ as stages
from plimsoll import designs, runtimes
from plimsoll.analysis import cell_paths, collect, levels
from plimsoll.claims import answer, book, decision_cost, findings, sessions
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config import answers, studies
from plimsoll.host import inventory
from plimsoll.measuring import plan_file, record
from plimsoll.pages import claim_filter, formats, report, verdict_page
from plimsoll.planning import planner

from tests import pages
from tests.conftest import ONE_SESSION, REFERENCE, built, of_each_design, recorded, tried, usual

# The study with the fewest claims of each design.
THERE = studies.names(studies.STUDIES)
SMALLEST = [name for name in ("plimsoll2026", "jha2018", "amaral2015", "li2018", "li2018-hadoop") if name in THERE]
# The reference has the tables and the pictures, but neither records nor executed notebooks.
NOT_KEPT = (".pdf", ".ipynb", ".observations.csv", "claims.html", "index.html", "raw/")
IMAGE = {
    "tag": "plimsoll",
    "id": "sha256:0123",
    "files": {"libmpi.so.40": {"sha256": "4" * 64, "build_id": "5" * 40}},
    "versions": {"Hadoop": "3"},
}


def verdicts_of(study: str) -> list[dict]:
    """Return the verdicts of the reference, as a study's claims.json has them."""
    return findings.of_table(REFERENCE / study / "claims.csv")


@pytest.fixture(scope="module")
def of_references(tmp_path_factory):
    """Return a function that gives the sources of a study's report, which it makes from the reference once for each host.
    Nothing may change them."""
    kept: dict[tuple[str, str], report.Sources] = {}

    def of_reference(name: str, host: dict, config: dict) -> report.Sources:
        key = (name, json.dumps(host))
        if key not in kept:
            kept[key] = from_reference(tmp_path_factory.mktemp("results"), name, host, config)
        return kept[key]

    return of_reference


@pytest.fixture
def made(of_references, tmp_path):
    """Return a function that gives a test its own copy of the sources of a study's report."""

    def copied(name: str, host: dict, config: dict) -> report.Sources:
        sources, own = of_references(name, host, config), tmp_path / "results"
        results = sources.host.parent
        shutil.copytree(results, own)
        return report.Sources(**{one.name: own / getattr(sources, one.name).relative_to(results) for one in fields(sources)})

    return copied


def from_reference(results: Path, name: str, host: dict, config: dict) -> report.Sources:
    """Return the sources of a study's report, in a folder of `results` that is made from the reference."""
    folder = results / name
    shutil.copytree(REFERENCE / name, folder, dirs_exist_ok=True)
    loaded = studies.load(name, designs.known())
    plan = planner.make(loaded, studies.profile("quick"), host, config, {})
    planner.write(plan, folder / "plan.json")
    observations = collect.table(folder / "observations.csv", plan["factors"])
    loaded.design.readings.tests(loaded, observations).to_csv(folder / "tables/tests.csv", index=False)
    (folder / "claims.json").write_text(json.dumps(verdicts_of(name)))
    (results / "host.json").write_text(
        json.dumps({**inventory.discover(designs=designs.known().values()), "cpu_model": "a processor"})
    )
    (results / "image.json").write_text(json.dumps(IMAGE))
    write_records(folder, plan)
    found = sessions.summary(loaded, plan, results)
    found.means.to_csv(folder / "sessions.csv", index=False)
    found.comparisons.to_csv(folder / "together.csv", index=False)
    levels.of_sessions(loaded, plan, results).to_csv(folder / "variance.csv", index=False)
    (folder / "sessions.json").write_text(json.dumps(found.told))
    (folder / "together.json").write_text(json.dumps(found.results))
    files = {key: folder / f"{key}.csv" for key in ("observations", "runs", "variance", "answer")}
    return report.Sources(
        **files,
        plan=folder / "plan.json",
        host=results / "host.json",
        image=results / "image.json",
        tests=folder / "tables/tests.csv",
        verdicts=folder / "together.json",
        comparisons=folder / "together.csv",
        sessions=folder / "sessions.json",
        figures=folder / "figures",
        tables=folder / "tables",
        records=folder / "runs",
    )


def write_records(folder: Path, plan: dict) -> None:
    """Write the records behind the reference's table of runs, as far as a report reads them."""
    for row in collect.table(folder / "runs.csv", plan["factors"]).to_dict("records"):
        path = cell_paths.of_row(row, plan["factors"])
        said = [] if pd.isna(row["invalid_attempts"]) else str(row["invalid_attempts"]).split("; ")
        earlier = [
            tried(**dict(zip(("status", "reason"), one.split(": ", 1), strict=True)), raw=f"{row['raw']}0") for one in said
        ]
        found = recorded(study=folder.name, block_io_weight_works=None, invalid_attempts=earlier)
        found |= {"repetition": row["repetition"], "status": row["status"], "attempts": row["attempts"], "raw": row["raw"]}
        sight = {"cpus": "0", "nodes": "0", "memory_bytes": 2**30}
        record.write(record.path_of(folder / "runs", path, row["repetition"]), {**found, "limits_seen": [sight]})


@pytest.mark.parametrize("name", of_each_design(0))
def test_a_report_can_be_read_by_everyone(made, small_host, config, name):
    sources = made(name, small_host, config)
    target = sources.plan.parent / "report.html"
    given = [word for field in fields(sources) for word in (f"--{field.name}", str(getattr(sources, field.name)))]
    assert stages.main(["report", "--study", name, *given, "--output", str(target)]) == 0
    page = pages.check(target.read_text(), target.parent, NOT_KEPT)
    assert page.h1.get_text() == studies.load(name, designs.known())["question"]
    words_are_explained_where_they_are_used(page)
    # All else about the run is folded in its last part. The tables are those of the paper.
    sections = [heading["id"] for heading in page.find_all("h2")]
    assert [one for one in sections if one != "tables"] == ["answer", "verdicts", "figures", "about", "words"]
    if "tables" in sections:
        within = page.find(id="tables").find_all_next(["h2", "h3", "details"])
        named = list(itertools.takewhile(lambda tag: tag.name != "h2", within))
        assert named and all(re.fullmatch(r"table\d+", tag["id"]) for tag in named)
    parts = page.find(id="about").find_next_siblings("details")
    assert len(parts) > 5 and all(one["class"] == ["more", "about"] and not one.has_attr("open") for one in parts)
    # Every repeated run is listed with its record, and with the reason and the raw output of each attempt.
    runs = pd.read_csv(sources.runs)
    repeated = runs[(runs["attempts"] > 1) | (runs["status"] != "valid")]
    # If no run was repeated, the first table is another one.
    listed = page.select("table.runs")[0].select("tbody tr") if len(repeated) else []
    rows = {(row.th.get_text(), int(row.td.get_text())): row for row in listed}
    factors = json.loads(sources.plan.read_text())["factors"]
    assert len(rows) == len(repeated)
    for run in repeated.astype(str).to_dict("records"):
        row = rows[cell_paths.of_row(run, factors), int(run["repetition"])]
        attempts = row.find_all("td")[-1].find_all("div")
        assert len(attempts) == int(float(run["attempts"])) and all(one.a["href"].startswith("raw/") for one in attempts)
        # A run that did more than the machine can do has no attempt that was invalid on its own.
        own = run["invalid_attempts"]
        said = own.split(": ", 1)[1] if isinstance(own, str) and own else run["reason"]
        assert said[:40] in row.get_text()


def test_every_answer_of_a_study_stands_on_its_page(made, small_host, config, tmp_path):
    study = built("amaral2015")
    sources = made(study["id"], small_host, config)
    plan = plan_file.read(sources.plan)
    observations, runs = (collect.table(path, plan["factors"]) for path in (sources.observations, sources.runs))
    of_now = tmp_path / "answer.csv"
    answer.table(StudyObservations(study, plan, observations, runs), study["alpha"]).to_csv(of_now, index=False)
    page = pages.check(report.render(study, replace(sources, answer=of_now)), sources.plan.parent, NOT_KEPT)
    inside = list(page.find(id="answer").find_all_next(["h2", "h3", "table"]))
    upto = inside[: next(place for place, tag in enumerate(inside) if tag.name == "h2")]
    told = [tag.get_text() if tag.name == "h3" else "table" for tag in upto]
    names = [formats.capital(one["name"]) for one in answers.of_study(study)]
    # The answers about a program and about creation have a table for each number of instances.
    assert told == [names[0], *3 * ["table"], names[1], *3 * ["table"], names[2], "table", names[3], "table"]
    # The paper's virtual machines were not emulated, unlike those beside them. A note says so.
    tables = {path.stem: path.read_text() for path in sources.tables.glob("table0*.csv")}
    emulated = [name for name, text in sorted(tables.items()) if "vm-emulated" in text]
    noted = [tag.find_previous("h3")["id"] for tag in page.find_all("p") if "say nothing of the speed" in tag.get_text()]
    assert noted == emulated == ["table02", "table04"]


@pytest.mark.parametrize("name", usual(THERE, SMALLEST))
def test_a_report_is_made_of_a_study_that_has_only_what_its_schema_requires(made, small_host, config, name):
    study = built(name)
    for key in ("tables", "deviations", "paper_findings"):
        study.pop(key, None)
    sources = made(name, small_host, config)
    page = pages.check(report.render(study, sources), sources.plan.parent, NOT_KEPT)
    assert not page.find(id="deviations") and page.find(id="figures")
    judged = verdict_page.read(sources.verdicts, sources.comparisons)
    told = json.loads(sources.sessions.read_text())
    assert name in verdict_page.render(judged[0], *({name: one} for one in (judged[1], study, told)))


def test_a_splitting_study_of_another_program_than_hpcc_has_its_parameters_in_its_report(made, small_host, config):
    sources = made("plimsoll2026", small_host, config)
    plan = json.loads(sources.plan.read_text())
    for cell in plan["cells"].values():
        cell["parameters"] = {"section": cell["section"], "messages": 100}
    sources.plan.write_text(json.dumps(plan))
    page = pages.check(report.render(built("plimsoll2026"), sources), sources.plan.parent, NOT_KEPT)
    assert "messages 100" in page.get_text() and "order of the matrix" not in page.get_text()


def test_a_report_says_what_was_planned_and_every_sentence_once(made, small_host, config):
    study = built("liu2020")
    sources = made("liu2020", small_host, config)
    plan = json.loads(sources.plan.read_text())
    measurable = [cell for cell in plan["cells"].values() if cell["reason"] is None]
    for cell in measurable[3:]:
        cell["repetitions"] = 0
    measurable[0]["repetitions"] = 66
    sources.plan.write_text(json.dumps(plan))
    judged = json.loads(sources.verdicts.read_text())
    for result in judged:
        if result["decide"]:
            result["decide"] = {"undecidable": decision_cost.TOO_FEW}
    sources.verdicts.write_text(json.dumps(judged))
    text = report.render(study, sources)
    left = len(measurable) - 3
    assert re.search(
        rf"runs of 3 cells were planned, \d+ to 66 of each\..*Not in the given time: {left} cells", text, re.DOTALL
    )
    page = BeautifulSoup(text, "html.parser")
    told = [one for one in page.find_all("p", class_="quiet") if re.match(r"\d+ of them: ", one.get_text())]
    assert told
    for one in told:
        sentence = one.get_text().partition(": ")[2]
        assert not any(item.get_text().rstrip().endswith(sentence) for item in page.find_all("li"))
    # A text's quotations are shown as code.
    assert "<code>apptainer exec</code>" in text and "`" not in page.find(id="deviations").find_next("ul").get_text()


TOGETHER = "All containers of a run together have the processors"
EACH = "Each container that has no limits of its own has the processors"


@pytest.mark.parametrize(("together", "said", "other"), [(True, TOGETHER, EACH), (False, EACH, TOGETHER)])
def test_a_report_says_whether_containers_have_their_limits_together(made, small_host, config, together, said, other):
    study = built("jha2018")
    page = report.render(study, made(study["id"], {**small_host, "limits": together}, config))
    assert said in page and other not in page


def test_a_report_says_which_problems_are_smaller_than_they_should_be(made, small_host, config):
    study = built("plimsoll2026")
    small_host["nodes"][0]["memory_bytes"] = 2**24
    page = report.render(study, made(study["id"], small_host, config))
    assert "Smaller than they should be: beff has N = 793 and should have 1000: a section may use 30 % of the" in page
    assert "rm results/plimsoll2026/sizes.json" in page


def test_a_report_says_where_processors_were_left_out_without_cpusets(made, small_host, config):
    study = built("plimsoll2026")
    sources = made(study["id"], small_host, config)
    host = json.loads(sources.host.read_text())
    for cpusets in (True, False):
        sources.host.write_text(json.dumps({**host, "cpusets": cpusets}))
        page = report.render(study, sources)
        assert ("<code>taskset</code> bound programs on bare metal" in page) == (not cpusets)


def test_pages_say_where_neighbours_were_not_seen(made, small_host, config, tmp_path):
    name = studies.names(studies.STUDIES)[0]
    sources = made(name, small_host, config)
    runs = pd.read_csv(sources.runs)
    runs.assign(neighbours_apart=runs["runtime"] != runs["runtime"].iloc[0]).to_csv(sources.runs, index=False)
    results = [{**one, "unwatched": 3} for one in verdicts_of(name)]
    sources.verdicts.write_text(json.dumps(results))
    apart = "could not be told apart from the runs, so that none was"
    page = report.render(studies.load(name, designs.known()), sources)
    label = runtimes.find(runs["runtime"].iloc[0]).label
    assert f"In runs of {label} what neighbours used {apart} repeated for it." in page
    told = f"In 3 of the cells that it is about, what neighbours used {apart} left out for it."
    decided = [one for one in results if one["comparisons"] and not one["same_as"]]
    assert decided and page.count(told) >= 1
    given = [f"--{key}" for key in ("verdicts", "comparisons", "answers", "sessions")]
    paths = [
        word
        for pair in zip(given, map(str, (sources.verdicts, sources.comparisons, sources.answer, sources.sessions)), strict=True)
        for word in pair
    ]
    made = {"page": tmp_path / "p.html", "table": tmp_path / "t.csv", "start": tmp_path / "i.html"}
    outputs = [word for option, path in made.items() for word in (f"--{option}", str(path))]
    assert stages.main(["verdicts", *paths, *outputs]) == 0
    assert told in (tmp_path / "p.html").read_text()
    assert pd.read_csv(tmp_path / "t.csv").query("study == @name and comparisons > 0")["unwatched"].eq(3).all()


def test_the_page_of_verdicts_can_be_read_by_everyone(tmp_path):
    # The first and the last study are measured, and those between are not.
    built = studies.names(studies.STUDIES)
    measured = tuple(dict.fromkeys((built[-1], built[0])))
    for name in measured:
        (tmp_path / f"{name}.json").write_text(json.dumps(verdicts_of(name)))
    verdicts = [str(tmp_path / f"{name}.json") for name in measured]
    comparisons = [str(REFERENCE / name / "comparisons.csv") for name in measured]
    answers = [str(REFERENCE / name / "answer.csv") for name in measured]
    (tmp_path / "sessions.json").write_text(json.dumps(ONE_SESSION))
    told = [str(tmp_path / "sessions.json")] * len(measured)
    made = {"page": tmp_path / "claims.html", "table": tmp_path / "claims.csv", "start": tmp_path / "index.html"}
    outputs = [word for name, path in made.items() for word in (f"--{name}", str(path))]
    inputs = ["--verdicts", *verdicts, "--comparisons", *comparisons, "--answers", *answers, "--sessions", *told]
    assert stages.main(["verdicts", *inputs, *outputs]) == 0
    assert made["page"].read_text().count("All of it is of one session") == len(measured)
    page = pages.check(made["page"].read_text(), tmp_path, tuple(f"{name}/" for name in measured))
    claims = {claim["id"]: name for name, of_study in book.load_all().items() for claim in of_study}
    assert {section["id"] for section in page.select("section.claim")} == set(claims)
    words_are_explained_where_they_are_used(page)
    # Studies that were not measured are folded away, after all measured ones.
    assert [heading["id"] for heading in page.find_all("h2")][-len(measured) - 2 :] == [*measured, "elsewhere", "words"]
    statements_can_be_filtered(page)
    comparisons_are_few_and_readable(page)
    table = pd.read_csv(made["table"]).set_index("id")
    assert set(table.index) == set(claims)
    unavailable = table["verdict"] == "study not available"
    assert {claims[one] for one in table.index[unavailable]} == set(book.names()) - set(measured)


@pytest.fixture
def several(tmp_path, monkeypatch) -> Path:
    """Return results of two starts: the second one judged the first study, and the first one the last study."""
    monkeypatch.chdir(tmp_path)
    there = studies.names(studies.STUDIES)
    for name in (there[0], there[-1]):
        shutil.copytree(REFERENCE / name, Path("results", name))
        Path(f"results/{name}/together.json").write_text(json.dumps(verdicts_of(name)))
        shutil.copy(REFERENCE / name / "comparisons.csv", Path(f"results/{name}/together.csv"))
        Path(f"results/{name}/sessions.json").write_text(json.dumps(ONE_SESSION))
    return Path("results")


def verdicts_beside(results: Path, own: str, *others: str) -> pd.DataFrame:
    """Return the table of verdicts of a start that selects one study and has results of others beside it. Check its page."""
    files = zip(("--verdicts", "--comparisons", "--answers", "--sessions"), verdict_page.FILES, strict=True)
    given = [word for option, name in files for word in (option, str(results / own / name))]
    beside = ["--beside", *(str(results / name) for name in others)]
    made = ["--page", str(results / "claims.html"), "--table", str(results / "claims.csv")]
    made += ["--start", str(results / "index.html")]
    assert stages.main(["verdicts", *given, *beside, *made]) == 0
    for name in ("claims.html", "index.html"):
        pages.check((results / name).read_text(), results, (*NOT_KEPT, "report.html", "runs/"))
    return pd.read_csv(results / "claims.csv", keep_default_na=False).set_index("id")


def test_a_second_study_takes_nothing_of_the_first_off_the_page(several):
    first, *_, last = studies.names(studies.STUDIES)
    table = verdicts_beside(several, last, first)
    for name in (first, last):
        judged = {one["id"]: one["verdict"] for one in verdicts_of(name)}
        assert table.loc[table["study"] == name, "verdict"].to_dict() == judged
        page = BeautifulSoup((several / "claims.html").read_text(), "html.parser")
        # The page of claims leads to answers and deviations, which stand in the report.
        answer_of, deviations = (f"{name}/report.html#{anchor}" for anchor in ("answer", "deviations"))
        assert page.find(id=f"answer-{name}").a["href"] == answer_of and page.find("h2", id=name)
        assert page.find("a", href=deviations) and studies.load(name, designs.known())["deviations"][0] not in page.get_text()
        assert not page.select(".recommendation, .said")
        start = BeautifulSoup((several / "index.html").read_text(), "html.parser")
        assert start.find("h2", id=name) and start.find("a", href=f"{name}/report.html")
    assert start.find(id="others").find_next("table").find("code").get_text().startswith("./plimsoll reproduce ")


def lose(folder: Path) -> None:
    (folder / "together.csv").unlink()
    (folder / "runs/cell").mkdir(parents=True)
    (folder / "runs/cell/1.json").write_text("{}")


def of_another_version(folder: Path) -> None:
    results = [{key: one[key] for key in ("id", "study", "verdict", "statement")} for one in verdicts_of(folder.name)]
    (folder / "together.json").write_text(json.dumps(results))


def of_other_claims(folder: Path) -> None:
    (folder / "together.json").write_text(json.dumps(verdicts_of(folder.name)[1:]))


def torn(folder: Path) -> None:
    (folder / "together.json").write_text((folder / "together.json").read_text()[:1000])


def of_another_answer(folder: Path) -> None:
    pd.read_csv(folder / "answer.csv").drop(columns="ratio").to_csv(folder / "answer.csv", index=False)


def not_measured(folder: Path) -> None:
    shutil.rmtree(folder)
    (folder / "progress").mkdir(parents=True)


@pytest.mark.parametrize("spoil", [lose, of_another_version, of_other_claims, torn, of_another_answer, not_measured])
def test_what_cannot_be_shown_of_another_study_is_told_with_the_command_that_judges_it(several, spoil):
    first, *_, last = studies.names(studies.STUDIES)
    spoil(several / first)
    table = verdicts_beside(several, last, first)
    assert set(table.loc[table["study"] == first, "verdict"]) == {"study not available"}
    assert len(set(table.loc[table["study"] == last, "verdict"])) > 1
    command = f"./plimsoll reproduce {first}"
    assert (command in (several / "claims.html").read_text()) == (spoil is not not_measured)
    assert f"{command} makes them" in (several / "index.html").read_text() or spoil is not_measured


def statements_can_be_filtered(page) -> None:
    """Check that every choice has a claim, and that every measured claim has the values by which it can be chosen."""
    claims = page.select("section.claim[data-verdict]")
    chosen = {
        select["name"]: [one["value"] for one in select.find_all("option")]
        for select in page.find(id="filter").find_all("select")
    }
    assert list(chosen) == list(claim_filter.BY)
    for key, values in chosen.items():
        had = {value for claim in claims for value in claim[f"data-{key}"].split("|")} - {""}
        assert values[0] == "" and sorted(values[1:]) == sorted(had), key
    for claim in claims:
        assert claim["data-study"] in claim["id"] and claim["data-verdict"] in claim.get_text()


def comparisons_are_few_and_readable(page) -> None:
    """Check for six columns, contradicted ones first, no more rows than allowed, and words instead of names of levels."""
    order = ["contradicted", "inconclusive", "reproduced", "not measured"]
    for table in page.select("section.claim table"):
        rows = table.tbody.find_all("tr")
        assert len(table.thead.find_all("th")) == 6 and 0 < len(rows) <= verdict_page.SHOWN
        found = [order.index(row.b.get_text()) for row in rows]
        assert found == sorted(found)
        text = table.tbody.get_text()
        assert not re.search(r"\b[EO]\d\b|no_difference|\bnot_|\b(exact|cpumem|docker|bare)\b(?! metal)", text), text
        assert "together.csv" in table.parent.parent.get_text()


def words_are_explained_where_they_are_used(page) -> None:
    """Check that the glossary explains each linked word once, and nothing else."""
    explained = [term["id"] for term in page.select("dt[id^=word-]")]
    assert explained and sorted(link["href"][1:] for link in page.select("a.word")) == sorted(explained)
    assert "word-cell" in explained and "word-block" in explained


# Markup that takes effect in a page that does not escape it: in a text, in an attribute, and as an address.
HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>"
# Keys of texts that a person or a program may write.
OF_STUDY = ("title", "question", "paper_host", "label", "unit", "authors", "venue", "doi")
OF_CLAIMS = ("statement", "reason", "note", "threshold", "says", "untestable", "section")


def spoiled(document: object, keys: tuple[str, ...] | None) -> object:
    """Return a document whose texts at these keys, or all of its texts, end with hostile markup."""
    if isinstance(document, dict):
        return {
            key: f"{value}{HOSTILE}" if isinstance(value, str) and (keys is None or key in keys) else spoiled(value, keys)
            for key, value in document.items()
        }
    if isinstance(document, list):
        return [f"{one}{HOSTILE}" if isinstance(one, str) and keys is None else spoiled(one, keys) for one in document]
    return document


def nothing_hostile_works(text: str, least: int) -> None:
    """Check that a page shows hostile markup as text at least `least` times, and never as an element, attribute or link."""
    page = BeautifulSoup(text, "html.parser")
    assert page.get_text().count(HOSTILE) >= least
    assert not [script for script in page.find_all("script") if "alert" in script.get_text()]
    assert not page.find_all("img", src="x")
    for tag in page.find_all(True):
        assert not [name for name in tag.attrs if name.startswith("on")], tag
        address = str(tag.get("href") or tag.get("src") or "")
        assert not address.startswith("javascript:") and (not address.startswith("data:") or tag.name == "img"), address


@pytest.mark.parametrize("name", SMALLEST)
def test_pages_show_hostile_texts_as_texts(made, small_host, config, name, tmp_path):
    sources = made(name, small_host, config)
    study = built(name)
    for key in ("deviations", "paper_findings"):
        study[key] = spoiled(study[key], None)
    study["answer"] = [{**one, "notes": spoiled(one.get("notes", {}), None)} for one in answers.of_study(study)]
    spoiled_study = studies.Study(spoiled(dict(study), OF_STUDY), study.design)
    results = spoiled(verdicts_of(name), OF_CLAIMS)
    sources.verdicts.write_text(json.dumps(results))
    host = json.loads(sources.host.read_text())
    for key in ("cpu_model", "distribution", "system", "for_designs", "virtualisation"):
        host[key] = spoiled({key: host[key]}, None)[key]
    (tmp_path / "host.json").write_text(json.dumps(host))
    image = {**IMAGE, "versions": spoiled(IMAGE["versions"], None)}
    (tmp_path / "image.json").write_text(json.dumps(image))
    plan = json.loads(sources.plan.read_text())
    plan["cells"] = {path: {**cell, **spoiled({"reason": cell["reason"]}, None)} for path, cell in plan["cells"].items()}
    sources.plan.write_text(json.dumps(plan))
    runs = pd.read_csv(sources.runs).astype({"reason": object})
    runs.loc[runs.index[:2], ["status", "reason"]] = ["failed", f"it ended with 1: {HOSTILE}"]
    runs.to_csv(sources.runs, index=False)
    for path in (sources.plan.parent / "runs").rglob("*.json"):
        found = json.loads(path.read_text())
        found["invalid_attempts"] = spoiled(found["invalid_attempts"], ("reason",))
        record.write(path, found)
    given = replace(sources, host=tmp_path / "host.json", image=tmp_path / "image.json")
    nothing_hostile_works(report.render(spoiled_study, given), 20)
    judged = verdict_page.read(sources.verdicts, sources.comparisons)
    of_study = (judged[1], spoiled_study, json.loads(sources.sessions.read_text()))
    nothing_hostile_works(verdict_page.render(results, *({name: one} for one in of_study)), 10)

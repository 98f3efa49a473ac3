"""jha2021 as a user runs it, cut down to two microservices."""

import json

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from tests import pages
from tests.project import Project

KEPT = ["linpack", "netperf_tcp_rr"]
FIGURES = ["fig05", "fig06", "fig13", "matrix"]
SETTINGS = ("studies=jha2021", "profile=ci")


def cut_down(project: Project) -> None:
    """Cut jha2021 down to two microservices."""
    with project.edited("config/studies/jha2021.yaml") as study:
        study["experiments"]["interference"] |= {"benchmark": KEPT, "placement": ["free"]}
        study["metrics"] = {name: metric for name, metric in study["metrics"].items() if metric["benchmark"] in KEPT}
        study["answer"]["metrics"] = [name for name in study["answer"]["metrics"] if name in study["metrics"]]
        study["figures"] = {
            name: {**study["figures"][name], "metrics": [m for m in study["figures"][name]["metrics"] if m in study["metrics"]]}
            for name in FIGURES
        }
        study["tables"] = {name: study["tables"][name] for name in ("recommendation", "table01", "table02", "table03")}
        study["references"] = ["jha2021_table3_linpack"]
    # Claims name the other microservices too. Only those about these two are kept.
    with project.edited("config/claims/jha2021.yaml") as document:
        document["claims"] = [claim for claim in document["claims"] if claim["id"][-3:] in ("c07", "c10", "c11", "c88", "c09")]
    with project.edited("config/claims/jha2018.yaml") as document:
        document["claims"] = [claim for claim in document["claims"] if "same_as" not in claim]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A copy of the project in which everything of the small study was made."""
    project = Project(tmp_path_factory.mktemp("interference"))
    cut_down(project)
    # Figures are drawn on all cores; a measurement takes them all for itself.
    project.done = project.snakemake("all", "--cores", "all", config=SETTINGS)
    return project


@pytest.mark.long
def test_everything_is_made(measured):
    assert measured.done.returncode == 0, measured.done.stderr
    results = measured.folder / "results/jha2021"
    assert len(measured.files("results/jha2021/runs/**/*.json")) == 2 + 1 + 3 * 3
    for name in FIGURES:
        for kind in ("pdf", "png", "csv", "txt"):
            assert (results / f"figures/{name}.{kind}").stat().st_size > 0
    runs = pd.read_csv(results / "runs.csv")
    assert (runs["status"] == "valid").all(), runs["reason"].dropna().to_list()
    observations = pd.read_csv(results / "observations.csv", dtype={"case": str})
    assert {"1", "1a", "2", "3a", "3b"} == set(observations["case"])


@pytest.mark.long
def test_the_report_shows_matrix_protocol_limits_and_who_may_share(measured):
    page = (measured.folder / "results/jha2021/report.html").read_text()
    shown = pages.check(page, measured.folder / "results/jha2021").get_text()
    for text in ("A pair may share a container if", "Matrix (ours)", "Limits, seen from inside", "that count", "L with NR"):
        assert text in shown
    assert "http://" not in page.replace("http://www.w3.org", "")


@pytest.mark.long
def test_claims_of_the_study_have_verdicts_and_the_other_is_not_available(measured):
    table = pd.read_csv(measured.folder / "results/claims.csv")
    assert set(table.loc[table["study"] == "jha2018", "verdict"]) == {"study not available"}
    assert len(table[table["study"] == "jha2021"]) == 5
    found = json.loads((measured.folder / "results/jha2021/claims.json").read_text())
    assert "study not available" not in {claim["verdict"] for claim in found}


@pytest.mark.long
def test_the_paper_s_table_is_beside_ours(measured):
    table = pd.read_csv(measured.folder / "results/jha2021/tables/table03.csv", dtype={"case": str})
    row = table[(table["case"] == "2") & (table["co_runner"] == "linpack")].iloc[0]
    assert row["paper_mean"] == 15.14 and row["mean"] > 0
    recommended = pd.read_csv(measured.folder / "results/jha2021/tables/recommendation.csv")
    assert len(recommended) == 3 and set(recommended["verdict"]) <= {"may share", "should not share", "undecided"}
    versions = pd.read_csv(measured.folder / "results/jha2021/tables/table02.csv")
    assert versions["version"].str.len().gt(0).all()


@pytest.mark.long
def test_a_second_start_has_nothing_to_do(measured):
    assert measured.jobs("all", config=SETTINGS) == {}


def test_one_figure_measures_only_its_own_microservice(fresh):
    jobs = fresh.jobs("results/jha2021/figures/fig05.pdf", config=SETTINGS)
    assert jobs["measure"] == 1 + 3 * 6 and jobs["figure"] == 1


@pytest.mark.long
def test_where_nothing_can_be_measured_every_output_says_why(fresh):
    cut_down(fresh)
    profile = fresh.folder / "config/profiles/ci.yaml"
    profile.write_text(profile.read_text().replace("memory_megabytes: 48", "memory_megabytes: 100000000"))
    done = fresh.snakemake("all", "--cores", "all", config=SETTINGS)
    assert done.returncode == 0, done.stderr
    assert fresh.files("results/jha2021/runs/**/*.json") == []
    reason = "% of this host's memory"
    assert all(reason in (fresh.folder / f"results/jha2021/figures/{name}.txt").read_text() for name in FIGURES)
    # Words that the page explains are links.
    page = BeautifulSoup((fresh.folder / "results/jha2021/report.html").read_text(), "html.parser").get_text()
    assert "Nothing of this study can be measured here" in page and reason in page
    claims = pd.read_csv(fresh.folder / "results/claims.csv")
    assert set(claims.loc[claims["study"] == "jha2021", "verdict"]) == {"not testable here"}
    # Another start with another study adds its verdicts to the existing ones.
    other = ("studies=jha2018", *(setting for setting in SETTINGS if not setting.startswith("studies=")))
    done = fresh.snakemake("results/claims.html", "--cores", "all", config=other)
    assert done.returncode == 0, done.stderr
    claims = pd.read_csv(fresh.folder / "results/claims.csv")
    assert {name: set(own) for name, own in claims.groupby("study")["verdict"] if "not testable here" in set(own)} == {
        name: {"not testable here"} for name in ("jha2018", "jha2021")
    }
    assert fresh.jobs("results/claims.html", config=other) == {}

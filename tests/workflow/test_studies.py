"""The other studies as a user runs them completely, on the ci profile: all figures, tables, verdicts and pages."""

import json

import pandas as pd
import pytest
import yaml
from plimsoll.claims import book

from tests import pages
from tests.conftest import PROJECT
from tests.project import Project

pytestmark = pytest.mark.long
STUDIES = ("amaral2015", "li2018", "li2018-hadoop")


class Whole(Project):
    """A copy of the project in which everything of a study was made."""

    def __init__(self, folder, study: str):
        super().__init__(folder)
        self.study, self.settings = study, (f"studies={study}", "profile=ci")
        self.results = self.folder / "results" / study
        self.done = self.snakemake("all", "--cores", "all")


@pytest.fixture(scope="module", params=STUDIES)
def whole(request, tmp_path_factory):
    return Whole(tmp_path_factory.mktemp("whole"), request.param)


def test_each_planned_run_is_measured_once_and_counts(whole):
    assert whole.done.returncode == 0, whole.done.stderr
    said = whole.done.stderr + whole.log()
    assert "Traceback" not in said and "Exception" not in said
    plan = json.loads((whole.results / "plan.json").read_text())
    records = whole.files(f"results/{whole.study}/runs/**/*.json")
    assert records == sorted(f"results/{whole.study}/runs/{path}/{repetition}.json" for path, repetition in plan["order"])
    runs = pd.read_csv(whole.results / "runs.csv")
    assert len(runs) == len(records) > 0
    assert (runs["status"] == "valid").all(), runs.loc[runs["status"] != "valid", "reason"].to_list()
    observations = pd.read_csv(whole.results / "observations.csv")
    assert (observations["value"] >= 0).all() and observations["value"].notna().all()


def test_every_figure_and_table_is_there(whole):
    study = yaml.safe_load((PROJECT / f"config/studies/{whole.study}.yaml").read_text())
    for name in study["figures"]:
        for kind in ("pdf", "png", "csv", "alt.txt"):
            assert (whole.results / f"figures/{name}.{kind}").stat().st_size > 20, (name, kind)
        notebook = json.loads((whole.results / f"notebooks/{name}.ipynb").read_text())
        assert all(cell.get("execution_count") for cell in notebook["cells"] if cell["cell_type"] == "code")
    for name in (*study["tables"], "tests"):
        assert (whole.results / f"tables/{name}.csv").stat().st_size > 0, name


def test_every_claim_has_a_verdict_or_a_reason(whole):
    every = pd.read_csv(whole.folder / "results/claims.csv", keep_default_na=False)
    claims = every[every["study"] == whole.study]
    assert set(claims["id"]) == {claim["id"] for claim in book.load(whole.study)}
    assert set(claims["verdict"]) <= {"reproduced", "contradicted", "conditional", "inconclusive", "not testable here"}
    assert (claims.loc[claims["verdict"] == "not testable here", "reason"] != "").all()


def test_pages_hold_everything_and_need_nothing(whole):
    pages.check((whole.results / "report.html").read_text(), whole.results)
    pages.check((whole.folder / "results/claims.html").read_text(), whole.folder / "results")


def test_a_second_start_has_nothing_to_do_and_a_deleted_figure_measures_nothing(whole):
    assert whole.jobs("all") == {}
    name = next(iter(yaml.safe_load((PROJECT / f"config/studies/{whole.study}.yaml").read_text())["figures"]))
    (whole.results / f"figures/{name}.pdf").unlink()
    jobs = whole.jobs(f"results/{whole.study}/figures/{name}.pdf")
    assert jobs["figure"] == 1 and "measure" not in jobs

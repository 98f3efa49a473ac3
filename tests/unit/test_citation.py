"""CITATION.cff names the software, and every paper that a study reproduces."""

import tomllib

import pytest
import yaml
from plimsoll.config import studies

from tests.conftest import PROJECT, built

CITED = yaml.safe_load((PROJECT / "CITATION.cff").read_text())
REFERENCES = {reference["doi"]: reference for reference in CITED["references"]}


OF_PAPERS = [name for name in studies.names(studies.STUDIES) if "doi" in built(name)["citation"]]


@pytest.mark.parametrize("name", OF_PAPERS)
def test_each_paper_is_cited_as_its_study_cites_it(name):
    study, cited = built(name), REFERENCES[built(name)["citation"]["doi"]]
    wanted = study["citation"]
    # A study of one part of a paper, or one that leaves out the subtitle, has a title that begins alike.
    assert study["title"].startswith(cited["title"]) or cited["title"].startswith(study["title"])
    assert ", ".join(f"{one['given-names']} {one['family-names']}" for one in cited["authors"]) == wanted["authors"]
    assert cited["year"] == wanted["year"]
    assert cited.get("journal", cited.get("collection-title")) == wanted["venue"]


def test_no_paper_is_cited_twice():
    assert len(REFERENCES) == len(CITED["references"])


def test_version_and_licence_are_those_of_the_package():
    package = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert CITED["version"] == package["version"] and CITED["license"] == package["license"]
    assert CITED["cff-version"] == "1.2.0" and {"message", "title", "authors"} <= CITED.keys()

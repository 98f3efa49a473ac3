"""CITATION.cff names the software, and every paper that a study reproduces."""

import tomllib

import jsonschema
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


# The part of the Citation File Format's schema, version 1.2.0, that the file uses.
TEXT = {"type": "string", "minLength": 1}
PERSON = {
    **{"type": "object", "additionalProperties": False, "required": ["family-names", "given-names"]},
    "properties": {"family-names": TEXT, "given-names": TEXT, "orcid": TEXT, "affiliation": TEXT},
}
ENTITY = {"type": "object", "additionalProperties": False, "required": ["name"], "properties": {"name": TEXT, "website": TEXT}}
AUTHORS = {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"anyOf": [PERSON, ENTITY]}}
DOI = {"type": "string", "pattern": r"^10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-\.\(\)\[\]\\]+$"}
REFERENCE = {
    **{"type": "object", "additionalProperties": False, "required": ["type", "title", "authors"]},
    "properties": {
        **{"type": {"enum": ["article", "conference-paper", "software", "report"]}, "title": TEXT, "authors": AUTHORS},
        **{"journal": TEXT, "collection-title": TEXT, "year": {"type": "integer"}, "doi": DOI},
    },
}
FORMAT = {
    **{"type": "object", "additionalProperties": False, "required": ["cff-version", "message", "title", "authors"]},
    "properties": {
        **{"cff-version": {"const": "1.2.0"}, "message": TEXT, "title": TEXT, "authors": AUTHORS, "doi": DOI},
        **{"type": {"enum": ["software", "dataset"]}, "version": TEXT, "license": TEXT},
        **{"date-released": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"}, "repository-code": TEXT},
        **{"keywords": {"type": "array", "minItems": 1, "uniqueItems": True, "items": TEXT}},
        **{"references": {"type": "array", "minItems": 1, "uniqueItems": True, "items": REFERENCE}},
    },
}


def test_the_file_is_in_the_citation_file_format():
    jsonschema.validate(CITED, FORMAT)


@pytest.mark.parametrize("change", [{"authors": []}, {"titel": "x"}, {"references": [{"type": "paper"}]}, {"cff-version": 1.2}])
def test_another_format_is_refused(change):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**CITED, **change}, FORMAT)


def test_every_paper_that_is_cited_has_a_study():
    assert set(REFERENCES) == {built(name)["citation"]["doi"] for name in OF_PAPERS}

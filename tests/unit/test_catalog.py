"""Snakemake's catalog of workflows shows this one under *standardized usage*."""

import yaml
from plimsoll import features

from tests.conftest import PROJECT

SETTINGS = yaml.safe_load((PROJECT / ".snakemake-workflow-catalog.yml").read_text())


def test_the_catalog_finds_what_it_asks_for():
    assert (PROJECT / "workflow/Snakefile").is_file() and (PROJECT / "config/README.md").is_file()
    readme = (PROJECT / "README.md").read_text().lower()
    assert "snakemake" in readme and "workflow" in readme
    assert list((PROJECT / "rules").glob("*.smk"))


def test_the_catalog_s_settings_have_its_keys():
    assert SETTINGS.keys() == {"usage"}
    assert SETTINGS["usage"].keys() == {"mandatory-flags", "software-stack-deployment", "report"}
    assert SETTINGS["usage"]["mandatory-flags"].keys() == {"desc", "flags"}
    assert SETTINGS["usage"]["software-stack-deployment"] == {"conda": True}


def test_what_the_catalog_says_is_so():
    """Each rule with a command names the conda environment, and outputs are marked for the report."""
    for path in [*(PROJECT / "rules").glob("*.smk"), *features.rules()]:
        for rule in path.read_text().split("\nrule ")[1:]:
            is_of_hosts = path.name == "cluster.smk"
            assert is_of_hosts or "shell:" not in rule or '../envs/plimsoll.yaml"' in rule, rule.partition(":")[0]
    assert SETTINGS["usage"]["report"] is any("report(" in path.read_text() for path in (PROJECT / "rules").glob("*.smk"))

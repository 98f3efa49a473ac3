"""Files of the project and of the configuration are found, whatever folder the workflow runs in."""

from pathlib import Path

from plimsoll import paths


def test_a_source_is_named_from_the_working_directory_or_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(paths.PROJECT)
    assert paths.source("config/studies/liu2020.yaml") == "config/studies/liu2020.yaml"
    assert paths.source(paths.PROJECT / "notebooks/why.ipynb") == "notebooks/why.ipynb"
    monkeypatch.chdir(paths.PROJECT.parent)
    assert paths.source("Snakefile") == f"{paths.PROJECT.name}/Snakefile"
    for elsewhere in (tmp_path, paths.PROJECT / "config"):
        monkeypatch.chdir(elsewhere)
        assert paths.source("Snakefile") == str(paths.PROJECT / "Snakefile")


def test_a_file_that_the_configuration_names_may_be_the_project_s(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = "config/config.yaml"
    assert paths.configured_file(named) == paths.PROJECT / named
    Path("config").mkdir()
    Path(named).write_text("")
    assert paths.configured_file(named) == Path(named)
    # A file that does not exist keeps the name that was given.
    assert paths.configured_file("config/none.yaml") == Path("config/none.yaml")

"""Measurements in another folder than the project's: by --directory, and as a module of another workflow."""

import json

import pytest

from tests.conftest import usual
from tests.dry.test_elsewhere import OF_MODULE, SETTINGS, module, snakemake

RUNS = [f"results/liu2020/runs/uma/exact/E1/{runtime}/any/default/standard/plain/fft/1.json" for runtime in ("bare", "docker")]


@pytest.mark.parametrize("how", usual(["by --directory", "as a module"], ["as a module"]))
def test_what_is_measured_elsewhere_lies_there_and_nothing_in_the_project(project, tmp_path, how):
    before = set(project.files("results/**/*"))
    if how == "as a module":
        done = snakemake(project, tmp_path, *module(project, tmp_path, **OF_MODULE), *RUNS, settings=("mine=1",))
    else:
        named = ("--snakefile", str(project.folder / "Snakefile"), "--directory", str(tmp_path))
        done = snakemake(project, tmp_path.parent, *named, *RUNS, settings=SETTINGS)
    assert done.returncode == 0, done.stderr
    found = [json.loads((tmp_path / run).read_text()) for run in RUNS]
    assert [one["status"] for one in found] == ["valid", "valid"], [one["reason"] for one in found]
    assert [one["cell"]["runtime"] for one in found] == ["bare", "docker"]
    assert all((tmp_path / "results/liu2020" / one["raw"]).is_dir() for one in found)
    assert set(project.files("results/**/*")) == before

"""The project works in a folder whose name has a special meaning for a shell."""

import pytest

from tests.conftest import usual
from tests.project import Project

NAMES = ("it's a folder", "$(touch here) `touch here`; touch here", 'a "quoted" & <marked> folder')


@pytest.mark.parametrize("name", usual([*NAMES, " ".join(NAMES)], [" ".join(NAMES)]))
def test_the_name_of_the_project_s_folder_may_be_anything(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    project = Project(folder)
    # This file is made by a job that goes through a shell.
    done = project.snakemake("results/li2018-hadoop/plan.json", config=("profile=ci", "runtimes={docker: off}"))
    assert done.returncode == 0, done.stderr
    assert (folder / "results/li2018-hadoop/plan.json").is_file()
    assert not list(tmp_path.rglob("here"))

"""Another session of a small study, on its own machine, whose engine may be started again."""

import json
import shutil
import subprocess

import pandas as pd
import pytest

from tests.project import RUNS
from tests.workflow.conftest import SETTINGS


@pytest.mark.long
def test_another_session_has_a_fresh_engine_and_image_and_both_are_in_the_report(study, tmp_path):
    report = study.project.folder / "results/liu2020/report.html"
    first = study.make("results/liu2020/report.html")
    assert first.returncode == 0, first.stdout
    assert "All of it is of one session" in report.read_text() and "./plimsoll session" in report.read_text()
    engine = study.host.run("pgrep", "-x", "dockerd")
    before = {path: (study.project.folder / path).read_text() for path in study.project.files(RUNS)}
    image = (study.project.folder / "results/images/hpcc.json").read_text()

    begun = study.run("-m", "plimsoll", "new-session", *SETTINGS)
    assert begun.returncode == 0, begun.stdout
    assert begun.stdout.splitlines()[-1] == (
        "plimsoll: liu2020: session 2 (Docker engine: started again; image hpcc: unpacked again)"
    )
    assert study.host.run("pgrep", "-x", "dockerd") != engine
    assert not study.project.files(RUNS)
    kept = study.project.folder / "results/sessions/liu2020/1"
    assert {path: (kept / path.removeprefix("results/liu2020/")).read_text() for path in before} == before

    # A session without measurements is continued. That the image is unpacked again was checked above.
    described = study.project.folder / "results/images/hpcc.json"
    described.rename(tmp_path / "hpcc.json")
    again = study.run("-m", "plimsoll", "new-session", *SETTINGS)
    shutil.move(tmp_path / "hpcc.json", described)
    assert "liu2020: session 2 (" in again.stdout and not (kept.parent / "2").exists()

    second = study.make("all")
    assert second.returncode == 0, second.stdout
    assert (study.project.folder / "results/images/hpcc.json").read_text() == image
    assert {record["status"] for record in study.records()} == {"valid"} and len(study.records()) == study.planned()
    told = json.loads((study.project.folder / "results/liu2020/sessions.json").read_text())
    assert [(one["number"], one["apart"]) for one in told["sessions"]] == [(1, ""), (2, "")]
    assert told["sessions"][1]["fresh"]["Docker engine"] == "started again"
    text = report.read_text()
    assert "Of 2 sessions" in text and "1 more" in text
    means = pd.read_csv(study.project.folder / "results/liu2020/sessions.csv")
    assert len(means) and (means["sessions"] == 2).all() and means["next_low"].isna().all()
    nothing = study.project.jobs("all", config=SETTINGS)
    assert nothing == {}


def test_an_engine_with_somebody_s_containers_is_not_started_again(study):
    study.host.run("docker", "run", "--detach", "--name", "other", study.tag, "sleep", "600")
    engine = study.host.run("pgrep", "-x", "dockerd")
    begun: subprocess.CompletedProcess = study.run("-m", "plimsoll", "new-session", *SETTINGS)
    assert begun.returncode == 0, begun.stdout
    assert "Docker engine: as it was, because it runs containers (other)" in begun.stdout
    assert study.host.run("pgrep", "-x", "dockerd") == engine

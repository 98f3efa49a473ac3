"""Studies of programs that were only written: they are tried in a container before they are measured, with the same options."""

import json
from pathlib import Path

import pytest
import yaml
from plimsoll.errors import PlimsollError
from plimsoll.features.try_program import ranks, recipe, start, study, study_content, trial
from plimsoll.features.try_program.study_options import Metric
from plimsoll.features.try_program.trial import TrialResult

from tests.unit import test_new
from tests.unit.test_program import of_command

ON_HOST = TrialResult(0.02, {}, ("a", "a"))
COMMENT = "# My own comment.\n"


@pytest.fixture
def place(tmp_path):
    """Where a study is whose image was built."""
    found = study.place_of(tmp_path / "my-x.yaml")
    for folder in ("config/studies", "config/claims", "results/images", "root/usr/bin"):
        (found.folder / folder).mkdir(parents=True)
    (found.folder / "root/usr/bin/env").touch()
    described = {"rootfs": str(found.folder / "root"), "tag": "plimsoll/program:1"}
    (found.folder / f"results/images/{recipe.IMAGE}.json").write_text(json.dumps(described))
    return found


def write(place: study.Place, tried: TrialResult | None = ON_HOST) -> None:
    """Write the study's file as a dry run does. The program ran with this result on this host, or not at all."""
    asked = of_command("solver", name="x", minutes=5.0, width=0.01, limit=60.0, ranks=None)
    content = study_content.of_study(asked, "my-x", "the image solver:2", tried, ["docker"], None)
    content["program"] |= {"image_variables": {"A": "1"}, "untried": "in a container of its image"}
    study.write(place.file, content)
    place.file.write_text(place.file.read_text().replace("program:\n", f"program:\n  {COMMENT}"))


def trying(monkeypatch, outputs: tuple[str, ...], folders: list[str]) -> list:
    """Let trials in containers show these outputs and these folders. Return the list that takes what was tried."""
    tried = []
    monkeypatch.setattr(trial, "in_container", lambda *given: tried.append(given) or TrialResult(0.3, {}, outputs))
    monkeypatch.setattr(trial, "layer_folders", lambda *_: folders)
    return tried


def program(place: study.Place) -> dict:
    return yaml.safe_load(place.file.read_text())["program"]


@pytest.mark.parametrize("folders", [[], ["/data", "/srv/a b"]])
def test_a_study_that_was_only_written_is_tried_in_a_container_once(place, monkeypatch, folders):
    write(place)
    before, tried = program(place), trying(monkeypatch, ("a", "a"), folders)
    study.finish(place, pytest.fail)
    del before["untried"]
    assert program(place) == before | ({"written": folders} if folders else {})
    assert COMMENT in place.file.read_text()
    assert yaml.safe_load((place.folder / "config/studies/my-x.yaml").read_text())["program"] == program(place)
    study.finish(place, pytest.fail)
    [(options, image, variables)] = tried
    assert (options.command, image["tag"], variables) == (("solver",), "plimsoll/program:1", {"A": "1"})


def test_a_study_that_no_container_can_try_keeps_what_this_host_showed(place, monkeypatch):
    """Charliecloud is there alone."""
    write(place)
    before = program(place)
    monkeypatch.setattr(trial.client, "works", lambda: False)
    monkeypatch.setattr(trial.apptainer, "is_installed", lambda: False)
    study.finish(place, pytest.fail)
    del before["untried"]
    assert program(place) == before


def test_a_study_whose_answer_differs_in_a_container_is_refused_and_its_file_stays(place, monkeypatch):
    write(place)
    before = place.file.read_text()
    trying(monkeypatch, ("b", "b"), [])
    with pytest.raises(PlimsollError, match="output differs between this host and a container"):
        study.finish(place, pytest.fail)
    assert place.file.read_text() == before and not (place.folder / "config/studies/my-x.yaml").exists()


def test_a_program_that_this_host_does_not_have_is_known_from_its_container(place, monkeypatch):
    write(place, None)
    assert "output" not in program(place) and program(place)["runs"] == 1
    trying(monkeypatch, ("b", "b"), [])
    study.finish(place, pytest.fail)
    found = program(place)
    assert (found["output"], found["expected_seconds"], found["runs"]) == ("b", 0.3, 1) and "untried" not in found
    write(place, None)
    told = []
    trying(monkeypatch, ("b", "c"), [])
    study.finish(place, told.append)
    assert "output" not in program(place) and "outputs are not compared" in told[0]


def test_an_image_without_env_is_refused_before_anything_is_tried(place, monkeypatch):
    write(place)
    (place.folder / "root/usr/bin/env").unlink()
    monkeypatch.setattr(trial, "in_container", lambda *_: pytest.fail("it was tried"))
    with pytest.raises(PlimsollError, match="The image has no /usr/bin/env"):
        study.finish(place, pytest.fail)


def test_an_image_without_a_launcher_is_refused_if_ranks_are_wanted(place, monkeypatch):
    write(place)
    content = yaml.safe_load(place.file.read_text())
    content["program"] |= {"ranks": 2}
    study.write(place.file, content)
    monkeypatch.setattr(trial, "in_container", lambda *_: pytest.fail("it was tried"))
    with pytest.raises(PlimsollError, match="The image has no mpirun"):
        study.finish(place, pytest.fail)


@pytest.mark.parametrize("of_ranks", [None, ranks.Ranks(2, True, None), ranks.Ranks(4, True, 2)])
@pytest.mark.parametrize("folder", [None, Path("/somewhere")])
def test_the_options_of_a_trial_are_those_that_the_study_was_written_from(of_ranks, folder):
    asked = of_command(
        *("sh", "-c", "run 'a b'"),
        **{"name": "x", "folder": folder, "ranks": of_ranks, "minutes": 5.0, "width": 0.01, "limit": 7.5},
        metrics=(Metric("rate", "higher", pattern="rate: ([0-9]+)"), Metric("size", "lower", file="out.json", key="a.1")),
        **{"filters": ("took .*",), "check": ("grep", "-q", "1"), "variables": {"A": "b c"}},
    )
    content = study_content.of_study(asked, "my-x", "the files", ON_HOST, ["docker"], "0" * 64 if folder else None)
    made = study_content.options_of(yaml.safe_load(yaml.safe_dump(content)), Path("/copy"))
    assert trial.parameters_of(made) == trial.parameters_of(asked)
    assert (made.command, made.variables, made.ranks) == (asked.command, asked.variables, asked.ranks)
    assert (made.limit, made.folder) == (7.5, Path("/copy") if folder else None)


def test_a_study_that_was_begun_is_untried(tmp_path, monkeypatch, capsys):
    file, *_ = test_new.program(tmp_path, monkeypatch)
    assert yaml.safe_load(file.read_text())["program"]["untried"]
    assert len(study.UNTRIED.findall(file.read_text())) == 1


NOTHING = {"fail_above": None, "json": False, "export": None, "junit": None}


@pytest.fixture
def done(monkeypatch, tmp_path):
    """Return the list that takes the steps of measuring a study's file, in order."""
    steps, place = [], study.place_of(tmp_path / "my-x.yaml")
    monkeypatch.setattr(start, "of_file", lambda file: steps.append(("read", file)) or place)
    monkeypatch.setattr(start, "image", lambda _: steps.append("built"))
    monkeypatch.setattr(study, "finish", lambda *_: steps.append("tried"))
    monkeypatch.setattr(start, "measure", lambda _, words: steps.append(words) or 0)
    monkeypatch.chdir(tmp_path)
    return steps


def test_a_written_study_is_built_and_tried_and_then_measured_with_what_was_typed(done, tmp_path):
    typed = {"fail_above": "5%", "json": True, "export": Path("times.json"), "junit": Path("out.xml")}
    assert start.measure_own(["my-x.yaml"], False, False, **typed) == 0
    words = ["--fail-above", "0.05", "--json", "--hyperfine", f"{tmp_path}/times.json", "--junit", f"{tmp_path}/out.xml"]
    assert done == [("read", Path("my-x.yaml")), "built", "tried", words]


def test_a_dry_run_of_a_written_study_only_reads_it(done):
    assert start.measure_own(["my-x.yaml"], False, True, **NOTHING) is None
    assert done == [("read", Path("my-x.yaml"))]


@pytest.mark.parametrize(
    ("words", "has_options", "typed", "told"),
    [
        (["my-x.yaml", "liu2020"], False, {}, "my-x.yaml is measured alone"),
        (["my-x.yaml"], True, {}, "Leave the other words out: of the options it takes --dry-run, --fail-above,"),
        (["my-x.yaml"], False, {"fail_above": "5"}, "--fail-above '5': it is not a share such as 5%"),
        (["my-x.yaml"], False, {"junit": Path("missing/out.xml")}, "--junit missing/out.xml: this is a folder"),
        (["my-x.yaml"], False, {"export": Path("missing/x.json")}, "--export-hyperfine missing/x.json: this is a folder"),
    ],
)
def test_what_a_written_study_cannot_be_measured_with_is_refused_before_anything_is_done(done, words, has_options, typed, told):
    with pytest.raises(PlimsollError, match=told):
        start.measure_own(words, has_options, False, **{**NOTHING, **typed})
    assert done == []

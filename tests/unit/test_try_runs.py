"""Runs of a user's program: what the timer leaves, trials, what is read of a run, and what stays after a refusal."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from plimsoll.designs.program import attempts, outputs
from plimsoll.designs.program.factors import FIRST, HOST
from plimsoll.errors import Incomplete, PlimsollError, Unavailable
from plimsoll.features.try_program import __main__ as trying
from plimsoll.features.try_program import stages, study, timer, trial
from plimsoll.host import disk
from plimsoll.workloads.base import InvalidOutput

from tests.unit.test_program import RUN, STUDY, of_command, printed


def running(command: str) -> bool:
    return bool(subprocess.run(["pgrep", "-f", f"^{command}$"], capture_output=True).stdout)


def within(seconds: float, happens) -> bool:
    """Return whether something happens within some seconds."""
    end = time.monotonic() + seconds
    while not (done := happens()) and time.monotonic() < end:
        time.sleep(0.02)
    return done


def begun(folder: Path, *command: str, limit: float = 60) -> subprocess.Popen:
    """Start the timer with a program, and return it."""
    (folder / "0/work").mkdir(parents=True)
    (folder / "variables").write_text("PATH=/usr/bin:/bin\0")
    words = [timer.program_path(), folder, f"{limit:g}", "1", *command]
    # Tests that run in the background may ignore Ctrl-C, and the timer would.
    return subprocess.Popen(words, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def logged(folder: Path) -> dict:
    return json.loads((folder / outputs.LOG).read_text())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_timer_that_is_ended_leaves_no_program(tmp_path, number):
    name = f"sleep 34{number:d}9"
    timing = begun(tmp_path, *name.split())
    assert within(20, lambda: running(name))
    timing.send_signal(number)
    timing.wait(20)
    assert within(20, lambda: not running(name))


def test_a_timer_that_is_interrupted_ends_all_that_its_program_has_started(tmp_path):
    timing = begun(tmp_path, "sh", "-c", "setsid sleep 3471 & sleep 3472 & wait")
    assert within(20, lambda: running("sleep 3471") and running("sleep 3472"))
    timing.send_signal(signal.SIGINT)
    assert timing.wait(20) == 0
    assert not running("sleep 347[12]") and logged(tmp_path)["late"]


def test_a_process_that_is_left_is_found_behind_one_that_has_ended(tmp_path):
    """The timer stopped to look at the first child that it reaped."""
    timing = begun(tmp_path, "sh", "-c", "(setsid true &); (setsid sleep 3473 &); sleep 0.3")
    assert timing.wait(30) == 0
    assert logged(tmp_path)["left"] and not running("sleep 3473")


def test_what_has_ended_before_the_program_is_no_leftover(tmp_path):
    timing = begun(tmp_path, "sh", "-c", "(setsid true &); (setsid true &); sleep 0.3")
    assert timing.wait(30) == 0 and not logged(tmp_path)["left"]


def test_a_trial_without_end_of_its_output_is_stopped_while_it_runs(monkeypatch):
    monkeypatch.setattr(trial.process, "MOST_BYTES", 2**20)
    began = time.monotonic()
    with pytest.raises(PlimsollError, match=r"^It wrote more than 1 MiB to its stdout.txt \(on this host\): nothing was mea"):
        trial.on_host(of_command("yes", "plimsoll-endless", limit=50.0), timer.program_path())
    assert time.monotonic() - began < 25 and not running("yes plimsoll-endless")


def fill_early(monkeypatch) -> None:
    """Make every disk count as full as soon as 4 MiB of it were taken."""
    monkeypatch.setattr(disk, "LEFT_BYTES", 2**62)
    monkeypatch.setattr(disk, "TAKEN_BYTES", 2**22)


# A file system may keep zeros in no space.
FILLS = "head -c 50000000 /dev/urandom >big; sleep {}"


def test_a_trial_that_fills_the_disk_of_its_folder_is_ended_and_told(monkeypatch):
    fill_early(monkeypatch)
    began = time.monotonic()
    wanted = (
        r"^It was stopped before the disk of its working folder \(this attempt took .* GiB are free\) was full "
        r"\(on this host\): nothing was measured\.$"
    )
    with pytest.raises(PlimsollError, match=wanted):
        trial.on_host(of_command("sh", "-c", FILLS.format(3476), limit=100.0), timer.program_path())
    assert time.monotonic() - began < 50 and not running("sleep 3476")


@pytest.mark.parametrize(
    ("of_image", "said", "told"),
    [
        ({}, "socket: [Errno 111] Connection refused", "(there, whose network is not this host's)"),
        ({}, "curl: (6) Could not resolve host: data", "(there, whose network is not this host's)"),
        ({}, "out of memory", "(there)"),
        (None, "socket: [Errno 111] Connection refused", "(there)"),
    ],
)
def test_a_program_that_lacks_the_network_in_a_container_is_told_so_in_a_sentence(of_image, said, told):
    asked = of_command("sh", "-c", f"echo '{said}' >&2; exit 3", limit=20.0)
    command = lambda folder, words: [str(timer.program_path()), *words]  # noqa: E731 - a name for one expression
    with pytest.raises(PlimsollError) as refused:
        trial._tried(asked, command, "there", of_image)
    assert str(refused.value) == f"The program failed with exit status 3: {said} {told}: nothing was measured."


def test_a_trial_that_does_not_end_or_start_is_told(monkeypatch):
    with pytest.raises(PlimsollError, match="did not end within 0.2 s"):
        trial.on_host(of_command("sleep", "3474", limit=0.2), timer.program_path())
    assert not running("sleep 3474")
    with pytest.raises(PlimsollError, match="could not be started"):
        trial.on_host(of_command("no-such-program", limit=5.0), timer.program_path())
    monkeypatch.setattr(trial, "AROUND", 0.0)
    with pytest.raises(PlimsollError, match="did not end within 0.1 s on this host"):
        trial._tried(of_command("true", limit=0.1), lambda *_: ["sleep", "3475"], "on this host")
    assert not running("sleep 3475")
    with pytest.raises(PlimsollError, match="true cannot be run on this host: said at last. Nothing was measured."):
        script = "printf '\\377\\n' >&2; echo said at last >&2; echo \"Run 'docker run --help' for more\" >&2; exit 3"
        trial._tried(of_command("true", limit=5.0), lambda *_: ["sh", "-c", script], "on this host")


@pytest.mark.parametrize(
    ("command", "refused"),
    [("echo x >>large", True), ("cp large new; mv new large", False), ("rm large", False), ("echo x >>small", False)],
)
def test_a_program_that_changes_a_large_file_is_refused_in_its_trial(tmp_path, command, refused):
    (tmp_path / "large").write_bytes(b"x" * attempts.LINKED_BYTES)
    (tmp_path / "small").write_bytes(b"x")
    asked = of_command("sh", "-c", command, folder=tmp_path, limit=20.0)
    if not refused:
        assert trial.on_host(asked, timer.program_path()).seconds > 0
        return
    with pytest.raises(PlimsollError, match=r"^It changed large, which all runs share .* \(on this host\): nothing was mea"):
        trial.on_host(asked, timer.program_path())


def test_a_trial_in_a_container_gets_signals_and_any_folder(monkeypatch):
    made = []
    monkeypatch.setattr(trial.client, "command", lambda: ("docker",))
    monkeypatch.setattr(trial, "_tried", lambda options, command, *_: made.extend(command(Path("/a:b, c"), ["x"])))
    trial.in_container(of_command("true"), {"tag": "tag", "sif": "/store/image.sif"}, {})
    assert made[:2] == ["docker", "run"] and "--init" in made and made[-2:] == ["tag", "x"]
    assert "type=bind,source=/a:b," not in made and '"source=/a:b, c"' in made[made.index("--mount") + 1]


def test_without_an_engine_the_trial_is_in_a_container_of_apptainer(monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(trial.client, "works", lambda: False)
    monkeypatch.setattr(trial.apptainer, "is_installed", lambda: True)
    monkeypatch.setattr(trial.apptainer, "executable", lambda: "apptainer")
    monkeypatch.setattr(trial, "_tried", lambda options, command, *_: made.extend(command(tmp_path, ["x"])))
    image = {"tag": "tag", "sif": "/store/image.sif"}
    trial.in_container(of_command("true"), image, {})
    assert made[:3] == ["apptainer", "exec", "--cleanenv"] and made[-2:] == [f"/{attempts.TIMED}", "x"]
    assert "/store/image.sif" in made
    # Volumes are a remedy of engines alone.
    assert trial.layer_folders(of_command("true"), image, {}) == []


METRIC = {"metrics": {"x": {"source": "json", "file": "out.json", "key": "x"}}}


def test_a_json_file_that_the_run_did_not_write_is_none_of_it(tmp_path):
    folder = tmp_path / "1"
    folder.mkdir()
    printed(folder, "", **{"out.json": '{"x": 1}'})
    (tmp_path / "variables").touch()
    os.utime(folder / "work/out.json", ns=(0, (tmp_path / "variables").stat().st_mtime_ns - 1))
    with pytest.raises(InvalidOutput, match="the run did not write out.json, which x needs"):
        outputs.read(folder, RUN, {}, METRIC)
    os.utime(folder / "work/out.json", ns=(0, (tmp_path / "variables").stat().st_mtime_ns))
    assert outputs.read(folder, RUN, {}, METRIC)["values"]["x"] == 1
    (folder / "work/out.json").unlink()
    with pytest.raises(InvalidOutput, match="the run did not write out.json"):
        outputs.read(folder, RUN, {}, METRIC)


def test_a_json_file_of_the_users_folder_is_no_result_in_a_trial(tmp_path):
    (tmp_path / "out.json").write_text('{"x": 1}')
    os.utime(tmp_path / "out.json", (0, 0))
    asked = of_command("true", folder=tmp_path, metrics=(trial_metric(),), limit=20.0)
    with pytest.raises(PlimsollError, match="did not write out.json"):
        trial.on_host(asked, timer.program_path())
    asked = asked._replace(command=("sh", "-c", "echo '{\"x\": 2}' >out.json"))
    assert trial.on_host(asked, timer.program_path()).values["x"] == 2


def trial_metric():
    return SimpleNamespace(name="x", pattern=None, file="out.json", key="x")


def test_a_metric_below_0_does_not_count(tmp_path):
    metrics = {"rate": {"source": "output", "pattern": "rate: ([-0-9.]+)"}}
    with pytest.raises(InvalidOutput, match="the metric rate is -2.5, and below 0 there is no relative change"):
        outputs.read(printed(tmp_path, "rate: -2.5\n"), RUN, {}, {"metrics": metrics})
    assert outputs.read(printed(tmp_path, "rate: 0\n"), RUN, {}, {"metrics": metrics})["values"]["rate"] == 0


def test_a_check_may_print_any_bytes(tmp_path):
    folder = printed(tmp_path, "1\n")
    with pytest.raises(InvalidOutput, match="the answer is wrong: \N{REPLACEMENT CHARACTER}"):
        outputs.read(folder, RUN, {}, {"check": ["sh", "-c", r"printf '\377' >&2; exit 1"]})
    outputs.read(folder, RUN, {}, {"check": ["printf", r"\377"]})


def of_host(folder: Path) -> attempts.ProgramRun:
    """Return a run on this host that has not begun."""
    cell = {"runtime": HOST, "stage": FIRST, "runs": 2, "command": ["true"], "parameters": {"limit_seconds": 5}}
    return attempts.ProgramRun(SimpleNamespace(folder=folder, image={}, cell=cell, identity="1", temporary=folder))


def test_working_folders_are_removed_whether_or_not_a_run_counts(tmp_path, monkeypatch):
    def fails():
        assert (tmp_path / "2/work").is_dir()
        raise Unavailable("no node")

    run = of_host(tmp_path)
    monkeypatch.setattr(run, "_node", fails)
    with pytest.raises(Unavailable):
        run.measure()
    run.take_down()
    assert list(tmp_path.rglob("work")) == [] and (tmp_path / "variables").is_file()


def test_working_folders_are_removed_even_if_a_node_cannot_be_stopped(tmp_path, monkeypatch):
    def fails(_):
        raise Unavailable("the engine hangs")

    run = of_host(tmp_path)
    run._prepare()
    run.nodes = ["a node"]
    monkeypatch.setattr(run.runtime, "stop", fails, raising=False)
    with pytest.raises(Unavailable):
        run.take_down()
    assert list(tmp_path.rglob("work")) == []


@pytest.fixture
def made(tmp_path) -> study.Place:
    """A study that was written, and its image's description."""
    place = study.place_of(tmp_path / "my-study.yaml")
    for name in ("config/folder", "results/images"):
        (place.folder / name).mkdir(parents=True)
        (place.folder / name / "large").touch()
    place.file.touch()
    return place


@pytest.mark.parametrize("problem", [PlimsollError("refused"), KeyboardInterrupt(), SystemExit(130)])
def test_a_refusal_removes_what_was_made_for_a_study(made, tmp_path, problem):
    with pytest.raises(type(problem)), study.removed_if_refused(made):
        raise problem
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_keeps_results_and_what_others_have_written(made, tmp_path):
    (made.folder / "notes.txt").touch()
    with pytest.raises(PlimsollError), study.removed_if_refused(made):
        raise PlimsollError("refused")
    assert [path.name for path in tmp_path.rglob("*")] == ["my-study", "notes.txt"]
    made.results.mkdir(parents=True)
    made.file.touch()
    with pytest.raises(PlimsollError), study.removed_if_refused(made):
        raise PlimsollError("refused")
    assert made.file.exists() and made.results.exists()
    with study.removed_if_refused(study.place_of(made.file)):
        pass
    assert made.file.exists()


@pytest.fixture
def guarded(monkeypatch, tmp_path):
    """Return the exit status of `python -m` for a study whose parts are made up, and put the handler of SIGTERM back."""
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("plimsoll.config.studies.load", lambda *_: {**STUDY, "id": "my-study"})
    monkeypatch.setattr(stages, "refuse_short", lambda *_: None)
    yield trying.main
    signal.signal(signal.SIGTERM, before)


def refusing(problem: Exception):
    def refuse(*_):
        raise problem

    return refuse


def test_a_refusal_has_another_status_than_a_loss(guarded, monkeypatch, capsys):
    monkeypatch.setattr(stages, "refuse_short", refusing(PlimsollError("too short")))
    assert guarded(["my-study"]) == 2
    monkeypatch.setattr(stages, "refuse_short", lambda *_: None)
    for problem in (PlimsollError("no table"), Incomplete("the workflow failed")):
        monkeypatch.setattr(stages, "measure", refusing(problem))
        assert guarded(["my-study"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "plimsoll: too short",
        "plimsoll: no table",
        "plimsoll: the workflow failed",
    ]


def test_the_answer_is_printed_before_a_file_that_cannot_be_written_is_told(guarded, monkeypatch, capsys, tmp_path):
    answer = {"answer": ["Docker makes it 3 % slower."], "why": [], "unavailable": {"podman": "it is not installed"}}
    monkeypatch.setattr(trying, "_measured", lambda *_: (None, None))
    monkeypatch.setattr(trying, "_answered", lambda *_: answer)
    monkeypatch.setattr("plimsoll.designs.program.program_answer.hyperfine", lambda *_: {})
    monkeypatch.setattr(trying, "_judged", lambda *_: pytest.fail("it was judged"))
    assert guarded(["my-study", "--hyperfine", str(tmp_path / "missing/times.json")]) == 1
    said = capsys.readouterr()
    assert (
        "Docker makes it 3 % slower.\nNot measured here: Podman (it is not installed).\n" in said.out
        and "Traceback" not in said.err
    )
    [line] = said.err.splitlines()
    assert "missing/times.json cannot be written (No such file or directory). What was measured is kept" in line

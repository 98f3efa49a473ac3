"""The user's command: its help, what it refuses and how, its exit statuses, completion, and the steps that it starts."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from inspect import isfunction
from pathlib import Path

import pytest
import typer
from plimsoll import cli, features, paths, tasks
from plimsoll.cli import groups, machine, names, show, steps
from plimsoll.cli.statuses import Status
from plimsoll.config import studies
from plimsoll.features.archive import reading
from plimsoll.features.image_file import stages as image_stages
from plimsoll.features.sessions import stages
from typer.testing import CliRunner

from tests.conftest import PROJECT

EXAMPLE = re.compile(r"^      plimsoll (.+?)(?:  +# .*)?$", re.MULTILINE)
SLOW = ("numpy", "pandas", "scipy", "matplotlib", "snakemake", "rich", "yaml", "jsonschema", "jinja2")


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """Keep the working directory, and the variables that a command sets."""
    monkeypatch.chdir(PROJECT)
    monkeypatch.setenv(cli.TYPED, "./plimsoll x")
    monkeypatch.setenv("PLIMSOLL_START", "1")


def python(*words: str, **variables: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "scripts"), **variables}
    return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, timeout=120)


def refused(capsys, *words: str, status: int = Status.USAGE) -> str:
    """Return the one line with which a command is refused."""
    assert cli.main(words) == status
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("plimsoll: ")
    return line


def examples(name: str) -> list[list[str]]:
    """Return the words of the examples in a command's help, without the program's name."""
    return [shlex.split(words) for words in EXAMPLE.findall(groups.function(name).__doc__.replace("\n    ", "\n    "))]


# Help


def test_the_help_lists_every_command_under_a_heading():
    said = CliRunner().invoke(cli.app, ["--help"], prog_name="plimsoll")
    assert said.exit_code == 0 and all(f"{heading}:" in said.output for heading in groups.COMMANDS)
    assert set(groups.names()) <= set(re.findall(r"^  ([a-z-]+)  ", said.output, re.MULTILINE))
    # Without a command the help is printed, and nothing is done.
    assert CliRunner().invoke(cli.app, [], prog_name="plimsoll").output == said.output


def test_every_module_of_a_command_is_listed_and_stages_are_hidden():
    others = {"groups", "machine", "measure-commands", "names", "options", "place", "result-facts", "statuses", "steps"}
    there = {path.stem.replace("_", "-") for path in Path(cli.__file__).parent.glob("[!_]*.py")} - others
    assert there <= set(groups.names())
    of_machine = {name.replace("_", "-") for name, one in vars(machine).items() if isfunction(one) and name[0] != "_"}
    assert of_machine == set(groups.COMMANDS[features.MACHINE])
    assert not {"collect", "tests", "mark-done", "verdicts", "figure"} & set(groups.names())


@pytest.mark.parametrize("name", groups.names())
def test_every_command_has_a_help_with_examples_that_can_be_typed(name):
    said = CliRunner().invoke(cli.app, [name, "--help"], prog_name="plimsoll", env={"COLUMNS": "80"})
    shown = examples(name)
    assert said.exit_code == 0 and shown and all(words[0] == name for words in shown)
    for words in shown:
        assert f"plimsoll {name}" in said.output
        group = typer.main.get_command(cli.app)
        context = group.make_context("plimsoll", list(words))
        command = group.get_command(context, name)
        # Every word is taken: as an option, or by an argument.
        assert command.make_context(name, words[1:], parent=context).args == []


def imported(*words: str) -> set[str]:
    """Return the modules that a command imports."""
    code = "import sys; from plimsoll import cli; cli.main(sys.argv[1:]); print('', *sys.modules, sep='\\n', file=sys.stderr)"
    return set(python("-c", code, *words).stderr.splitlines())


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["reproduce", "--help"], ["show", "--help"]])
def test_a_help_imports_nothing_slow(words):
    there = imported(*words)
    assert "plimsoll.cli" in there and not there & set(SLOW)


def test_a_command_imports_no_other():
    there = {name for name in imported("list", "--help") if name.startswith("plimsoll.cli.")}
    assert {name.rpartition(".")[2].replace("_", "-") for name in there} & {*groups.names(), "machine"} == {"list"}


# Refusals


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("reproduec", "There is no command reproduec (did you mean reproduce?)"),
        ("reproduce --hour 1", "reproduce has no option --hour (did you mean --hours?)"),
        ("--versoin", "plimsoll has no option --versoin (did you mean --version?)"),
        ("list lui2020", "There is no study 'lui2020' (did you mean liu2020?)"),
        ("plan --profile papre", "There is no profile 'papre' (did you mean paper?)"),
        ("add dokcer", "There is no runtime 'dokcer' (did you mean docker?)"),
        ("reproduce --runtimes singularty", "There is no runtime 'singularty' (did you mean singularity?)"),
        ("reproduce --figure lader plimsoll2026", "plimsoll2026 has no figure lader (did you mean ladder?)"),
        ("reproduce all --figure 6", "--figure takes figures of one study"),
        ("show liu2020-x26", "There is no study, claim, figure or run liu2020-x26 (did you mean liu2020-c26?)"),
        ("show liu2020/fog06", "There is no study, claim, figure or run liu2020/fog06 (did you mean liu2020/fig06?)"),
        ("reproduce --hours abc", "--hours abc is not a number: give hours, such as 1 or 0.15"),
        ("reproduce --minutes 0", "--minutes must be above 0 and finite"),
        ("reproduce --minutes 1 --hours 1", "--hours limits the measuring alone, and --minutes everything"),
        ("reproduce --claims mine.yaml", "--claims needs --from"),
        (
            "reproduce liu2020 --fail-above 5%",
            "--export-hyperfine are about a study that `plimsoll try` has written. Nothing was measured",
        ),
        ("reproduce --from x.zip --json", "Name its file, such as my-study.yaml"),
        ("reproduce liu2020 --from x.zip", "--from makes everything that the archive has"),
        ("precise --width wide", "The width 'wide' is not a number"),
        ("compare", "Missing argument 'A': ./plimsoll compare --help shows how it is used. Nothing was done."),
        ("list --config profile", "'profile' is not a setting"),
        ("version x", "./plimsoll version --help shows how it is used"),
    ],
)
def test_what_is_mistyped_is_refused_with_what_may_be_meant(capsys, monkeypatch, typed, said):
    monkeypatch.setattr(steps, "set_up", lambda *_: pytest.fail("set-up began"))
    assert said in refused(capsys, *typed.split())


def test_what_the_system_refuses_is_a_sentence(capsys):
    assert "none.zip: No such file or directory." in refused(capsys, "remake", "none.zip")


# Statuses


def test_a_set_up_that_fails_has_its_own_status(monkeypatch):
    fails = subprocess.CompletedProcess([], 1)
    monkeypatch.setattr(steps.subprocess, "run", lambda *_, **__: fails)
    assert cli.main(["setup"]) == Status.SET_UP
    assert cli.main(["reproduce"]) == Status.SET_UP


def test_an_interrupted_command_says_what_stays_and_what_goes_on(monkeypatch, capfd):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(steps, "set_up", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main(["reproduce"])
    assert ended.value.code == Status.INTERRUPTED
    said = capfd.readouterr().err
    assert "interrupted. What was measured is kept" in said and "To go on: ./plimsoll x\n" in said


def test_the_command_that_was_typed_is_noted(monkeypatch):
    monkeypatch.delenv(cli.TYPED)
    cli.main(["show", "a claim"])
    assert os.environ[cli.TYPED] == "./plimsoll show 'a claim'"


# Measuring


@pytest.fixture
def begun(monkeypatch, tmp_path):
    """Note the steps of a command, and do none of them. The workflow ends with 0."""
    noted = []

    def noting(name: str, status: int | None = None):
        return lambda *words: noted.append((name, *words)) or status

    monkeypatch.setattr(steps, "set_up", noting("set_up"))
    monkeypatch.setattr(steps, "workflow", noting("workflow", 0))
    for name in ("measure_for", "take_images"):
        monkeypatch.setattr(tasks, name, noting(name))
    monkeypatch.setattr(stages, "begin_session", noting("begin_session"))
    return noted


def test_reproduce_installs_measures_for_the_usual_time_and_makes_all(begun):
    assert cli.main(["reproduce"]) == 0
    assert begun == [
        ("set_up", [], None, steps.Foretold(["liu2020"], tasks.Time(), paths.PROJECT)),
        ("measure_for", tasks.Time(), []),
        ("workflow", ["all"], []),
    ]


def test_studies_time_and_settings_are_passed_on(begun):
    words = "jha2021,plimsoll2026 liu2020 --minutes 30 --config seed=1 --no-set-up"
    assert cli.main(["reproduce", *words.split()]) == 0
    settings = ["studies=jha2021,plimsoll2026,liu2020", "seed=1"]
    assert begun == [("measure_for", tasks.Time(minutes=30), settings), ("workflow", ["all"], settings)]


def test_a_profile_of_its_own_number_of_repetitions_has_no_time(begun):
    assert cli.main(["reproduce", "--profile", "paper"]) == 0
    assert [step for step, *_ in begun] == ["set_up", "workflow"]
    begun.clear()
    assert cli.main(["reproduce", "--profile", "paper", "--hours", "2"]) == 0
    assert ("measure_for", tasks.Time(2), ["profile=paper"]) in begun


def test_a_figure_is_measured_alone(begun):
    assert cli.main(["reproduce", "liu2020", "--figure", "6", "--figure", "fig09"]) == 0
    targets = ["results/liu2020/figures/fig06.pdf", "results/liu2020/figures/fig09.pdf"]
    assert begun[1:] == [("workflow", targets, ["studies=liu2020"])]


def test_other_runtimes_are_off_but_bare_metal_is_not(begun):
    assert cli.main(["reproduce", "--runtimes", "podman,docker"]) == 0
    (_, [setting], *_), *_ = begun
    assert "docker-ptrace: off" in setting and "podman: optional" in setting
    assert " docker: off" not in setting and "bare" not in setting


def test_a_relative_path_leads_where_it_was_typed(begun, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("images.tar.gz").touch()
    assert cli.main(["reproduce", "--image", "images.tar.gz", "--directory", "there"]) == 0
    assert ("take_images", tmp_path / "images.tar.gz", []) in begun and Path.cwd() == tmp_path / "there"


def test_images_are_written_where_the_command_was_typed(begun, tmp_path, monkeypatch):
    monkeypatch.setattr(image_stages, "write_images", lambda *words: begun.append(words))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["image", "liu2020", "--file", "x.tar.gz", "--no-set-up"]) == 0
    assert begun == [(tmp_path / "x.tar.gz", ["studies=liu2020"])]


def test_without_a_directory_results_are_in_the_clone(begun, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["reproduce"]) == 0 and Path.cwd() == paths.PROJECT


def test_the_workflow_s_status_is_that_of_the_command(begun, monkeypatch):
    monkeypatch.setattr(steps, "workflow", lambda *_: 1)
    assert cli.main(["reproduce"]) == Status.INCOMPLETE


def test_a_session_begins_before_it_is_measured(begun):
    assert cli.main(["session", "liu2020", "--hours", "1"]) == 0
    assert [step for step, *_ in begun] == ["set_up", "begin_session", "measure_for", "workflow"]


def test_a_dry_run_says_what_would_be_measured_and_begins_nothing(begun, capsys):
    assert cli.main(["reproduce", "liu2020", "--dry-run", "--hours", "2"]) == 0
    said = capsys.readouterr().out
    assert begun == [] and "liu2020: measured for 2 h" in said and "cannot be measured: " in said


# Reading


def test_a_program_reads_plans_and_states(capsys):
    assert cli.main(["plan", "liu2020", "--json", "--hours", "0.5"]) == 0
    [plan] = json.loads(capsys.readouterr().out)
    assert plan["study"] == "liu2020" and plan["hours"] == 0.5 and plan["cells"] > 0 and plan["unavailable"]
    assert cli.main(["list", "liu2020", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["studies"]] == ["liu2020"] and told["studies"][0]["cells"] == plan["cells"]
    assert {"experiments", "figures", "tables"} <= told["of_study"]["liu2020"].keys() and told["runtimes"]


@pytest.mark.parametrize(
    ("typed", "thing"),
    [
        ("liu2020-c26", ("claim", "liu2020", "liu2020-c26")),
        ("c26", ("claim", "liu2020", "liu2020-c26")),
        ("c9", ("claim", "liu2020", "liu2020-c09")),
        ("fig06", ("figure", "liu2020", "fig06")),
        ("6", ("figure", "liu2020", "fig06")),
        ("liu2020/6", ("figure", "liu2020", "fig06")),
        ("jha2021/fig06", ("figure", "jha2021", "fig06")),
        ("ladder", ("figure", "plimsoll2026", "ladder")),
        ("jha2021", ("study", "jha2021", "jha2021")),
        ("li2018-hadoop-c41", ("claim", "li2018-hadoop", "li2018-hadoop-c41")),
        ("results/liu2020/runs/uma/exact/E1/bare/x/1.json", ("run", "liu2020", "uma/exact/E1/bare/x/1")),
        ("jha2021/1/linpack/docker/free/3", ("run", "jha2021", "1/linpack/docker/free/3")),
    ],
)
def test_claims_figures_and_runs_are_found_by_short_names(typed, thing):
    assert tuple(show.find(typed, ["liu2020"])) == thing


def test_what_was_not_measured_is_shown_with_the_command_that_measures_it(capsys, tmp_path):
    """The status says that it is not there. The reference measurements are named."""
    where = ["--directory", str(tmp_path)]
    assert cli.main(["show", "liu2020-c26", *where]) == Status.INCOMPLETE
    said = capsys.readouterr().out
    assert "./plimsoll reproduce liu2020 measures it" in " ".join(said.split()) and "Reference measurements" in said
    assert cli.main(["show", "liu2020/fig06", "--json", *where]) == Status.INCOMPLETE
    told = json.loads(capsys.readouterr().out)
    assert cli.main(["show", "liu2020", *where]) == Status.INCOMPLETE
    assert "./plimsoll reproduce liu2020 measures it" in " ".join(capsys.readouterr().out.split())
    assert not told["drawn_here"] and told["command"] == "./plimsoll reproduce liu2020 --figure fig06"
    assert any(name.endswith("fig06.png") for name in told["files"])
    assert "this run was not measured here" in refused(capsys, "show", "liu2020/a/b/1", *where)


@pytest.fixture(scope="module", params=["li2018-hadoop", "jha2018"])
def measured(request, tmp_path_factory) -> tuple[str, Path]:
    """Return a study, and a folder in which its reference measurements are results of this machine."""
    name, folder = request.param, tmp_path_factory.mktemp("measured")
    if not (archive := PROJECT / f"results/reference/{name}/reference-{name}.zip").is_file():
        pytest.skip(f"{name} was taken out")
    with reading.open_archive(archive) as there:
        reading.unpack_whole(there, folder)
    return name, folder


def test_every_claim_is_shown_with_its_verdict_and_what_it_rests_on(measured, capsys):
    name, folder = measured
    results = json.loads((folder / f"results/{name}/together.json").read_text())
    of_verdict = {result["verdict"]: result for result in results if result["comparisons"]}
    for result in of_verdict.values():
        assert cli.main(["show", result["id"], "--directory", str(folder)]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert " ".join(result["statement"].split()) in said and f"Verdict: {result['verdict']}" in said
        assert "n = " in said and f"results/{name}/runs/" in said and f"claims.html#{result['id']}" in said
        assert cli.main(["show", result["id"], "--json", "--directory", str(folder)]) == 0
        told = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        assert told["verdict"] == told["reference"] == result["verdict"] and len(told["rows"]) == result["comparisons"]
    # One that nothing was compared for has the reason.
    for result in (result for result in results if not result["comparisons"]):
        assert cli.main(["show", result["id"], "--directory", str(folder)]) == 0
        assert f"Verdict: {result['verdict']}" in capsys.readouterr().out


def test_a_study_is_shown_with_its_question_answer_and_claims(measured, capsys):
    name, folder = measured
    assert cli.main(["show", name, "--directory", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "?" in said.partition("\n\n")[0] and "The answer" in said and "Shown are the clearest claims" in said
    assert cli.main(["show", name, "--json", "--directory", str(folder)]) == 0
    told = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert told["study"] == name and all(one["said"] for one in told["answers"])
    assert sum(row["findings"] for row in told["claims"]) > 0


def test_a_run_is_shown_with_its_values_and_its_noise(measured, capsys):
    name, folder = measured
    for path in sorted((folder / f"results/{name}/runs").rglob("*.json"))[:3]:
        assert cli.main(["show", str(path.relative_to(folder)), "--directory", str(folder)]) == 0
        said, recorded = " ".join(capsys.readouterr().out.split()), json.loads(path.read_text())
        assert f"repetition {recorded['repetition']}: {recorded['status']}" in said
        assert f"profile {recorded['profile']}, attempt {recorded['attempts']}" in said and "% busy before it" in said
        assert (said.count(": ") > 6) and recorded["raw"] in said


# Completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell):
    done = python("-m", "plimsoll.cli", _PLIMSOLL_COMPLETE=f"source_{shell}")
    assert done.returncode == 0 and "plimsoll" in done.stdout and "_PLIMSOLL_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("plimsoll rep", ["reproduce"]),
        ("plimsoll reproduce liu", ["liu2020"]),
        ("plimsoll reproduce --fi", ["--figure"]),
        ("plimsoll reproduce --figure lad", ["ladder", "ladder-more"]),
        ("plimsoll show liu2020-c11", ["liu2020-c11", *(f"liu2020-c11{n}" for n in range(10))]),
        ("plimsoll drop docker-p", ["docker-ptrace"]),
        ("plimsoll plan --profile pa", ["paper"]),
    ],
)
def test_names_are_completed(typed, offered):
    word = str(len(typed.split()) - 1)
    done = python("-m", "plimsoll.cli", _PLIMSOLL_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=word)
    assert done.stdout.split() == offered


def test_the_names_are_those_of_the_files(monkeypatch, tmp_path):
    assert names.studies() == [*studies.names(studies.STUDIES), "all"]
    # A file that is no YAML keeps no shell from completing the others.
    shutil.copytree(PROJECT / "config", tmp_path / "config")
    (tmp_path / "config/studies/odd.yaml").write_text("figures: [")
    monkeypatch.setattr(paths, "CONFIG", tmp_path / "config")
    assert "ladder" in names.figures() and "odd" in names.studies()


# The script


@pytest.fixture
def clone(tmp_path):
    """A folder with the script, in which set-up makes an environment whose Python prints how it was called."""
    folder = tmp_path / "a clone"
    (folder / "scripts/setup").mkdir(parents=True)
    shutil.copy(PROJECT / "plimsoll", folder)
    (folder / "scripts/setup/python.sh").write_text(
        f"echo making it\nmkdir -p '{folder}/.venv/bin'\n"
        f"printf '#!/bin/sh\\npwd\\necho $PYTHONPATH\\nprintf \"%%s\\\\\\\\n\" \"$@\"' >'{folder}/.venv/bin/python'\n"
        f"chmod +x '{folder}/.venv/bin/python'\n"
    )
    return folder


def run(script: Path, folder: Path, *words: str) -> subprocess.CompletedProcess:
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([script, *words], cwd=folder, env=without, capture_output=True, text=True, timeout=30)


def test_the_script_makes_the_environment_and_calls_the_command_from_any_folder(clone, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/plimsoll").symlink_to(clone / "plimsoll")
    for script in (clone / "plimsoll", tmp_path / "bin/plimsoll"):
        done = run(script, tmp_path, "show", "a b", "$(touch x)")
        assert done.returncode == 0, done.stderr
        words = ["-P", "-m", "plimsoll.cli", "show", "a b", "$(touch x)"]
        assert done.stdout.splitlines() == [str(tmp_path), str(clone / "scripts"), *words]
        # What set-up says is no output of the command.
        assert done.stderr == "making it\n" and not (tmp_path / "x").exists()


def test_where_no_environment_can_be_made_the_status_is_that_of_set_up(clone, tmp_path):
    (clone / "scripts/setup/python.sh").write_text("echo 'setup: no' >&2; exit 1")
    done = run(clone / "plimsoll", tmp_path, "list")
    assert (done.returncode, done.stdout, done.stderr) == (Status.SET_UP, "", "setup: no\n")

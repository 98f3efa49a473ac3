"""How commands of the project start a workflow, and what is done at its very end."""

import subprocess
import sys

import pytest
from plimsoll.terminal import snakemake_command, workflow_end
from snakemake import cli

from tests.conftest import PROJECT

SETTINGS = ("logger", "scheduler", "rerun_triggers", "rerun_incomplete", "keep_going", "nolock", "quiet")


@pytest.mark.parametrize("name", ["default", "remake"])
def test_the_settings_of_a_profile_are_options_so_that_snakemake_prints_no_line_about_it(name, capsys):
    words = ["--cores", "1", "all", "--config", "profile=ci", "studies=a b"]
    profile = PROJECT / "profiles" / name
    _, by_profile = cli.parse_args([*words, "--snakefile", str(PROJECT / "Snakefile"), "--workflow-profile", str(profile)])
    assert "Using workflow specific profile" in capsys.readouterr().err
    command = snakemake_command.command(PROJECT / "Snakefile", profile, *words)
    assert command[:3] == [sys.executable, "-m", "snakemake"]
    _, by_options = cli.parse_args(command[3:])
    assert capsys.readouterr().err == ""
    for setting in (*SETTINGS, "cores", "targets", "config"):
        assert getattr(by_options, setting) == getattr(by_profile, setting), setting
    assert by_options.logger == ["plimsoll"] and by_options.keep_going and by_options.targets == ["all"]


def test_work_at_the_end_is_done_once_and_in_its_folder_even_if_it_ends_the_process(tmp_path):
    program = (
        "import os, sys\n"
        "from plimsoll.terminal import workflow_end\n"
        "from plimsoll.terminal.start_check import refuse\n"
        "os.chdir(sys.argv[1])\n"
        "workflow_end.at_exit(lambda: (print(os.getcwd(), flush=True), refuse('no run counts.')))\n"
        "os.chdir('/')\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (1, f"{tmp_path}\n", "plimsoll: no run counts.\n")


@pytest.mark.parametrize(
    ("targets", "dry", "tells"),
    [
        ((), False, True),
        (("all",), False, True),
        (("results/claims.html",), False, True),
        (("results/liu2020/runs.csv",), False, False),
        (("all",), True, False),
    ],
)
def test_only_a_start_that_makes_the_claims_ends_with_them(targets, dry, tells):
    assert workflow_end.is_telling(targets, dry) == tells

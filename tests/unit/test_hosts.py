"""Many hosts: how they are named, what is requested from Slurm, and the script that measures one of them."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from plimsoll.errors import PlimsollError
from plimsoll.features.hosts import marker, named_hosts, slurm
from plimsoll.host import inventory

from tests.conftest import PROJECT
from tests.project import PLUGIN, missing_plugin

USUAL = yaml.safe_load((PROJECT / "config/cluster.yaml").read_text())


def read(**given) -> named_hosts.Hosts:
    return named_hosts.read({**USUAL, **given})


@pytest.mark.parametrize("given", [["n1", "n2"], "n1,n2", "n1 n2", [{"name": "n1"}, "n2"]])
def test_hosts_may_be_named_in_any_way(given):
    assert list(read(hosts=given).named) == ["n1", "n2"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "No host is named. Name nodes of Slurm with --config hosts="),
        ({"hosts": ["n1", "n1"]}, "hosts: two of them have the name n1"),
        ({"hosts": ["../n1"]}, "hosts.0.name: '../n1' does not match"),
        ({"hosts": {"n1": {}}}, "hosts: {'n1': {}} is not a list"),
        (
            {"hosts": [{"name": "n1", "shh": "me@n1"}]},
            "hosts.0: unknown key 'shh' (did you mean ssh?); known keys are cpus, folder",
        ),
        ({"hosts": [{"name": "n1", "ssh": "-oProxyCommand=x"}]}, "hosts.0.ssh: '-oProxyCommand=x' does not match"),
        ({"hosts": [{"name": "n1", "ssh": "me@n1", "folder": "a b"}]}, "hosts.0.folder: 'a b' does not match"),
        ({"hosts": ["n1", {"name": "n2", "ssh": "me@n2"}]}, "one call takes nodes of Slurm, or hosts that ssh reaches"),
        ({"hosts": ["n1"], "settings": ["profile"]}, "settings.0: 'profile' does not match"),
        ({"hosts": ["n1"], "settings": ["sead=1"]}, "unknown key 'sead'"),
        ({"hosts": ["n1"], "settings": ["studies=liu2021"]}, "There is no study 'liu2021'"),
        ({"hosts": ["n1"], "images": "none.tar.gz"}, "images: there is no file none.tar.gz"),
        ({"hosts": ["n1"], "targets": ["--unlock"]}, "targets.0: '--unlock' does not match"),
        ({"hosts": ["n1"], "minutes": "long"}, "minutes: 'long' is not a whole number"),
        ({"hosts": ["n1"], "hosts_": []}, "unknown key 'hosts_'"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(given, sentence):
    with pytest.raises(PlimsollError) as refused:
        read(**given)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


def test_a_node_of_slurm_is_measured_by_the_script_on_it():
    asked = read(hosts=[{"name": "n1", "settings": ["repetitions=2"]}], settings=["profile=ci"], hours=0.5, targets="a b")
    script, name, folder, *rest = shlex.split(asked.command("n1"))[1:]
    assert Path(script) == PROJECT / "scripts/cluster/host.sh" and (name, folder) == ("n1", "hosts/n1")
    expected = "--slurm --images hosts/images.tar.gz --hours 0.5 --target a --target b profile=ci repetitions=2"
    assert rest == expected.split()


def test_a_host_that_ssh_reaches_is_measured_from_here():
    asked = read(hosts=[{"name": "epyc", "ssh": "me@epyc.example"}], settings=["runtimes={docker: off}"])
    assert asked.by_ssh
    words = shlex.split(asked.command("epyc"))
    assert words[:6] == ["python", "-m", "plimsoll", "measure-by-ssh", "--name", "epyc"]
    assert words[6:12] == ["--ssh", "me@epyc.example", "--there", "plimsoll-hosts", "--here", "hosts/epyc"]
    assert words[-1] == "runtimes={docker: off}"


def test_the_images_of_all_hosts_are_in_one_file():
    given = [{"name": "n1", "settings": ["studies=jha2021"]}, {"name": "n2", "settings": ["studies=liu2020,jha2018"]}]
    settings = read(hosts=given, settings=["base_image=debian:12"]).image_settings
    assert settings == ["studies=jha2021,liu2020,jha2018", "base_image=debian:12"]


@pytest.mark.parametrize(("target", "judged"), [("all", True), ("results/claims.html", True), ("results/x/small", False)])
def test_the_page_is_made_where_there_are_verdicts(target, judged):
    assert read(hosts=["n1"], targets=[target]).judged == judged


SINFO = """#!/bin/sh
[ "$*" = "--Node --noheader --format %N %c %m" ] || exit 2
printf 'n1 2 4000\\nn2 36+ 128000+\\nn1 2 4000\\n'
"""


@pytest.fixture
def clients(tmp_path, monkeypatch):
    """Return a function that writes Slurm's commands as scripts. No other commands are found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def put(**scripts: str) -> None:
        for name, script in scripts.items():
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)

    return put


def test_a_job_asks_for_all_of_its_node(clients):
    clients(sbatch="#!/bin/sh\n", sinfo=SINFO)
    known = slurm.nodes()
    assert known == {"n1": (2, 4000), "n2": (36, 128000)}
    asked = read(hosts=["n1", {"name": "n2", "cpus": "18", "memory": 64000}])
    assert slurm.node_requests(asked, known) == {"n1": (2, 4000), "n2": (18, 64000)}
    assert slurm.options(asked.named["n1"]) == "--signal=TERM@120 --exclusive --nodelist=n1"
    with pytest.raises(PlimsollError, match=r"hosts: Slurm has no node n9; it has n1, n2\."):
        slurm.node_requests(read(hosts=["n9"]), known)


def test_without_slurm_the_sentence_says_what_is_missing(clients):
    with pytest.raises(PlimsollError, match="sbatch is not installed here"):
        slurm.nodes()
    away = "slurm_load_partitions: Unable to contact slurm controller"
    clients(sbatch="#!/bin/sh\n", sinfo=f"#!/bin/sh\necho '{away}' >&2; exit 1\n")
    with pytest.raises(PlimsollError, match=rf"Slurm does not answer \({away}\)"):
        slurm.nodes()


def test_a_name_that_the_plugin_takes_for_an_option_is_refused(monkeypatch):
    if lacking := missing_plugin():
        pytest.skip(lacking)
    monkeypatch.syspath_prepend(PLUGIN)
    slurm.refuse_names(read(hosts=["n1", "node-n", "rack-c", "cn-e"]).named.values())
    with pytest.raises(PlimsollError, match="takes rack-J3 for an option of sbatch: submit it by hand"):
        slurm.refuse_names(read(hosts=["rack-J3"]).named.values())


def test_the_plugin_is_asked_for(monkeypatch):
    monkeypatch.setattr(slurm, "PLUGIN", "no_such_plugin")
    with pytest.raises(PlimsollError, match="This Snakemake has no plugin for Slurm: `bash scripts/setup/slurm.sh` puts it"):
        slurm.executor()


def test_the_mark_says_when_and_where(tmp_path):
    (tmp_path / "results/liu2020").mkdir(parents=True)
    (tmp_path / "results/liu2020/claims.json").write_text("[]")
    (tmp_path / "results/host.json").write_text(json.dumps({"cpu_model": "a processor", "cores": 2, "cpus": []}))
    (tmp_path / marker.STARTS).write_text('{"node": "n1", "job": "7", "moment": 1}\n{"node": "n1", "job": "9", "moment": 2}\n')
    marker.write(tmp_path, "n1")
    found = json.loads((tmp_path / "done.json").read_text())
    assert (found["host"], found["studies"], found["machine"]) == ("n1", ["liu2020"], {"cpu_model": "a processor", "cores": 2})
    assert [start["job"] for start in found["starts"]] == ["7", "9"] and found["ended"] <= time.time()


def test_a_host_says_which_one_of_several_it_is(monkeypatch):
    assert {"name", "slurm"} & inventory.discover().keys() == set()
    for key, value in {"HOST": "n1", "NODE": "n1", "JOB": "12"}.items():
        monkeypatch.setenv(f"PLIMSOLL_{key}", value)
    found = inventory.discover()
    assert (found["name"], found["slurm"]) == ("n1", {"node": "n1", "job": "12"})
    said = dict(line.split("  ", 1) for line in inventory.table(found).splitlines())
    assert (said["host"].strip(), said["Slurm"].strip()) == ("n1", "node n1, job 12")


# Stand-in for Python: notes its arguments, and the variables of a Slurm job in its environment. The workflow takes FOR seconds.
PYTHON = f"""#!{sys.executable}
import json, os, sys, time
place = os.environ["NOTES"]
with open(place, "a") as file:
    kept = sorted(name for name in os.environ if name.startswith(("SLURM", "SBATCH", "PMI", "SNAKEMAKE", "PLIMSOLL_")))
    file.write(json.dumps([sys.argv[1:], kept]) + "\\n")
if "snakemake" in sys.argv:
    time.sleep(float(os.environ.get("FOR", 0)))
    sys.exit(int(os.environ.get("ENDS", 0)))
"""
OF_SLURM = ("SLURMD_NODENAME", "SLURM_JOB_ID", "SLURM_NTASKS", "SBATCH_EXCLUSIVE", "PMI_RANK", "PMIX_ID", "SNAKEMAKE_PROFILE")


class Script:
    """scripts/cluster/host.sh in a project that has nothing else, with a stand-in for Python that notes its calls."""

    def __init__(self, folder: Path):
        self.folder, self.notes = folder, folder / "notes"
        (folder / "scripts/cluster").mkdir(parents=True)
        shutil.copy2(PROJECT / "scripts/cluster/host.sh", folder / "scripts/cluster")
        (folder / "bin").mkdir()
        (folder / "bin/python").write_text(PYTHON)
        (folder / "bin/python").chmod(0o755)
        self.environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "NOTES": str(self.notes)}

    def start(self, *words: str, **environment: str) -> subprocess.Popen:
        return subprocess.Popen(
            ["bash", str(self.folder / "scripts/cluster/host.sh"), *words],
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, **environment: str) -> tuple[int, str]:
        process = self.start(*words, **environment)
        _, said = process.communicate(timeout=300)
        return process.returncode, said

    def called(self) -> list[list[str]]:
        return [json.loads(line)[0] for line in self.notes.read_text().splitlines()] if self.notes.exists() else []

    def wait_for(self, word: str) -> None:
        end = time.monotonic() + 300
        while not any(word in words for words in self.called()):
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.fixture
def script(tmp_path) -> Script:
    return Script(tmp_path)


def test_the_script_takes_the_images_measures_and_marks(script):
    (script.folder / "images").touch()
    words = ["n1", "hosts/n1", "--images", "images", "--hours", "2", "--target", "all", "profile=ci"]
    assert script.run(*words) == (0, "plimsoll: n1: done\n")
    folder, module = str(script.folder / "hosts/n1"), ["-m", "plimsoll"]
    assert script.called() == [
        [*module, "take-images", "--file", str(script.folder / "images"), "profile=ci"],
        [*module, "--directory", folder, "hours", "--hours", "2", "profile=ci"],
        ["-m", "snakemake", "--directory", folder, "--cores", "1", "all", "--config", "profile=ci"],
        [*module, "mark-done", "--folder", folder, "--host", "n1"],
    ]


def test_nothing_of_slurm_reaches_the_workflow_but_which_node_and_job_it_is(script):
    given = {**dict.fromkeys(OF_SLURM, "x"), "SLURMD_NODENAME": "n1", "SLURM_JOB_ID": "12"}
    assert script.run("n1", "hosts/n1", "--slurm", **given)[0] == 0
    kept = {name for line in script.notes.read_text().splitlines() for name in json.loads(line)[1]}
    assert kept == {"PLIMSOLL_HOST", "PLIMSOLL_NODE", "PLIMSOLL_JOB"}
    (start,) = (json.loads(line) for line in (script.folder / "hosts/n1/starts.jsonl").read_text().splitlines())
    assert (start["node"], start["job"]) == ("n1", "12")


@pytest.mark.parametrize(
    ("words", "environment", "sentence"),
    [
        (["n1"], {}, "usage: host.sh NAME FOLDER"),
        (
            ["n1", "f", "--image", "x"],
            {},
            "--image is neither an option of host.sh nor a setting such as profile=paper. Nothing was measured.",
        ),
        (["n1", "f", "--images"], {}, "--images needs a value."),
        (["n1", "f", "--slurm"], {}, "n1 is measured by a job of Slurm on it, and this is no such job: add --profile"),
        (["n1", "f", "--slurm"], {"SLURMD_NODENAME": "n2"}, "n1 is measured by a job of Slurm on it, and this is n2: add"),
    ],
)
def test_the_script_refuses_in_one_sentence(script, words, environment, sentence):
    code, said = script.run(*words, **environment)
    assert code == 1 and said.startswith(f"plimsoll: {sentence}") and said.count("\n") == 1
    assert script.called() == []


def test_what_failed_is_swept_after_and_not_marked(script):
    (script.folder / "f").mkdir()
    (script.folder / "f/done.json").touch()
    assert script.run("n1", "f", ENDS="3")[0] == 3
    assert [words[-1] for words in script.called()] == ["all", "clean-up"]
    assert not (script.folder / "f/done.json").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_workflow_ends_with_the_script(script, number):
    process = script.start("n1", "f", FOR="60")
    script.wait_for("snakemake")
    process.send_signal(number)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 143 and said == "plimsoll: n1: ended from outside; what was measured is kept.\n"
    assert script.called()[-1] == ["-m", "plimsoll", "--directory", str(script.folder / "f"), "clean-up"] and not children_of(
        script
    )


def children_of(script: Script) -> list[str]:
    """Return the command lines of processes of the script's Python that have not ended."""
    mine = f"NOTES={script.notes}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mine in (folder / "environ").read_bytes().split(b"\0") and int(folder.name) != os.getpid():
                found.append((folder / "cmdline").read_text())
        except OSError:
            continue
    return found


def test_the_workflow_ends_when_the_caller_is_gone(script):
    process = script.start("n1", "f", "--while-open", FOR="60")
    script.wait_for("snakemake")
    for stream in (process.stderr, process.stdout, process.stdin):
        stream.close()
    assert process.wait(300) == 143
    assert script.called()[-1] == ["-m", "plimsoll", "--directory", str(script.folder / "f"), "clean-up"] and not children_of(
        script
    )


def test_two_calls_do_not_measure_in_one_folder(script):
    text = (script.folder / "scripts/cluster/host.sh").read_text()
    (script.folder / "scripts/cluster/host.sh").write_text(text.replace("flock --wait 90", "flock --wait 0"))
    first = script.start("n1", "f", FOR="60")
    script.wait_for("snakemake")
    code, said = script.run("n1", "f")
    assert code == 1 and "Another call measures n1 in" in said and len(script.called()) == 1
    first.terminate()
    assert first.wait(300) == 143

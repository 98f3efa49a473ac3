"""What rules/cluster.smk does without measuring: it refuses hosts in one sentence, and makes pages of hosts that are
done."""

import json
import shutil
import subprocess
import sys

import pytest
from plimsoll.claims import findings

from tests import pages
from tests.conftest import REFERENCE, built
from tests.dry.test_bad_input import refused
from tests.project import PLUGIN, missing_plugin

SINFO = "#!/bin/sh\nprintf 'n1 2 4000\\nn2 2 4000\\nrack-J3 2 4000\\n'\n"


@pytest.fixture
def submit(project, tmp_path):
    """Return a function that starts rules/cluster.smk, with scripts in the place of Slurm's commands."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def submit(*words: str, **environment: str) -> subprocess.CompletedProcess:
        for name, script in {"sbatch": "#!/bin/sh\nexit 9\n", "sinfo": SINFO}.items():
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)
        command = [sys.executable, "-m", "snakemake", "--snakefile", "rules/cluster.smk", *words]
        known = {**project.environment, "PATH": f"{folder}:/usr/bin:/bin", **environment}
        return subprocess.run(command, cwd=project.folder, env=known, capture_output=True, text=True, timeout=120)

    return submit


BY_SLURM = ("--profile", "profiles/slurm")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--config", "hosts=[]"], "No host is named"),
        (["--config", "hosts=[n9]"], "hosts: Slurm has no node n9; it has n1, n2, rack-J3."),
        (["--config", "hosts=[n1]", "settings=[profile=slow, sead=1]"], "unknown key 'sead'"),
        (["--config", "hosts=[n1]", "images=none.tar.gz"], "images: there is no file none.tar.gz"),
        (["--config", "hosts=[{name: n1, ssh: me@n1, port: 22}]"], "hosts.0: unknown key 'port'"),
    ],
)
def test_hosts_that_cannot_be_measured(submit, words, sentence):
    assert sentence in refused(submit("--dry-run", "--cores", "1", *words))


def test_without_the_plugin(submit):
    said = refused(submit("--dry-run", *BY_SLURM, "--config", "hosts=[n1]"))
    assert "This Snakemake has no plugin for Slurm: `bash scripts/setup/slurm.sh` puts it into .venv" in said


@pytest.fixture
def plugin(project) -> dict[str, str]:
    """Return environment variables by which Snakemake has its plugin for Slurm."""
    if lacking := missing_plugin():
        pytest.skip(lacking)
    return {"PYTHONPATH": f"{project.environment['PYTHONPATH']}:{PLUGIN}"}


def test_a_name_that_the_plugin_would_misread(submit, plugin):
    done = submit("--dry-run", *BY_SLURM, "--config", "hosts=[rack-J3]", **plugin)
    assert "takes rack-J3 for an option of sbatch" in refused(done)


def test_each_host_is_one_job(submit, plugin):
    done = submit("--dry-run", *BY_SLURM, "--config", "hosts=[n1, n2]", "--quiet", "host", **plugin)
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    for name in ("n1", "n2"):
        assert f"--signal=TERM@120 --exclusive --nodelist={name}" in said
    assert said.count("rule measure_host") == 2 and "mem_mb=4000" in said and "runtime=240" in said
    assert "rule image_file" in said and "rule compare_hosts" in said


STUDY = "li2018-hadoop"


def test_pages_are_made_of_hosts_that_are_done(submit, project):
    """Each pair of hosts is compared, and one page has all hosts. Nothing is measured: both are marked as done."""
    built(STUDY)
    (project.folder / "images.tar.gz").touch()
    for name in ("n1", "n2"):
        results = project.folder / f"hosts/{name}/results"
        shutil.copytree(REFERENCE / STUDY, results / STUDY)
        (results / f"{STUDY}/claims.json").write_text(json.dumps(findings.of_table(REFERENCE / STUDY / "claims.csv")))
        (results / f"{STUDY}/claims.csv").unlink()
        (project.folder / f"hosts/{name}/done.json").write_text(json.dumps({"host": name}))
    given = ("--config", "hosts=[n1, n2]", "images=images.tar.gz")
    try:
        done = submit("--cores", "1", *given)
        assert done.returncode == 0, done.stderr
        page = pages.check((project.folder / "hosts/findings.html").read_text(), project.folder / "hosts")
        assert [link["href"] for link in page.select('a[href^="compare/"]')] == ["compare/n1--n2/compare.html"]
        assert "Nothing is worse in B" in (project.folder / "hosts/compare/n1--n2/compare.txt").read_text()
        again = submit("--dry-run", "--cores", "1", *given)
        assert "Nothing to be done" in again.stdout + again.stderr
    finally:
        shutil.rmtree(project.folder / "hosts")
        (project.folder / "images.tar.gz").unlink()

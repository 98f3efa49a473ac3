"""Measuring a study of a program: what Ctrl-C names, waits within its minutes, and the variables of a SIF."""

import os
import tarfile
import time
from pathlib import Path

import pytest
from plimsoll import runtimes
from plimsoll.errors import PlimsollError
from plimsoll.features.try_program import sif, stages, start, study
from plimsoll.host import cgroup
from plimsoll.measuring import noise
from plimsoll.runtimes.base import LABEL
from plimsoll.terminal import interruption


@pytest.mark.parametrize(("inside", "named"), [(True, "sub/my-study.yaml"), (False, "'{}/a b/my-study.yaml'")])
def test_ctrl_c_names_the_command_that_goes_on_and_not_the_one_that_made_the_study(tmp_path, monkeypatch, inside, named):
    here, folder = tmp_path / "here", tmp_path / ("here/sub" if inside else "a b")
    for path in (here, folder / "my-study"):
        path.mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.setenv(interruption.COMMAND, "./plimsoll try -- sort words.txt")
    given = []
    monkeypatch.setattr(start.interruption, "run", lambda _, environment: given.append(environment) or 0)
    start.measure(study.place_of(folder / "my-study.yaml"), [])
    assert given[0][interruption.COMMAND] == f"./plimsoll reproduce {named.format(tmp_path)}"


def test_no_run_waits_for_an_idle_machine_after_its_stage_has_ended(monkeypatch):
    monkeypatch.setenv(noise.WAIT_UNTIL, str(time.monotonic() + 0.2))
    begun = time.monotonic()
    found = noise.wait_until_idle(noise.Machine(), -1.0, 0.01, 30)
    assert not found["idle"] and 0.2 <= time.monotonic() - begun < 5
    again = noise.wait_until_idle(noise.Machine(), -1.0, 0.01, 30)
    assert not again["idle"] and again["waited_seconds"] < 1
    monkeypatch.delenv(noise.WAIT_UNTIL)
    assert noise.wait_until_idle(noise.Machine(), -1.0, 0.01, 0.3)["waited_seconds"] >= 0.3


def test_each_stage_ends_its_waits_when_its_own_time_ends(monkeypatch, tmp_path):
    monkeypatch.setattr(stages.configuration, "wish", lambda *_: None)
    monkeypatch.setattr(stages.rounds, "make", lambda *_: ends.append(float(os.environ[noise.WAIT_UNTIL])))
    monkeypatch.setattr(stages, "table", lambda *_: None)
    monkeypatch.setattr(stages, "_needed", lambda *_: 0)
    monkeypatch.setenv(noise.WAIT_UNTIL, "0")
    experiments = {stage: {"runtime": ["docker"]} for stage in stages.ENDS}
    made = {"program": {"expected_seconds": 0.1, "runs": 1, "width": 0.01}, "experiments": experiments}
    ends: list[float] = []
    budget = stages.Budget(time.monotonic(), 100.0)
    for stage in stages.ENDS:
        stages._spend(made, tmp_path, budget, stage, ["docker"], {})
    assert ends == [budget.begun + 100 * share for share in stages.ENDS.values()]


@pytest.mark.parametrize(("costly", "needed"), [(True, 90), (False, 90), (False, 0)])
def test_the_time_of_steps_decides_defaults_where_nothing_costs_anything_so_far(monkeypatch, tmp_path, costly, needed):
    """Three minutes of a program that costs nothing ended after half of them, and every default stayed undecided."""
    spent = []
    monkeypatch.setattr(stages, "_spend", lambda *given, until=None: spent.append((given[3], until)) or {})
    monkeypatch.setattr(stages, "_look", lambda *_: None)
    monkeypatch.setattr(stages, "_needed", lambda *_: needed)
    monkeypatch.setattr(stages, "sides_of", lambda found: [])
    monkeypatch.setattr(stages, "table", lambda *_: None)
    monkeypatch.setattr(stages, "steps_of", lambda found: ["docker"] if costly else [])
    monkeypatch.setattr(stages, "remedies_of", lambda found, better: [])
    experiments = {stage: {"runtime": ["docker"]} for stage in (stages.FIRST, stages.STEPS, stages.REMEDY)}
    program = {"minutes": 3, "expected_seconds": 0.1, "runs": 1, "width": 0.01}
    made = {
        "program": program,
        "experiments": experiments,
        "answer": {"metrics": ["wall"]},
        "metrics": {"wall": {"better": "lower"}},
    }
    stages.measure(made, tmp_path)
    more = [(stages.STEPS, None)] if costly else [(stages.FIRST, stages.REMEDY)] if needed else []
    assert spent == [(stages.FIRST, None), *more]


OF_SIF = {
    "APPTAINER_NAME": "x.sif",
    "SINGULARITY_BIND": "",
    "HOME": "/root",
    "LANG": "C",
    "LD_LIBRARY_PATH": "/opt/lib::/.singularity.d/libs",
    "PATH": "/opt/solver/bin:/bin",
    "PROMPT_COMMAND": 'PS1="Apptainer> "; unset PROMPT_COMMAND',
    "PWD": "/",
    "TEXT": "two\nlines=2",
    "EMPTY": "",
}


def test_variables_of_a_sif_are_its_own_and_not_apptainers():
    text = "".join(f"{name}={value}\0" for name, value in OF_SIF.items())
    kept = {"LD_LIBRARY_PATH": "/opt/lib", "PATH": "/opt/solver/bin:/bin", "TEXT": "two\nlines=2", "EMPTY": ""}
    assert sif.printed_variables(text) == kept
    assert sif.printed_variables("LD_LIBRARY_PATH=/.singularity.d/libs\0") == sif.printed_variables("") == {}


@pytest.fixture
def given(tmp_path, monkeypatch):
    """A working folder with images of all kinds."""
    monkeypatch.chdir(tmp_path)
    for name in ("unpacked/usr/bin", "recipe/usr/bin", "folder"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("unpacked", "recipe"):
        (tmp_path / name / sif.ENV).symlink_to("/bin/busybox")
    for name in ("recipe/Dockerfile", "Dockerfile", "solver.sif"):
        (tmp_path / name).write_text("FROM x\n")
    for name, mode, members in (
        ("docker.tar", "w", ("index.json", "manifest.json")),
        ("docker.tgz", "w:gz", ("manifest.json",)),
        ("oci.tar", "w", ("index.json", "oci-layout")),
    ):
        with tarfile.open(tmp_path / name, mode) as archive:
            for member in members:
                archive.addfile(tarfile.TarInfo(member))


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("solver.sif", "solver.sif"),
        ("missing.def", "missing.def"),
        ("unpacked", "unpacked"),
        ("recipe", None),
        ("folder", None),
        ("Dockerfile", None),
        ("solver:2", None),
        ("./docker.tar", "docker-archive:docker.tar"),
        ("docker.tgz", "docker-archive:docker.tgz"),
        ("oci.tar", "oci-archive:oci.tar"),
    ],
)
@pytest.mark.usefixtures("given")
def test_apptainer_reads_images_of_its_own_and_archives_where_no_engine_does(image, name):
    assert sif.source(Path(image), has_engine=False) == name
    assert sif.source(Path(image), has_engine=True) == (None if name and "-archive:" in name else name)


@pytest.mark.parametrize("source", ["missing.sif", "oci-archive:missing.tar"])
def test_an_image_that_is_not_there_is_refused_by_its_own_name(tmp_path, source):
    with pytest.raises(PlimsollError, match=f"^There is no file {source.rpartition(':')[2]}: nothing was measured"):
        sif.unpack(source, tmp_path / "files.tar")


@pytest.mark.skipif(os.geteuid() != 0 or not cgroup.hierarchies(), reason="only root makes such cgroups")
def test_the_cgroup_of_a_killed_run_is_removed_by_the_sweep_of_bare_metal(monkeypatch):
    monkeypatch.setattr("plimsoll.runtimes.networks.host_networks.ALL", ())
    own = f"test-{os.getpid()}"
    made = cgroup.make(LABEL, [own], cgroup.mounts())
    # Other tests may have groups beside this one.
    monkeypatch.setattr(
        "plimsoll.runtimes.bare.cgroup.remove",
        lambda parent, remove=cgroup.remove: remove(f"{parent}/{own}"),
    )
    assert all(group.is_dir() for group in made)
    runtimes.find("bare").sweep()
    assert not any(group.exists() for group in made)

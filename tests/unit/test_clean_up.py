"""What the command to clean up removes, and what it leaves."""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
import types

import pytest
from plimsoll import clean_up, paths, runtimes
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.host import machine_lock, private
from plimsoll.runtimes import engine

from tests.conftest import recorded, tried


@pytest.fixture
def study(tmp_path):
    """Results of a study: a record of two attempts, an attempt without a record, and a record in the archive."""
    folder = tmp_path / "results/s"
    for attempt in ("raw/a/b/1-1", "raw/a/b/1-2", "raw/a/b/1-3", "raw/a/1-1/beff", "raw/c/2-1"):
        (folder / attempt).mkdir(parents=True)
        (folder / attempt / "stdout.txt").write_text("said")
    earlier = [tried(status="failed", raw="raw/a/b/1-1"), tried(status="interrupted")]
    put(folder / "runs/a/b/1.json", raw="raw/a/b/1-2", invalid_attempts=earlier)
    put(folder / "archive/old/1-1.json", raw="raw/c/2-1", invalid_attempts=[])
    (folder / "runs/a/b/.2.json.new").write_text("{")
    return folder


def put(path, **more):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(recorded(attempts=2, **more)))


def attempts(folder):
    return sorted(str(path.parent.relative_to(folder)) for path in folder.rglob("stdout.txt"))


def test_what_no_record_names_is_removed_and_nothing_else(study):
    removed = clean_up.results(study.parent)
    assert sorted(removed) == sorted(map(str, (study / "raw/a/1-1", study / "raw/a/b/1-3", study / "runs/a/b/.2.json.new")))
    assert attempts(study) == ["raw/a/b/1-1", "raw/a/b/1-2", "raw/c/2-1"]
    assert (study / "runs/a/b/1.json").exists() and clean_up.results(study.parent) == []


def test_nothing_is_removed_of_a_study_with_a_damaged_record(study):
    (study / "runs/a/b/2.json").write_text("{")
    before = attempts(study)
    assert clean_up.results(study.parent) == [str(study / "runs/a/b/.2.json.new")]
    assert attempts(study) == before


def test_a_container_that_several_runtimes_list_is_named_once(monkeypatch, tmp_path):
    swept = []
    monkeypatch.setattr(clean_up.lock, "sweep", swept.extend)
    monkeypatch.setattr(clean_up.lock, "TEMPORARY", tmp_path / "none")
    monkeypatch.setattr(clean_up.cgroup, "remove", lambda name: None)
    listing = [types.SimpleNamespace(label=label, left=lambda: ["0123456789ab"]) for label in ("Docker", "Docker with more")]
    assert clean_up.machine(listing) == ["Docker: 0123456789ab"] and swept == listing


def test_what_was_being_built_is_removed_when_its_maker_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "image_store", lambda: tmp_path)
    done = subprocess.Popen(["true"])
    done.wait()
    gone, young = tmp_path / f".hpcc-0123456789abcdef-{done.pid}", tmp_path / ".hadoop-ab12_xyz"
    old = tmp_path / ".file-ab12_xyz"
    kept = [tmp_path / f".hpcc-0123456789abcdef-{os.getpid()}", young, tmp_path / ".prices", tmp_path / "hpcc-0123456789abcdef"]
    for folder in (gone, old, *kept):
        folder.mkdir()
        (folder / "file").write_text("")
    os.utime(old, (time.time() - 2 * clean_up.ABANDONED_SECONDS,) * 2)
    base = tmp_path / f".base-{done.pid}.tar"
    base.write_text("")
    assert sorted(clean_up.store()) == sorted(map(str, (base, gone, old)))
    assert sorted(tmp_path.iterdir()) == sorted(kept)


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A store of images in which others have files too, and an empty folder for the lock's files."""
    folder = tmp_path / "store"
    for name in ("hpcc-0123456789abcdef/rootfs/closed", "supplied-0123456789abcdef", ".jars", "others-files", ".ssh"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text("")
    (folder / "hpcc-0123456789abcdef/rootfs/closed").chmod(0o500)
    for name in ("kvm.json", ".prices", ".engines", ".times.json"):
        (folder / name).write_text("")
    (folder / "hpcc-fedcba9876543210").symlink_to(folder / "others-files")
    (tmp_path / "locks").mkdir(mode=0o1777)
    (tmp_path / "locks").chmod(0o1777)
    monkeypatch.setattr(paths, "image_store", lambda: folder)
    monkeypatch.setattr(machine_lock, "FOLDERS", (tmp_path / "locks",))
    return folder


def test_all_that_is_kept_for_the_next_run_is_removed_and_nothing_of_others(built, tmp_path):
    with machine_lock.hold(lambda holder: None):
        machine_lock.note_sweep(whole=False)
    (tmp_path / "locks/plimsoll.measuring.0").touch()
    both = [types.SimpleNamespace(forget=lambda: ["image plimsoll/hpcc:1"]) for _ in range(2)]
    removed = clean_up.everything(both)
    assert removed.count("image plimsoll/hpcc:1") == 1
    assert sorted(path.name for path in built.iterdir()) == [".ssh", "others-files"] and (built / "others-files/file").exists()
    # A marker means that a user measures, or that a measurement was killed. This command leaves it.
    assert [path.name for path in (tmp_path / "locks").iterdir()] == ["plimsoll.measuring.0"]


def test_what_cannot_be_removed_is_said_once_and_the_rest_removed(built, capsys):
    def refuses() -> list[str]:
        raise Unavailable("the Docker engine does not answer")

    with pytest.raises(PlimsollError, match="Not everything was removed: the reason is above"):
        clean_up.everything([types.SimpleNamespace(forget=refuses) for _ in range(3)])
    assert capsys.readouterr().err.count("plimsoll: not removed: the Docker engine does not answer.\n") == 1
    assert not (built / ".jars").exists()


def test_every_environment_can_be_asked_to_forget(monkeypatch, tmp_path):
    """No runtime's program is installed, and nothing is removed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLIMSOLL_PREFIX", str(tmp_path))
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path))
    assert {name: each.forget() for name, each in runtimes.known().items() if each.forget()} == {}


def test_an_engine_forgets_the_project_s_images_and_no_others(monkeypatch):
    asked = []

    def answers(words, seconds=60):
        asked.append(words[1:])
        return "plimsoll/hpcc:1\nlocalhost/plimsoll/base:bookworm\ndebian:bookworm\n<none>:<none>\nx/plimsoll:1\n"

    docker = runtimes.find("docker")
    monkeypatch.setattr(engine, "output", answers)
    monkeypatch.setattr(engine.shutil, "which", lambda name: name)
    monkeypatch.setattr(docker, "refuse_hanging", lambda: None)
    assert docker.forget() == ["image plimsoll/hpcc:1", "image localhost/plimsoll/base:bookworm"]
    assert asked[1] == ["image", "rm", "--force", "plimsoll/hpcc:1", "localhost/plimsoll/base:bookworm"]


HOLDS = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from plimsoll.host import private

from tests.conftest import recorded, tried
with private.temporary("figure-") as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_folder_of_a_killed_process_goes_with_the_next_one_and_one_in_use_does_not(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    words = [sys.executable, "-c", HOLDS, str(tmp_path)]
    killed, uses = (subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2))
    left, used = (process.stdout.readline().strip() for process in (killed, uses))
    killed.kill()
    killed.wait()
    assert left in map(str, tmp_path.iterdir())
    with private.temporary("figure-") as own:
        assert sorted(map(str, tmp_path.iterdir())) == sorted([used, str(own)])
        assert own.stat().st_mode & 0o777 == 0o700
    uses.communicate()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_taken_before_it_was_locked_is_made_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made, locked = [], private.lock

    def loses_the_first(folder):
        made.append(folder)
        if len(made) == 1:
            other = os.open(folder, os.O_RDONLY)
            fcntl.flock(other, fcntl.LOCK_EX)
        return locked(folder)

    monkeypatch.setattr(private, "lock", loses_the_first)
    with private.temporary("figure-") as folder:
        assert folder == made[1] != made[0]

"""Measuring on a host that ssh reaches, with a stand-in for ssh: what is copied there, and what comes back."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from plimsoll import paths
from plimsoll.errors import PlimsollError
from plimsoll.features.hosts import ssh_host

# Stand-in for ssh: runs its command in a home folder of its own. If `away` exists, no host is reached. If `cut` exists,
# the next fetch ends after 200 bytes.
SSH = """#!/bin/sh
home={folder}/home
[ ! -e {folder}/away ] || {{ echo "ssh: connect to host $1: No route to host" >&2; exit 255; }}
cd "$home" || exit 1
case "$2" in
    *"tar --create"*) if [ -e {folder}/cut ]; then rm {folder}/cut; sh -c "$2" | head -c 200; exit 255; fi ;;
esac
HOME=$home exec sh -c "$2"
"""
# Stand-in for the script that measures: notes its arguments, and writes a record and `done.json`.
MEASURES = """#!/bin/bash
echo "$*" >>asked
mkdir -p work/results/liu2020/runs && cd work
echo "{$(ls results/liu2020/runs | wc -l)}" >results/liu2020/runs/$(ls results/liu2020/runs | wc -l).json
mkfifo -m 600 results/pipe 2>/dev/null
if [ -e "$HOME/breaks" ]; then rm "$HOME/breaks"; exit 255; fi
[ ! -e "$HOME/fails" ] || exit 3
echo '{"host": "far"}' >done.json
"""


class World:
    """A project, a host that ssh reaches, and the folder here for the host's results."""

    def __init__(self, folder: Path):
        self.folder, self.project, self.home, self.here = folder, folder / "project", folder / "home", folder / "hosts/far"
        self.home.mkdir()
        self.put("scripts/cluster/host.sh", MEASURES)
        self.put("config/config.yaml", "profile: quick\n")
        self.put("config/studies/old.yaml", "id: old\n")
        subprocess.run(["git", "init", "-q", self.project], check=True)
        self.put(".gitignore", "config/local.yaml\n")
        self.put("config/local.yaml", "mine\n")
        (folder / "images").write_bytes(b"images")
        ssh = folder / "ssh"
        ssh.write_text(SSH.format(folder=folder))
        ssh.chmod(0o755)
        self.host = ssh_host.SshHost("far", "me@far", "kept/far")

    @property
    def there(self) -> Path:
        return self.home / "kept/far"

    def put(self, name: str, text: str) -> None:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def measure(self, *words: str) -> None:
        ssh_host.measure(self.host, self.here, self.folder / "images", list(words))

    def results(self) -> set[str]:
        return {str(path.relative_to(self.here)) for path in self.here.rglob("*") if path.is_file()}


@pytest.fixture
def world(tmp_path, monkeypatch) -> World:
    made = World(tmp_path)
    monkeypatch.setattr(ssh_host, "SSH", (str(tmp_path / "ssh"),))
    monkeypatch.setattr(ssh_host, "AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(paths, "PROJECT", made.project)
    return made


def test_the_project_goes_there_and_the_results_come_back(world):
    world.measure("--target", "all", "profile=ci")
    assert world.results() == {"results/liu2020/runs/0.json", "done.json"}
    assert (world.there / "asked").read_text() == "far work --set-up --while-open --target all profile=ci\n"
    assert (world.there / "images.tar.gz").read_bytes() == b"images"
    assert not (world.there / "project/config/local.yaml").exists()
    assert sorted(path.name for path in world.there.iterdir()) == ["asked", "images.tar.gz", "lock", "project", "work"]


def test_what_is_there_is_not_brought_again(world):
    world.measure()
    before = {name: (world.there / name).stat().st_ino for name in ("project", "images.tar.gz")}
    world.measure()
    assert {name: (world.there / name).stat().st_ino for name in before} == before
    assert {"results/liu2020/runs/0.json", "results/liu2020/runs/1.json"} < world.results()


def test_sources_are_replaced_and_what_the_host_made_stays(world):
    world.measure()
    for name, text in ((".venv/stamp", "set up"), ("config/local.yaml", "theirs")):
        (world.there / "project" / name).parent.mkdir(exist_ok=True)
        (world.there / "project" / name).write_text(text)
    (world.project / "config/studies/old.yaml").unlink()
    world.put("config/studies/new.yaml", "id: new\n")
    world.measure()
    there = world.there / "project"
    assert sorted(path.name for path in (there / "config/studies").iterdir()) == ["new.yaml"]
    assert (there / ".venv/stamp").read_text() == "set up" and (there / "config/local.yaml").read_text() == "theirs"


def test_a_host_that_ssh_does_not_reach_is_refused_at_once(world):
    (world.folder / "away").touch()
    with pytest.raises(PlimsollError, match=r"ssh me@far does not reach far \(ssh: connect to host me@far: No route to host\)"):
        world.measure()
    assert not world.here.exists()


@pytest.mark.parametrize("what", ["home/breaks", "cut"])
def test_it_goes_on_after_a_break(world, what, capsys):
    (world.folder / what).touch()
    world.measure()
    assert not (world.folder / what).exists() and "Trying again." in capsys.readouterr().err
    assert {"results/liu2020/runs/0.json", "results/liu2020/runs/1.json", "done.json"} == world.results()


def test_a_host_that_stays_away_is_given_up(world, monkeypatch):
    looks = iter([{}])

    def look(host):
        if (there := next(looks, None)) is None:
            raise host.failed("looking", ssh_host.CUT_OFF, "No route to host")
        return there

    monkeypatch.setattr(ssh_host, "PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(ssh_host.SshHost, "look", look)
    with pytest.raises(ssh_host.CutOff, match="No route to host"):
        world.measure()


def test_what_failed_there_is_not_done_and_what_was_measured_is_here(world):
    (world.home / "fails").touch()
    with pytest.raises(PlimsollError, match="far: measuring failed there. Its messages are above"):
        world.measure()
    assert world.results() == {"results/liu2020/runs/0.json"}
    (world.home / "fails").unlink()
    world.measure()
    assert "done.json" in world.results()


def test_a_host_that_lost_everything_goes_on_with_what_is_here(world):
    world.measure()
    (world.here / "done.json").unlink()
    shutil.rmtree(world.there)
    world.measure()
    assert {"results/liu2020/runs/0.json", "results/liu2020/runs/1.json", "done.json"} == world.results()


def test_a_project_that_is_no_checkout_is_refused(world):
    shutil.rmtree(world.project / ".git")
    with pytest.raises(PlimsollError, match="is not a checkout of git"):
        world.measure()


def test_without_ssh_the_sentence_says_what_to_install(world, monkeypatch):
    monkeypatch.setattr(ssh_host, "SSH", ("no-such-ssh",))
    with pytest.raises(PlimsollError, match="ssh is not installed here"):
        world.measure()


def test_nothing_that_comes_back_leaves_the_folder(world):
    (world.there / "work/results").mkdir(parents=True)
    (world.there / "work/results/link").symlink_to("/etc/passwd")
    with pytest.raises(PlimsollError, match="fetching the results failed"):
        world.measure()
    assert not os.path.lexists(world.here / "results/link")

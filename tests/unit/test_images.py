"""Names of images, and what images state about themselves."""

import hashlib
import json
import os
import pwd
import select
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from plimsoll import paths, runtimes
from plimsoll.config import configuration
from plimsoll.errors import ImageGone, PlimsollError, Unavailable
from plimsoll.features.sessions import stages
from plimsoll.images import bootstrap, builder, client, contents, debian, forms, image_comparison, restore, settings, store
from plimsoll.runtimes import apptainer, docker, image_forms
from plimsoll.runtimes.image_forms import unpacked_problem

from tests.conftest import PROJECT


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A copy of the images' folders that may be changed."""
    shutil.copytree(PROJECT / "containers", tmp_path / "containers")
    monkeypatch.setattr(paths, "PROJECT", tmp_path)
    return tmp_path


@pytest.fixture
def rootfs(tmp_path):
    """A file system with the notes of a build, Debian's list of packages, and a program with a build identifier."""
    for name in ("opt/plimsoll", "var/lib/dpkg", "usr/lib/x86_64-linux-gnu"):
        (tmp_path / "rootfs" / name).mkdir(parents=True)
    (tmp_path / "rootfs/opt/plimsoll/versions.txt").write_text("Thing: 1.5, patched\ncompiler: gcc 12\n")
    status = "Package: libthing\nStatus: install ok\nVersion: 0.3-1\n\nPackage: other\nVersion: 9\n"
    (tmp_path / "rootfs/var/lib/dpkg/status").write_text(status)
    shutil.copy("/bin/sh", tmp_path / "rootfs/opt/plimsoll/thing")
    return tmp_path / "rootfs"


def test_what_an_image_says_of_itself_is_no_part_of_what_it_is_built_from(project):
    before = builder.identity("hpcc", "bootstrap")
    stated = project / "containers/hpcc/contents.yaml"
    stated.write_text(stated.read_text() + "# more\n")
    assert builder.identity("hpcc", "bootstrap") == before
    stated.unlink()
    assert builder.identity("hpcc", "bootstrap") == before
    patch = project / "containers/hpcc/rank_report.c"
    patch.write_text(patch.read_text() + "\n")
    assert builder.identity("hpcc", "bootstrap") != before


def test_an_image_follows_the_one_that_it_is_built_from(project):
    before = builder.identity("nesting", "bootstrap")
    of_netperf = project / "containers/microservices/Dockerfile"
    assert of_netperf in settings.sources("nesting") and of_netperf not in settings.sources("hpcc")
    of_netperf.write_text(of_netperf.read_text() + "\n")
    assert builder.identity("nesting", "bootstrap") != before


def test_an_image_has_every_form_unless_its_file_says_which(project):
    usual = {"forms": ["docker", "sif", "rootfs"], "stages": [], "from": None, "jars": "jars.lock", "root": {}}
    assert settings.of_image("hpcc") == usual
    assert settings.of_image("nesting")["forms"] == ["docker", "rootfs", "archive", "disk"]
    (project / "containers/nesting/image.yaml").write_text("forms: [docker]\nform: [x]\n")
    with pytest.raises(PlimsollError, match="image.yaml"):
        settings.of_image("nesting")


def test_versions_are_what_the_build_noted_or_debian_s(rootfs):
    named = {"Thing": {"noted": "Thing"}, "library": {"package": "libthing"}}
    assert contents.versions(rootfs, named) == {"Thing": "1.5, patched", "library": "0.3-1"}


@pytest.mark.parametrize("source", [{"noted": "Nothing"}, {"package": "nothing"}])
def test_a_version_that_is_nowhere_is_refused(rootfs, source):
    with pytest.raises(PlimsollError, match="contents.yaml names the version of Thing"):
        contents.versions(rootfs, {"Thing": source})


def test_programs_are_those_that_the_image_names(rootfs):
    assert list(contents.files(rootfs, ["opt/plimsoll/thing", "opt/plimsoll/none"])) == ["opt/plimsoll/thing"]
    assert contents.files(rootfs, []) == {}


def test_contents_that_are_misspelt_are_refused(project):
    (project / "containers/hpcc/contents.yaml").write_text("program: [a]\n")
    with pytest.raises(PlimsollError, match="contents.yaml"):
        contents.declaration("hpcc")


def test_the_builder_knows_no_benchmark():
    words = ("hpcc", "open mpi", "orterun", "blas")
    text = "".join(path.read_text().lower() for path in (PROJECT / "scripts/plimsoll/images").glob("*.py"))
    assert not [word for word in words if word in text]


def described(identity: str, **files: str) -> dict:
    return {
        "tag": "plimsoll/x:1",
        "id": identity,
        "files": {path: {"sha256": "s", "build_id": one} for path, one in files.items()},
    }


def test_an_image_that_was_built_is_compared_with_others_by_its_recipe(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path / "own"))
    monkeypatch.setattr(paths, "SYSTEM_IMAGE_STORE", tmp_path / "root")
    assert image_comparison.others("plimsoll/x:1") == {}
    same, other = described("docker", hpcc="1", libc="2"), described("older", hpcc="1", libc="3", a="4", b="5", c="6")
    for folder, image in (("own", same), ("root", other)):
        (tmp_path / folder / "x-1").mkdir(parents=True)
        (tmp_path / folder / "x-1/image.json").write_text(json.dumps(image))
    there = image_comparison.others("plimsoll/x:1")
    assert list(image_comparison.sentences(described("podman", hpcc="1", libc="2"), there)) == [
        f"plimsoll/x:1 has the same build identifiers as the image of {tmp_path}/own/x-1, in all 2 files",
        f"plimsoll/x:1 has other build identifiers than the image of {tmp_path}/root/x-1: a, b, c and 1 others",
    ]
    # An image is not compared with itself.
    assert len(list(image_comparison.sentences(same, there))) == 1


def test_what_has_no_build_identifier_is_compared_by_its_checksum():
    there = {"/other": {"id": "y", "files": {"script": {"sha256": "a"}}}}
    (said,) = image_comparison.sentences({"tag": "t", "id": "x", "files": {"script": {"sha256": "b"}}}, there)
    assert said == "t has other build identifiers than the image of /other: script"


@pytest.fixture
def packed(project, tmp_path, monkeypatch):
    """The recipe of an image of packed files, in a store of its own, on a machine without an engine."""
    folder = project / "containers/packed"
    folder.mkdir()
    (folder / "timed").write_text("a timer")
    (folder / "image.yaml").write_text("forms: [docker, sif, rootfs]\nroot: {files.tar: ., timed: opt/timed}\n")
    with tarfile.open(folder / "files.tar", "w") as archive:
        archive.add("/bin/sh", "bin/sh", filter=lambda member: member)
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path / "images"))
    monkeypatch.setattr(client, "command", no_engine)
    monkeypatch.setattr(forms, "is_installed", lambda: False)
    return folder


def no_engine():
    raise Unavailable("nothing that builds images works here")


def test_an_image_of_packed_files_is_made_without_an_engine_and_once(packed):
    made = builder.build("packed", "bootstrap")
    root = Path(made["rootfs"])
    assert (root / "opt/timed").read_text() == "a timer" and os.path.lexists(root / "bin/sh")
    assert made["id"].startswith("sha256:") and len(made["id"]) == 71 and "sif" not in made
    assert unpacked_problem(made) is None
    (root / "opt/timed").write_text("still there")
    assert builder.build("packed", "bootstrap") == made and (root / "opt/timed").read_text() == "still there"
    (packed / "timed").write_text("another timer")
    other = builder.build("packed", "bootstrap")
    assert other["id"] != made["id"] and (Path(other["rootfs"]) / "opt/timed").read_text() == "another timer"


def test_a_link_of_an_image_does_not_lead_to_this_hosts_files(packed, tmp_path):
    (outside := tmp_path / "outside").mkdir()
    (tmp_path / "link").symlink_to(outside)
    with tarfile.open(packed / "files.tar", "w") as archive:
        archive.add(tmp_path / "link", "opt")
    with pytest.raises(PlimsollError, match="a link in the image leads from /opt/timed to this host's own files"):
        builder.build("packed", "bootstrap")
    assert list(outside.iterdir()) == [] and list((tmp_path / "images").glob("packed-*")) == []


def test_an_image_that_is_built_from_more_needs_an_engine(packed):
    (packed / "image.yaml").write_text("forms: [docker, sif, rootfs]\n")
    with pytest.raises(PlimsollError, match="packed could not be built: nothing that builds images works here"):
        builder.build("packed", "bootstrap")


@pytest.fixture
def made(tmp_path) -> dict:
    """An image with an unpacked file and a SIF, and with the checksums of both."""
    sums = {}
    for name in ("rootfs/bin/hpcc", "image.sif"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        sums[name] = hashlib.sha256(name.encode()).hexdigest()
    (tmp_path / image_forms.SUMS).write_text(json.dumps({"image.sif": sums["image.sif"]}))
    files = {"bin/hpcc": {"sha256": sums["rootfs/bin/hpcc"]}}
    return {"tag": "plimsoll/hpcc:1", "rootfs": str(tmp_path / "rootfs"), "sif": str(tmp_path / "image.sif"), "files": files}


@pytest.mark.parametrize(
    ("name", "told"), [("rootfs/bin/hpcc", "its unpacked file bin/hpcc"), ("image.sif", "its sif")], ids=["file", "sif"]
)
def test_what_has_changed_of_an_image_or_is_gone_is_told_and_would_be_made_again(tmp_path, made, monkeypatch, name, told):
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path))
    remade = []
    monkeypatch.setattr(restore, "in_engine", lambda image: True)
    monkeypatch.setattr(restore.forms, "unpack", lambda *given: remade.append(given))
    monkeypatch.setattr(apptainer, "output", lambda *words: "1.0")
    monkeypatch.setattr(apptainer, "executable", lambda: "apptainer")
    runtime = runtimes.find("singularity")
    monkeypatch.setattr(type(runtime), "unpacked", False)
    runtime.examine(made)
    restore.restore(made)
    assert remade == []
    # The content has the same length.
    (tmp_path / name).write_text((tmp_path / name).read_text()[:-1] + "x")
    with pytest.raises(
        ImageGone, match=rf"^the image plimsoll/hpcc:1 has changed \({told} was changed after it was made\): delete "
    ):
        runtime.examine(made)
    restore.restore(made)
    (tmp_path / name).unlink()
    with pytest.raises(ImageGone, match=rf"^the image plimsoll/hpcc:1 was removed \({told} is not there\): delete "):
        runtime.examine(made)
    restore.restore(made)
    assert len(remade) == 2


@pytest.mark.parametrize(("files", "again"), [({"rootfs": "/r"}, "unpacked again"), ({}, "loaded again")])
def test_another_session_makes_files_again_of_an_image_that_has_some(tmp_path, monkeypatch, files, again):
    asked, unpacked = [], []
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path))
    monkeypatch.setattr(docker, "restart_engine", lambda: None)
    monkeypatch.setattr(client, "output", lambda *words, **more: asked.append(words[0]))
    monkeypatch.setattr(store, "keep", lambda image: None)
    monkeypatch.setattr(store, "load", lambda image: asked.append("load"))
    monkeypatch.setattr(forms, "unpack", lambda tag, *more: unpacked.append(tag))
    described = tmp_path / "x.json"
    described.write_text(json.dumps({"tag": "plimsoll/x:1", "id": "sha256:1", **files}))
    assert stages.refresh([described]) == {"Docker engine": "started again", "image x": again}
    assert asked == ["image", "load"] and unpacked == ["plimsoll/x:1"] * bool(files)


def test_a_note_without_the_programs_of_an_image_is_made_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(builder, "_built", lambda *words: "sha256:1")
    monkeypatch.setattr(builder, "_content", lambda *words: {"bits": {"opt/x": "2"}, "files": {}, "versions": {}})
    noted = tmp_path / "image.json"
    noted.write_text(json.dumps({"tag": "plimsoll/x:1", "id": "sha256:1", "stages": {}, "rootfs": "/r", "files": {}}))
    made = builder._docker_only("x", "bootstrap", "plimsoll/x:1", [], noted)
    assert made["bits"] == {"opt/x": "2"} and "rootfs" not in made and json.loads(noted.read_text()) == made


def test_a_form_of_an_image_from_before_there_were_checksums_is_looked_for_only(tmp_path, made):
    (tmp_path / image_forms.SUMS).unlink()
    (tmp_path / "image.sif").write_text("other")
    assert image_forms.form_problem(made, "sif") is None
    (tmp_path / "image.sif").unlink()
    assert (
        image_forms.form_problem(made, "sif") == image_forms.form_problem({**made, "sif": ""}, "sif") == "its sif is not there"
    )


@pytest.mark.parametrize(
    ("there", "sources"),
    [
        ({"main": "http://m/", "security": "http://s/"}, ["http://m/", "deb http://s/ bookworm-security main"]),
        ({"main": "http://m/"}, ["http://m/"]),
        ({}, []),
    ],
)
def test_a_base_has_the_security_archive_where_the_machine_has_it(tmp_path, monkeypatch, there, sources):
    called = []
    monkeypatch.setattr(debian, "mirrors", lambda: there)
    monkeypatch.setattr(bootstrap, "output", lambda words, seconds: called.append(words))
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: name)
    monkeypatch.setattr(bootstrap.paths, "image_store", lambda: tmp_path)
    monkeypatch.setattr(client, "output", lambda *words, **more: called.append(words))
    bootstrap.make("bootstrap")
    words, imported = called
    assert words[words.index(bootstrap.SUITE) + 2 :] == sources and imported[-1] == "plimsoll/base:bookworm"


def test_a_base_of_a_moment_has_its_own_name_image_and_sources(monkeypatch):
    monkeypatch.setattr(debian, "mirrors", lambda: {"main": "http://m/"})
    monkeypatch.setattr(bootstrap, "SNAPSHOTS", "http://s/archive")
    base = "bootstrap@20261126T000000Z"
    assert bootstrap.is_meant(base) and bootstrap.is_meant("bootstrap") and not bootstrap.is_meant("debian:bookworm")
    assert bootstrap.tag(base) == "plimsoll/base:bookworm-20261126T000000Z"
    assert bootstrap.sources(base) == [
        f"deb [check-valid-until=no signed-by={debian.KEYS}] {place} main"
        for place in (
            "http://s/archive/debian/20261126T000000Z bookworm",
            "http://s/archive/debian-security/20261126T000000Z bookworm-security",
        )
    ]
    assert not bootstrap.is_meant("bootstrap@") and not bootstrap.is_meant("bootstrap@yesterday")
    assert builder.identity("hpcc", base) != builder.identity("hpcc", "bootstrap")


@pytest.mark.parametrize("base", ["bootstrap", "bootstrap@20261126T000000Z", "debian:bookworm", "r.io:5000/debian@sha256:00aa"])
def test_a_base_may_be_named(base):
    configuration.read([f"base_image={base}"])


@pytest.mark.parametrize("base", ["bootstrap@yesterday", "bootstrap@", "bootstrap@20261126", "--privileged", "a b"])
def test_what_is_no_base_is_refused(base):
    with pytest.raises(PlimsollError, match="base_image"):
        configuration.read([f"base_image={base}"])


UNPACKS = """
import sys, time
from pathlib import Path
from plimsoll import paths
from plimsoll.images import store

paths.image_store = lambda: Path(sys.argv[1])

@store.hold()
def unpack():
    place = Path(sys.argv[1], "image")
    assert not place.exists(), "another one is at work on it"
    place.mkdir()
    print("begun", flush=True)
    sys.stdin.read()
    place.rmdir()

unpack()
"""


def test_two_first_starts_at_once_make_images_one_after_the_other(tmp_path):
    """The second process prints which one it waits for."""
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    first, second = (subprocess.Popen([sys.executable, "-c", UNPACKS, str(tmp_path)], **streams) for _ in range(2))
    ready = {first.stdout: first, second.stdout: second}
    (has,) = (ready[one] for one in select.select(list(ready), [], [], 20)[0][:1])
    other = second if has is first else first
    assert has.stdout.readline() == "begun\n"
    assert other.stderr.readline() == (
        f"images: another workflow ({pwd.getpwuid(os.geteuid()).pw_name}, process {has.pid}) "
        f"is changing images in {tmp_path}. Waiting for it.\n"
    )
    assert has.communicate("", 10)[1] == "" and has.returncode == 0
    assert other.communicate("", 10) == ("begun\n", "") and other.returncode == 0


def test_a_store_that_a_killed_build_had_is_free(tmp_path):
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    killed = subprocess.Popen([sys.executable, "-c", UNPACKS, str(tmp_path)], **streams)
    assert killed.stdout.readline() == "begun\n"
    killed.kill()
    killed.communicate()
    (tmp_path / "image").rmdir()
    done = subprocess.run([sys.executable, "-c", UNPACKS, str(tmp_path)], input="", capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("begun\n", "")

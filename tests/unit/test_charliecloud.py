"""Charliecloud's second tree of an image's files, and the command that starts a program in it."""

import shutil
from pathlib import Path

import pytest
from plimsoll import runtimes
from plimsoll.errors import Unavailable
from plimsoll.runtimes.base import Spec

CHARLIECLOUD = runtimes.find("charliecloud")
PROGRAM = "usr/bin/program"


@pytest.fixture
def image(tmp_path, monkeypatch) -> dict:
    """An image with a program and an empty folder, and no file of users."""
    store = tmp_path / "images"
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(store))
    rootfs = store / "x-0123456789abcdef/rootfs"
    (rootfs / "usr/bin").mkdir(parents=True)
    (rootfs / "mnt").mkdir()
    (rootfs / PROGRAM).write_text("first")
    return {"tag": "plimsoll/x:0", "rootfs": str(rootfs), "files": {PROGRAM: {"sha256": ""}}}


def tree(image: dict) -> Path:
    return Path(image["rootfs"]).with_name("charliecloud") / "rootfs"


def below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_nodes_get_a_folder_each_in_a_tree_of_links_and_leave_the_image_as_it_was(image):
    before = below(Path(image["rootfs"]))
    specs = [
        Spec("r", f"plimsoll-r-c{number}", image, Path(folder)) for number, folder in enumerate(("/work/a:b, c", "/mnt/d"))
    ]
    nodes = CHARLIECLOUD.start(specs)
    assert all((tree(image) / str(spec.folder).lstrip("/")).is_dir() for spec in specs)
    assert (tree(image) / PROGRAM).samefile(Path(image["rootfs"], PROGRAM))
    assert CHARLIECLOUD.left() == ["plimsoll-r-c0", "plimsoll-r-c1"]
    CHARLIECLOUD.stop(nodes)
    # What ch-run covers stays, and the image's own empty folder does.
    assert below(tree(image)) - before == {"dev", "proc", "sys", "tmp", "etc", "etc/passwd", "etc/group"}
    assert below(Path(image["rootfs"])) == before <= below(tree(image)) and CHARLIECLOUD.left() == []


def test_a_killed_run_s_folder_goes_and_the_tree_stays(image):
    CHARLIECLOUD.start([Spec("r", "plimsoll-r-c0", image, Path("/work/a"))])
    (other,) = CHARLIECLOUD.start([Spec("s", "plimsoll-s-c0", image, Path("/work/b"))])
    CHARLIECLOUD.stop([other])
    assert CHARLIECLOUD.left() == ["plimsoll-r-c0"] and (tree(image) / "work/a").is_dir()
    CHARLIECLOUD.sweep()
    assert CHARLIECLOUD.left() == [] and not (tree(image) / "work").exists() and (tree(image) / PROGRAM).exists()
    assert len(CHARLIECLOUD.forget()) == 1 and not tree(image).parent.exists() and CHARLIECLOUD.forget() == []


def test_an_image_that_was_made_again_gets_another_tree(image):
    spec = Spec("r", "plimsoll-r-c0", image, Path("/work/a"))
    CHARLIECLOUD.stop(CHARLIECLOUD.start([spec]))
    made = Path(image["rootfs"], PROGRAM)
    shutil.copy(made, made.with_name("new"))
    made.with_name("new").replace(made)
    made.write_text("second")
    CHARLIECLOUD.stop(CHARLIECLOUD.start([spec]))
    assert (tree(image) / PROGRAM).read_text() == "second"


def test_files_that_cannot_be_linked_are_said_and_leave_nothing(image):
    shutil.rmtree(image["rootfs"])
    with pytest.raises(Unavailable, match="could not be prepared for ch-run"):
        CHARLIECLOUD.start([Spec("r", "plimsoll-r-c0", image, Path("/work/a"))])
    assert not tree(image).parent.exists()


def test_a_program_starts_in_its_folder_whatever_that_is_called(image):
    spec = Spec("r", "plimsoll-r-c0", image, Path("/work/a:b, c"))
    (node,) = CHARLIECLOUD.start([spec])
    words = node.enter(["/bin/rank", "two words"], Path("/work/a:b, c/d"), without=["OPAL_PREFIX"])
    assert words[:3] == ["env", "-u", "OPAL_PREFIX"] and words[-2:] == ["/bin/rank", "two words"]
    # ch-run splits this option at its first colon.
    assert "--bind=/proc/self/cwd:/work/a:b, c" in words and "--chdir=/work/a:b, c" in words
    assert "--cd=/work/a:b, c/d" in words and words[words.index("--") - 1] == str(tree(image))
    assert node.two_copies and not node.separate


def test_without_its_program_the_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="charliecloud-runtime"):
        CHARLIECLOUD.check()

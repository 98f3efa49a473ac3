"""Images in one file: written, imported, and refused if damaged or foreign."""

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest
from plimsoll import paths
from plimsoll.errors import PlimsollError
from plimsoll.features.image_file import portable
from plimsoll.images import builder, contents, store

NAME, BASE = "hpcc", "bootstrap"


@pytest.fixture
def image(tmp_path, monkeypatch) -> dict:
    """Return an image in a store of its own, with files that need no building."""
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path / "store"))
    monkeypatch.setattr(contents, "files", lambda rootfs, programs: {"bin/a": {"build_id": (rootfs / "bin/a").read_text()}})
    tag = f"plimsoll/{NAME}:{builder.identity(NAME, BASE)}"
    folder = store.folder_of({"tag": tag})
    (folder / "rootfs/bin").mkdir(parents=True)
    (folder / "rootfs/bin/a").write_text("program")
    (folder / "rootfs/bin/b").symlink_to("a")
    (folder / "image.sif").write_bytes(b"sif" * 1000)
    (folder / "image.tar").write_bytes(b"docker" * 1000)
    description = {
        "tag": tag,
        "id": f"sha256:{'1' * 64}",
        "sif": str(folder / "image.sif"),
        "rootfs": str(folder / "rootfs"),
        "files": {"bin/a": {"build_id": "program"}},
        "versions": {},
    }
    (folder / store.DESCRIPTION).write_text(json.dumps(description))
    return description


@pytest.fixture
def file(image, tmp_path, monkeypatch) -> Path:
    """Return a file with the image. The store is empty afterwards."""
    target = tmp_path / "images.tar.gz"
    portable.write([(NAME, image)], target, lambda text: None)
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path / "another"))
    # Images of root on this machine are ignored.
    monkeypatch.setattr(paths, "SYSTEM_IMAGE_STORE", tmp_path / "root")
    return target


def test_what_was_written_is_taken_with_the_paths_of_here(file, image, tmp_path):
    assert portable.take(file, BASE) == {image["tag"]: []}
    folder = store.folder_of(image)
    assert folder.parent == tmp_path / "another" == paths.image_store()
    taken = json.loads((folder / store.DESCRIPTION).read_text())
    assert taken == {**image, "sif": str(folder / "image.sif"), "rootfs": str(folder / "rootfs")}
    assert (folder / "image.sif").read_bytes() == b"sif" * 1000 and (folder / "rootfs/bin/b").readlink() == Path("a")
    assert sorted(path.name for path in folder.iterdir()) == ["image.json", "image.sif", "image.tar", "rootfs"]
    # Nothing else is left beside the image, and nothing is imported twice.
    assert {path.name for path in paths.image_store().iterdir()} == {folder.name, store.LOCK}
    assert portable.take(file, BASE) == {}


def test_what_is_taken_is_compared_with_what_root_has_and_with_what_it_replaces(file, image, tmp_path):
    own = store.folder_of(image)
    for folder, identifier in ((tmp_path / "root" / own.name, "program"), (own, "another")):
        folder.mkdir(parents=True)
        other = {**image, "id": f"sha256:{'2' * 64}", "files": {"bin/a": {"build_id": identifier}}}
        (folder / store.DESCRIPTION).write_text(json.dumps(other))
    assert portable.take(file, BASE) == {
        image["tag"]: [
            f"{image['tag']} has other build identifiers than the image of {own}: bin/a",
            f"{image['tag']} has the same build identifiers as the image of {tmp_path}/root/{own.name}, in all 1 files",
        ]
    }


def members(file: Path) -> list[tuple[str, bytes]]:
    with tarfile.open(file) as archive:
        return [(member.name, archive.extractfile(member).read()) for member in archive]


def rewritten(file: Path, contents: list[tuple[str, bytes]]) -> None:
    with tarfile.open(file, "w:gz") as archive:
        for name, content in contents:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def manifest_with(**changes):
    def change(found):
        manifest = json.loads(found[0][1])
        manifest["images"][0].update(changes)
        return [(found[0][0], json.dumps(manifest).encode()), *found[1:]]

    return change


def with_content(name: str, content: bytes):
    return lambda found: [(path, content if path.endswith(name) else own) for path, own in found]


OTHER = f"plimsoll/hpcc:{'0' * 16}"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda found: found[1:], "is not a file that `./plimsoll image` made"),
        (lambda found: found[:-1], "in its place"),
        (lambda found: [*found, ("../../evil", b"x")], "holds more than it lists"),
        (lambda found: [found[0], ("/etc/passwd", found[1][1]), *found[2:]], "in its place"),
        (with_content("image.sif", b"tis" * 1000), "image.sif differs from what was written"),
        (with_content("images.json", b"{"), "its list of images is not JSON"),
        (with_content("images.json", b'{"format": 2}'), "has the format 2, and this version reads 1"),
        (with_content("images.json", b'{"format": 1}'), "'images' is a required property"),
        (manifest_with(tag=OTHER), "make the file with the same version"),
        (manifest_with(name="unknown"), "which this version of the project does not know"),
        (manifest_with(id=f"sha256:{'2' * 64}"), "its description of .* differs from its content"),
        (manifest_with(files={"../../evil": {"sha256": "0" * 64, "bytes": 1}}), "does not match"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_and_leaves_nothing(file, change, sentence):
    rewritten(file, change(members(file)))
    with pytest.raises(PlimsollError, match=sentence) as refused:
        portable.take(file, BASE)
    assert str(file) in str(refused.value) and "\n" not in str(refused.value)
    assert {path.name for path in paths.image_store().glob("*")} <= {store.LOCK}


@pytest.mark.parametrize("length", [0, 10, 400, -200])
def test_a_file_that_was_cut_off_is_refused(file, length):
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(PlimsollError, match="damaged|cannot be read"):
        portable.take(file, BASE)
    assert {path.name for path in paths.image_store().glob("*")} <= {store.LOCK}


def test_what_is_no_archive_is_refused(tmp_path):
    for content in (b"text", gzip.compress(b"text")):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(PlimsollError, match="not a file of images"):
            portable.take(tmp_path / "x", BASE)
    with pytest.raises(PlimsollError, match="x/y cannot be read"):
        portable.take(tmp_path / "x/y", BASE)


def test_two_hosts_with_one_store_take_the_same_image(file, image, tmp_path):
    """The second host finds what the first has put there in the meantime, and leaves it in place."""
    assert portable.take(file, BASE) == {image["tag"]: []}
    folder = store.folder_of(image)
    kept, new = folder.stat().st_ino, tmp_path / "new"
    new.mkdir()
    portable._put(new, folder, image)
    assert folder.stat().st_ino == kept and (folder / "image.sif").exists()
    # An image with another digest is replaced.
    (new / "other").touch()
    portable._put(new, folder, {**image, "id": f"sha256:{'2' * 64}"})
    assert [path.name for path in folder.iterdir()] == ["other"]

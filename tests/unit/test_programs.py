"""Archives that the user supplies: checked, unpacked, or refused in one sentence."""

import hashlib
import tarfile

import pytest
from plimsoll.errors import PlimsollError
from plimsoll.images import supplied


@pytest.fixture
def archive(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path / "store"))
    folder = tmp_path / "y-cruncher v0.7.5"
    folder.mkdir()
    (folder / "y-cruncher").write_text("#!/bin/sh\n")
    path = tmp_path / "y.tar.xz"
    with tarfile.open(path, "w:xz") as tar:
        tar.add(folder, folder.name)
    return path


def given(path, checksum=None):
    return {"y_cruncher": {"archive": str(path), "sha256": checksum or hashlib.sha256(path.read_bytes()).hexdigest()}}


def test_an_archive_is_unpacked_once_without_its_top_folder(archive):
    programs = given(archive)
    supplied.prepare(programs)
    target = supplied.folder(programs["y_cruncher"]["sha256"])
    assert (target / "y-cruncher").is_file()
    archive.unlink()
    supplied.prepare(programs)


def test_what_is_not_what_it_should_be_is_refused(archive, tmp_path):
    with pytest.raises(PlimsollError, match="has the checksum"):
        supplied.prepare(given(archive, "0" * 64))
    with pytest.raises(PlimsollError, match="cannot be read"):
        supplied.prepare(given(tmp_path / "none", "0" * 64))
    text = tmp_path / "y.tar.gz"
    text.write_text("no archive")
    with pytest.raises(PlimsollError, match="cannot be unpacked"):
        supplied.prepare(given(text))

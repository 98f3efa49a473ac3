"""Readers of archives that others may have made. Each member is changed, and the manifest has the checksum of the
changed member. So nothing is refused because of a checksum alone."""

import functools
import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Callable

from plimsoll.errors import PlimsollError
from plimsoll.features.archive import archive_members, layout, packing, reading

from tests import made_up
from tests.conftest import built, host_of
from tests.fuzz.documents import OF_JSON, OF_YAML
from tests.fuzz.mutations import OF_TEXT
from tests.fuzz.reader import Reader
from tests.fuzz.scratch import folder, put

STUDY = "plimsoll2026"
REFUSALS = (PlimsollError,)


@functools.cache
def _members() -> dict[str, bytes]:
    """Return the members of an archive of a study whose measurements are made up."""
    place = folder() / "archived"
    study = built(STUDY)
    made_up.write(place / "results" / STUDY, study, made_up.plan_of(study, host_of(1, 2, memory=24 * 2**30)))
    packing.pack(
        archive_members.measured_sessions({STUDY: study}, place / "results"),
        place / "results",
        place / "whole.zip",
        drawn=False,
    )
    with zipfile.ZipFile(place / "whole.zip") as file:
        return {name: file.read(name) for name in file.namelist()}


def _zipped(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return packed.getvalue()


def _stated(members: dict[str, bytes]) -> dict[str, bytes]:
    """Return the members with a manifest that has their checksums."""
    manifest = json.loads(members[layout.MANIFEST])
    for name, said in manifest["members"].items():
        said.update(bytes=len(members[name]), sha256=hashlib.sha256(members[name]).hexdigest())
    return {**members, layout.MANIFEST: json.dumps(manifest).encode()}


def _unpacked(data: bytes) -> list[str]:
    """Check and unpack an archive, and return the unpacked paths. Check that nothing is written elsewhere."""
    place = folder() / "unpacked"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    outside = {path for path in folder().iterdir() if path != place}
    with reading.open_archive(put("archive.zip", data)) as archive:
        reading.unpack_whole(archive, place)
    assert {path for path in folder().iterdir() if path != place} <= outside | {folder() / "archive.zip"}
    return [str(path.relative_to(place)) for path in place.rglob("*")]


def _instead(name: str) -> Callable[[bytes], object]:
    """Return a function that reads an archive with other content of a member, and with the checksum of that content."""
    return lambda data: _unpacked(_zipped(_stated({**_members(), name: data})))


def _manifest(data: bytes) -> object:
    return _unpacked(_zipped({**_members(), layout.MANIFEST: data}))


def _of(name: str, mutations: tuple) -> Reader:
    read = _manifest if name == layout.MANIFEST else _instead(name)
    return Reader(f"archive with another {name}", (_members()[name],), read, REFUSALS, mutations, share=300, seconds=20)


OF_DOCUMENTS = (*OF_TEXT, *OF_JSON)
READERS = (
    Reader("archive", (_zipped(_members()),), _unpacked, REFUSALS, OF_TEXT, share=300, seconds=20),
    *(
        _of(name, OF_DOCUMENTS)
        for name in (layout.MANIFEST, f"results/{STUDY}/plan.json", layout.records_of(f"results/{STUDY}"))
    ),
    _of(f"config/studies/{STUDY}.yaml", (*OF_TEXT, *OF_YAML)),
)

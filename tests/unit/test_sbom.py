"""Bill of materials of an image, for made-up images in the format of `docker save`."""

import hashlib
import io
import json
import re
import tarfile

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from plimsoll.errors import PlimsollError
from plimsoll.features.bills import image_layers, sbom
from plimsoll.images import contents, jars

from tests.conftest import PROJECT

STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Source: glibc
Version: 2.36-9+deb12u13
Description: the library
 Version: of a line that goes on

Package: libgcc-s1
Status: install ok installed
Architecture: amd64
Source: gcc-12 (12.2.0-14+deb12u1)
Version: 12.2.0-14+deb12u1

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1
"""
DEBIAN = {
    "usr/lib/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\n',
    "etc/debian_version": "12.15\n",
    "var/lib/dpkg/status": "an older list\n",
    "opt/plimsoll/bin/old": "old",
    "opt/plimsoll/lib/gone": "gone",
}
OURS = {
    "var/lib/dpkg/status": STATUS,
    "opt/plimsoll/versions.txt": "HPCC: 1.5.0, patched\ncompiler: gcc 12\n",
    "opt/plimsoll/bin/hpcc": "a program",
    "opt/plimsoll/bin/.wh.old": "",
    "opt/plimsoll/lib/.wh..wh..opq": "",
}


def packed(files: dict[str, str | bytes], zipped: str = "") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=f"w:{zipped}") as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return made.getvalue()


class Made:
    """A file of saved images, with their descriptions."""

    def __init__(self, folder, index=()):
        self.path, self.members, self.listed, self.index = folder / "image.tar", {}, [], list(index)

    def add(self, tag: str, *layers: dict, prefix: str = "", zipped: str = "") -> dict:
        config = json.dumps({"created": "2026-11-26T02:21:53.444812053Z", "tag": tag}).encode()
        digest = hashlib.sha256(config).hexdigest()
        names = [f"{digest}-{number}/layer.tar" for number in range(len(layers))]
        contents = {name: packed(files, zipped) for name, files in zip(names, layers, strict=True)}
        self.members |= {f"{digest}.json": config, **contents}
        self.listed.append({"Config": f"{digest}.json", "RepoTags": [prefix + tag], "Layers": names})
        written = {**self.members, "manifest.json": json.dumps(self.listed)}
        if self.index:
            written["index.json"] = json.dumps({"manifests": [{"digest": one} for one in self.index]})
        self.path.write_bytes(packed(written))
        return {"tag": tag, "id": f"sha256:{digest}"}

    def bill(self, *images: dict) -> dict:
        with image_layers.open_images(self.path, list(images)) as (whole, *stages):
            text = sbom.bill(whole, stages)
        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
        return json.loads(text)


@pytest.fixture
def made(tmp_path):
    return Made(tmp_path)


def by_name(bill: dict) -> dict[str, dict]:
    return {component["name"]: component for component in bill["components"]}


def test_what_dpkg_has_installed_is_in_it_with_its_source(made):
    found = by_name(made.bill(made.add("plimsoll/hpcc:1", DEBIAN, OURS)))
    assert found["libc6"]["purl"] == "pkg:deb/debian/libc6@2.36-9%2Bdeb12u13?arch=amd64&distro=debian-12&upstream=glibc"
    of_gcc = PackageURL.from_string(found["libgcc-s1"]["purl"]).qualifiers
    assert of_gcc["upstream"] == "gcc-12@12.2.0-14+deb12u1"
    assert "gone" not in found
    system = found["debian"]
    assert (system["type"], system["version"]) == ("operating-system", "12.15")


def test_the_image_is_what_is_described_by_its_digest_and_at_its_time(made):
    image = made.add("plimsoll/hpcc:1", DEBIAN, OURS)
    told = made.bill(image)["metadata"]
    described = told["component"]
    assert described["hashes"] == [{"alg": "SHA-256", "content": image["id"].removeprefix("sha256:")}]
    assert (described["name"], described["version"], described["type"]) == ("plimsoll/hpcc", "1", "container")
    assert {"name": "plimsoll:noted:compiler", "value": "gcc 12"} in described["properties"]
    assert told["timestamp"].startswith("2026-11-26T02:21:53")


def test_the_same_image_gives_the_same_bits(made, tmp_path):
    image = made.add("plimsoll/hpcc:1", DEBIAN, OURS)
    first, again = made.bill(image), made.bill(image)
    assert json.dumps(first) == json.dumps(again) and first["serialNumber"].startswith("urn:uuid:")


def test_a_program_of_a_fetched_source_names_the_source_and_its_own_checksum(made):
    found = by_name(made.bill(made.add("plimsoll/hpcc:1", DEBIAN, OURS)))
    program = found["/opt/plimsoll/bin/hpcc"]
    assert program["hashes"][0]["content"] == hashlib.sha256(b"a program").hexdigest()
    source = found["HPC Challenge"]
    assert source["evidence"]["occurrences"][0]["location"] == "/opt/plimsoll/bin/hpcc"
    (place,) = source["externalReferences"]
    assert place["hashes"][0]["content"] == sbom.built_programs("hpcc")["HPC Challenge"]["sha256"] and place["url"].endswith(
        ".tar.gz"
    )
    assert "patch" in source["pedigree"]["notes"]
    # Files that an upper layer removes are not listed.
    assert not {"/opt/plimsoll/bin/old", "/opt/plimsoll/lib/gone", "/opt/plimsoll/versions.txt"} & found.keys()


def test_what_was_built_for_the_image_below_is_in_it_as_far_as_its_files_are(made):
    netperf = {"var/lib/dpkg/status": STATUS, "opt/plimsoll/bin/netperf": "n"}
    found = by_name(made.bill(made.add("plimsoll/nesting:1", DEBIAN, netperf)))
    assert "Netperf" in found and "Bonnie++" not in found


def test_jars_are_known_by_their_checksums(made, monkeypatch):
    content = b"a jar"
    path = "io/netty/netty-dns/4.1/netty-dns-4.1-osx.jar"
    monkeypatch.setattr(jars, "read_lock", lambda lock: {path: hashlib.sha256(content).hexdigest()})
    files = {"var/lib/dpkg/status": STATUS, "opt/hadoop/lib/any-name.jar": content, "opt/plimsoll/bin/prices.jar": "ours"}
    found = by_name(made.bill(made.add("plimsoll/hadoop:1", DEBIAN, files)))
    assert found["netty-dns"]["purl"] == "pkg:maven/io.netty/netty-dns@4.1?classifier=osx"
    assert found["netty-dns"]["externalReferences"][0]["url"].endswith(path)
    assert "/opt/plimsoll/bin/prices.jar" in found and "/opt/hadoop/lib/any-name.jar" not in found


def test_a_library_that_was_unpacked_from_a_jar_names_it_and_another_one_at_its_place_does_not(made, monkeypatch):
    jar = "org/bytedeco/openblas/0.3-1.5/openblas-0.3-1.5-linux-x86_64.jar"
    path = "opt/plimsoll/lib/libopenblas.so.0"
    files = {path: hashlib.sha256(b"a library").hexdigest()}
    stated = {"OpenBLAS": {"version": "0.3", "jars": "org/bytedeco/openblas/0.3-1.5/", "files": files}}
    monkeypatch.setattr(jars, "read_lock", lambda lock: {jar: "1" * 64})
    monkeypatch.setattr(contents, "declaration", lambda name: {**contents.NOTHING, "unpacked": stated})
    found = by_name(made.bill(made.add("plimsoll/hpcc:1", DEBIAN, {**OURS, path: "a library"})))
    assert found["OpenBLAS"]["purl"] == "pkg:maven/org.bytedeco/openblas@0.3-1.5"
    (place,) = found["OpenBLAS"]["externalReferences"]
    assert place["url"].endswith(jar) and place["hashes"][0]["content"] == "1" * 64
    # On another architecture the library is Debian's.
    assert "OpenBLAS" not in by_name(made.bill(made.add("plimsoll/hpcc:2", DEBIAN, {**OURS, path: "another"})))


def test_what_is_unpacked_has_a_jar_in_the_list():
    for name in ("hpcc", "microservices"):
        (given,) = contents.declaration(name)["unpacked"].values()
        assert any(path.startswith(given["jars"]) for path in jars.read_lock(PROJECT / f"containers/{name}/jars.lock"))


def test_stages_are_told_apart_by_what_they_depend_on(made):
    image = made.add("plimsoll/nesting:1", DEBIAN, {"var/lib/dpkg/status": STATUS})
    more = f"{STATUS}\nPackage: docker.io\nStatus: install ok installed\nArchitecture: amd64\nVersion: 20.10\n"
    stage = made.add("plimsoll/parent:1", DEBIAN, {"var/lib/dpkg/status": more})
    bill = made.bill(image, stage)
    holds = {one["ref"]: " ".join(one.get("dependsOn", [])) for one in bill["dependencies"]}
    of_image, of_stage = (next(holds[ref] for ref in holds if one["id"] in ref) for one in (image, stage))
    assert "deb/debian/docker.io@" in of_stage and "deb/debian/docker.io@" not in of_image
    assert len([one for one in bill["components"] if one["name"] == "libc6"]) == 1


def test_layers_may_be_compressed_and_tags_have_a_registry_as_podman_writes_them(made):
    image = made.add("plimsoll/hpcc:1", DEBIAN, OURS, prefix="localhost/", zipped="gz")
    assert "libc6" in by_name(made.bill(image))


def test_an_engine_may_call_an_image_by_the_digest_of_its_manifest(tmp_path):
    manifest = f"sha256:{'1' * 64}"
    made = Made(tmp_path, index=[manifest])
    image = {**made.add("plimsoll/hpcc:1", DEBIAN, OURS), "id": manifest}
    assert made.bill(image)["metadata"]["component"]["hashes"][0]["content"] == "1" * 64


def test_another_image_or_a_damaged_file_is_refused(made):
    image = made.add("plimsoll/hpcc:1", DEBIAN, OURS)
    for wrong in ({**image, "id": f"sha256:{'0' * 64}"}, {**image, "tag": "plimsoll/hpcc:2"}):
        with pytest.raises(PlimsollError, match="does not have the image plimsoll/hpcc"):
            made.bill(wrong)
    none = made.add("plimsoll/overhead:1", {"opt/plimsoll/bin/x": "x"})
    with pytest.raises(PlimsollError, match="not an image of Debian"):
        made.bill(none)
    whole = made.path.read_bytes()
    for part in (b"", b"no tar", whole[:700], whole[: len(whole) // 2]):
        made.path.write_bytes(part)
        with pytest.raises(PlimsollError, match="image.tar is damaged"):
            made.bill(image)
    made.path.unlink()
    with pytest.raises(PlimsollError, match="image.tar is damaged, or not there"):
        made.bill(image)


def test_every_source_that_a_recipe_fetches_is_stated():
    for recipe in PROJECT.glob("containers/*/Dockerfile"):
        pinned = re.findall(r"^ARG (\w+_SHA256)=[0-9a-f]{64}$", recipe.read_text(), re.MULTILINE)
        stated = contents.declaration(recipe.parent.name)["built"]
        assert sorted(pinned) == sorted(given["checksum"] for given in stated.values()), recipe
        # The recipe checks its downloads against these checksums.
        assert all(f"${{{name}}}" in recipe.read_text() and "sha256sum --check" in recipe.read_text() for name in pinned)

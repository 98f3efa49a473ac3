"""What Debian's security archive has fixed since an image was made, and the addresses of Debian's archives."""

import gzip
import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from plimsoll import cli
from plimsoll.errors import DamagedFile, Unavailable
from plimsoll.features.bills import fixes
from plimsoll.images import debian

CHANGES = """openssl (3.0.22-1~deb12u2) bookworm-security; urgency=high

  * CVE-2026-77696 and CVE-2026-8478

 -- A

openssl (3.0.22-1~deb12u1) bookworm-security; urgency=medium

  * CVE-2026-42767, again CVE-2026-77696

 -- B

openssl (3.0.20-1~deb12u2) bookworm-security; urgency=medium

  * CVE-2026-7383
"""
TARGETS = """Debian main bookworm http://mirror/debian/
Debian main bookworm-updates http://mirror/debian/
Debian contrib bookworm http://other/debian/
Debian main bookworm-security http://mirror/security/
Node main nodistro http://node/
"""


def component(name: str, version: str, source: str = "") -> dict:
    upstream = f"&upstream={source}" if source else ""
    return {"type": "library", "name": name, "purl": f"pkg:deb/debian/{name}@{version}?arch=amd64{upstream}"}


@pytest.fixture
def bill(tmp_path):
    """Return a function that writes a bill of materials of packages and returns its path."""

    def write(*components: dict) -> Path:
        system = {"type": "operating-system", "name": "debian", "description": "Debian GNU/Linux 12 (bookworm)"}
        path = tmp_path / "hpcc.sbom.json"
        path.write_text(json.dumps({"components": [system, *components, {"type": "file", "name": "x"}]}))
        return path

    return write


class Archive:
    date = "Tue, 24 Nov 2026"
    packages = {
        "libssl3": {"Version": "3.0.22-1~deb12u2", "Size": "2000"},
        "openssl": {"Version": "3.0.22-1~deb12u2", "Size": "1000"},
        "tzdata": {"Version": "2026b-0", "Size": "1"},
    }
    asked: list[list[str]] = []

    def changelog(self, names):
        self.asked.append(list(names))
        return CHANGES


def test_fixes_are_told_by_source_with_what_the_changes_name(bill):
    openssl = component("openssl", "3.0.20-1~deb12u2"), component("libssl3", "3.0.20-1~deb12u2", "openssl")
    listed = fixes.debian_packages(bill(*openssl, component("tzdata", "2026b-0"), component("zlib1g", "1", "zlib")))
    assert listed.release == "bookworm"
    (fix,) = fixes.lacking(listed, Archive())
    assert fix == ("openssl", "3.0.20-1~deb12u2", "3.0.22-1~deb12u2", ["CVE-2026-8478", "CVE-2026-42767", "CVE-2026-77696"])
    # The smallest package comes first.
    assert Archive.asked[-1] == ["openssl", "libssl3"]
    whole, line = fixes.sentences("hpcc", listed, [fix], "Tue, 24 Nov 2026")
    assert whole.startswith("hpcc: 1 of 3 Debian sources lack fixes of the security archive of Tue, 24 Nov 2026, which name 3 ")
    assert line.endswith("fixed in 3.0.22-1~deb12u2: CVE-2026-8478, CVE-2026-42767, CVE-2026-77696")


def test_of_two_images_with_two_versions_the_older_one_counts(bill):
    listed = fixes.debian_packages(bill(component("openssl", "3.0.20-1~deb12u2"), component("openssl", "3.0.22-1~deb12u1")))
    assert [fix.there for fix in fixes.lacking(listed, Archive())] == ["3.0.20-1~deb12u2"]


def test_a_long_list_is_cut_and_an_empty_one_says_so():
    many = fixes.Fix("linux", "1", "2", [f"CVE-2026-{number}" for number in range(1000, 1100)])
    none = fixes.Fix("apt", "1", "2", [])
    _, first, second = fixes.sentences("x", fixes.DebianPackages("bookworm", []), [many, none], "today")
    assert first.endswith("CVE-2026-1011 and 88 others") and second.endswith("no vulnerability is named")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"components": [1]}', '{"components": []}'])
def test_a_damaged_bill_is_named(tmp_path, content):
    (tmp_path / "hpcc.sbom.json").write_text(content)
    with pytest.raises(DamagedFile, match="hpcc.sbom.json is damaged. Delete it"):
        fixes.debian_packages(tmp_path / "hpcc.sbom.json")


def test_nothing_that_is_listed_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["vulnerabilities", "--directory", str(tmp_path)]) == 2
    assert "No image has a list of its packages here yet. Type: .venv/bin/snakemake " in capsys.readouterr().err


def test_mirrors_are_the_machine_s_own(monkeypatch):
    monkeypatch.setattr(debian, "output", lambda *words: TARGETS)
    assert debian.mirrors() == {"main": "http://mirror/debian/", "security": "http://mirror/security/"}

    def no_apt(*words):
        raise Unavailable("apt-get is not installed")

    monkeypatch.setattr(debian, "output", no_apt)
    assert debian.mirrors() == {}


def test_changes_are_read_from_the_first_package_that_has_them(tmp_path, monkeypatch):
    """The documentation of one package may be a link to that of another."""
    archive = debian.SecurityArchive.__new__(debian.SecurityArchive)
    archive.folder, archive.source = tmp_path, "http://security/"
    archive.packages, files = {}, {}
    for name, has in (("perl-base", False), ("perl", True)):
        tree = tmp_path / name
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: A <a@b>\nDescription: d\n"
        )
        documents = tree / f"usr/share/doc/{name}"
        documents.parent.mkdir(parents=True)
        if has:
            documents.mkdir()
            (documents / "changelog.Debian.gz").write_bytes(gzip.compress(CHANGES.encode()))
        else:
            documents.symlink_to("perl")
        package = tmp_path / f"{name}.deb"
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", str(tree), str(package)], check=True, capture_output=True)
        archive.packages[name] = {"Filename": f"pool/{name}.deb", "SHA256": hashlib.sha256(package.read_bytes()).hexdigest()}
        files[f"http://security/pool/{name}.deb"] = package.read_bytes()

    def helper(program, what, address, target, checksum):
        assert (program, what) == ("/usr/lib/apt/apt-helper", "download-file")
        assert checksum == f"SHA256:{hashlib.sha256(files[address]).hexdigest()}"
        Path(target).write_bytes(files[address])

    monkeypatch.setattr(archive, "_apt", helper)
    assert archive.changelog(["perl-base", "perl"]) == CHANGES
    assert archive.changelog(["perl-base"]) == ""

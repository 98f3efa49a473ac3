"""Debian's archives: where this machine's APT finds them, and what the security archive holds."""

import gzip
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.images import contents
from plimsoll.runtimes.commands import output

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
SECURITY = "http://deb.debian.org/debian-security"
TARGETS = "$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)"
# Time limit for fetching a package list or a package (s).
SECONDS = 300


def mirrors() -> dict[str, str]:
    """Return the addresses that this machine's APT uses for Debian's archives, by kind (`main`, `security`).

    A kind that APT does not know is left out. The result is empty if this machine does not run Debian.
    """
    try:
        rows = [line.split() for line in output(["apt-get", "indextargets", "--format", TARGETS]).splitlines()]
    except Unavailable:
        return {}
    found: dict[str, str] = {}
    for row in rows:
        if row[:2] == ["Debian", "main"] and len(row) == 4:
            kind = "security" if row[2].endswith("-security") else "main"
            found.setdefault(kind, row[3])
    return found


def newer(version: str, than: str) -> bool:
    """Whether a package version is newer than another one, by dpkg's order."""
    return subprocess.run(["dpkg", "--compare-versions", version, "gt", than]).returncode == 0


class SecurityArchive:
    """The security archive of a Debian release, read with package lists that are separate from the machine's own.

    `date` is the archive's date; `packages` has the fields of each package by its name.
    """

    def __init__(self, release: str, folder: Path):
        self.folder = folder
        for place in ("lists/partial", "cache/archives/partial", "empty"):
            (folder / place).mkdir(parents=True)
        self.source = mirrors().get("security", SECURITY)
        (folder / "sources.list").write_text(f"deb [signed-by={KEYS}] {self.source} {release}-security main\n")
        self._apt("apt-get", "update")
        (signed,) = (folder / "lists").glob("*_InRelease")
        self.date = next(line.partition(": ")[2] for line in signed.read_text().splitlines() if line.startswith("Date: "))
        told = contents.paragraphs(self._apt("apt-cache", "dumpavail"))
        self.packages = {fields["Package"]: fields for fields in told if "Package" in fields}

    def _apt(self, program: str, *words: str) -> str:
        places = {
            "Dir::Etc::SourceList": "sources.list",
            "Dir::Etc::SourceParts": "empty",
            "Dir::State::Lists": "lists",
            "Dir::State::Status": "/dev/null",
            "Dir::Cache": "cache",
        }
        options = [f"{key}={self.folder / place}" for key, place in places.items()]
        options += ["APT::Sandbox::User=root", "Acquire::Retries=3"]
        return output([program, "-qq", *(word for option in options for word in ("-o", option)), *words], SECONDS)

    def changelog(self, names: Iterable[str]) -> str:
        """Return Debian's changelog of a source, newest entry first. It comes from the first of the named packages that
        has one; empty if none has.

        The packages are fetched and checked against the checksums in the list.
        """
        for name in names:
            known = self.packages[name]
            with tempfile.TemporaryDirectory(dir=self.folder) as place:
                package, files = f"{place}/package.deb", Path(place, "files")
                address = f"{self.source.rstrip('/')}/{known['Filename']}"
                self._apt("/usr/lib/apt/apt-helper", "download-file", address, package, f"SHA256:{known['SHA256']}")
                output(["dpkg-deb", "--extract", package, str(files)], SECONDS)
                found = files / f"usr/share/doc/{name}/changelog.Debian.gz"
                if found.is_file() and found.resolve().is_relative_to(files.resolve()):
                    return gzip.decompress(found.read_bytes()).decode(errors="replace")
        return ""

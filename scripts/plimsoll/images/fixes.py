"""What Debian's security archive has mended since an image was made: the vulnerabilities that are known, named and fixed.

It goes by an image's bill of materials (plimsoll.images.sbom). What has no fix yet, and what is none of Debian's, takes a
scanner with a list of vulnerabilities of its own: docs/security.md.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packageurl import PackageURL

from plimsoll.errors import Damaged
from plimsoll.images import debian

# The first line of each entry of a list of changes.
ENTRY = re.compile(r"^\S+ \((?P<version>[^()\s]+)\) [^;]+;", re.MULTILINE)
NAMED = re.compile(r"CVE-[0-9]{4}-[0-9]{4,}")
# So many are named of a source.
MOST = 12
RELEASE = re.compile(r"\((?P<name>[a-z]+)\)")


class Fix(NamedTuple):
    """A source of Debian of which an image has an older version than the security archive: its name, the image's version of
    one of its packages, the archive's, and the vulnerabilities that the changes between them name."""

    source: str
    there: str
    fixed: str
    named: list[str]


class Listed(NamedTuple):
    """What a bill of materials says of Debian: the `release` by its name, and the packages: (name, version, source)."""

    release: str
    packages: list[tuple[str, str, str]]


def listed(path: Path) -> Listed:
    """Debian's part of a bill of materials; Damaged if it has none."""
    try:
        components = json.loads(path.read_text())["components"]
        (system,) = (one for one in components if one["type"] == "operating-system")
        known = (PackageURL.from_string(one["purl"]) for one in components if one.get("purl", "").startswith("pkg:deb/"))
        packages = [(one.name, one.version or "", one.qualifiers.get("upstream", one.name).partition("@")[0]) for one in known]
        return Listed(RELEASE.search(system["description"])["name"], packages)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise Damaged(f"{path} is damaged: delete it, and let snakemake --cores 1 {path} make it anew.") from problem


def lacking(bill: Listed, archive: debian.SecurityArchive) -> Iterator[Fix]:
    """The fixes of an archive that an image lacks, by their sources' names."""
    older: dict[str, dict[str, str]] = {}
    for name, version, source in bill.packages:
        if name in archive.packages and debian.newer(archive.packages[name]["Version"], version):
            packages = older.setdefault(source, {})
            # A stage that was made on another day may have another version.
            if name not in packages or debian.newer(packages[name], version):
                packages[name] = version
    for source, packages in sorted(older.items()):
        first = min(packages)
        changes = archive.changelog(sorted(packages, key=lambda name: int(archive.packages[name]["Size"])))
        yield Fix(source, packages[first], archive.packages[first]["Version"], between(changes, packages[first]))


def between(changes: str, version: str) -> list[str]:
    """The vulnerabilities that a list of changes names in the entries of versions newer than the given one."""
    entries = list(ENTRY.finditer(changes))
    for entry in entries:
        if not debian.newer(entry["version"], version):
            changes = changes[: entry.start()]
            break
    return sorted(set(NAMED.findall(changes)), key=lambda name: tuple(map(int, name.split("-")[1:])))


def sentences(name: str, bill: Listed, fixes: list[Fix], date: str) -> Iterator[str]:
    """What is said of an image: how many of its sources lack fixes, and a line for each."""
    sources = {source for _, _, source in bill.packages}
    named = {one for fix in fixes for one in fix.named}
    yield (
        f"{name}: {len(fixes)} of {len(sources)} Debian sources lack fixes of the security archive of {date}, "
        f"which name {len(named)} vulnerabilities."
    )
    for fix in fixes:
        more = f" and {len(fix.named) - MOST} others" if len(fix.named) > MOST else ""
        which = ", ".join(fix.named[:MOST]) or "no vulnerability is named"
        yield f"  {fix.source} {fix.there}, fixed in {fix.fixed}: {which}{more}"

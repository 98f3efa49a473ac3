"""Security fixes that Debian has published since an image was built: known vulnerabilities that have a name and a fix.

The packages come from the image's bill of materials (plimsoll.features.bills.sbom). Vulnerabilities without a fix, and software
that is not Debian's, need a scanner with its own vulnerability list: docs/explanation/security.md.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packageurl import PackageURL

from plimsoll.errors import DamagedFile
from plimsoll.images import debian

# First line of each changelog entry.
ENTRY = re.compile(r"^\S+ \((?P<version>[^()\s]+)\) [^;]+;", re.MULTILINE)
NAMED = re.compile(r"CVE-[0-9]{4}-[0-9]{4,}")
# At most this many vulnerabilities are named per source.
MOST = 12
RELEASE = re.compile(r"\((?P<name>[a-z]+)\)")


class Fix(NamedTuple):
    """A Debian source that is older in an image than in the security archive.

    `source` is its name. `there` is the version of one of its packages in the image, and `fixed` that package's version
    in the archive. `named` has the vulnerabilities that the changelog names between these versions.
    """

    source: str
    there: str
    fixed: str
    named: list[str]


class DebianPackages(NamedTuple):
    """Debian's part of a bill of materials: the name of the `release`, and the packages as (name, version, source)."""

    release: str
    packages: list[tuple[str, str, str]]


def debian_packages(path: Path) -> DebianPackages:
    """Return Debian's part of a bill of materials. Raise DamagedFile if the file has none."""
    try:
        components = json.loads(path.read_text())["components"]
        (system,) = (one for one in components if one["type"] == "operating-system")
        known = (PackageURL.from_string(one["purl"]) for one in components if one.get("purl", "").startswith("pkg:deb/"))
        packages = [(one.name, one.version or "", one.qualifiers.get("upstream", one.name).partition("@")[0]) for one in known]
        return DebianPackages(RELEASE.search(system["description"])["name"], packages)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise DamagedFile(f"{path} is damaged. Delete it: .venv/bin/snakemake --cores 1 {path} makes it again.") from problem


def lacking(bill: DebianPackages, archive: debian.SecurityArchive) -> Iterator[Fix]:
    """Yield the fixes that an image lacks compared with an archive, in the order of the sources' names."""
    older: dict[str, dict[str, str]] = {}
    for name, version, source in bill.packages:
        if name in archive.packages and debian.newer(archive.packages[name]["Version"], version):
            packages = older.setdefault(source, {})
            # A stage that was built on another day may have another version; the older one decides.
            if name not in packages or debian.newer(packages[name], version):
                packages[name] = version
    for source, packages in sorted(older.items()):
        first = min(packages)
        changes = archive.changelog(sorted(packages, key=lambda name: int(archive.packages[name]["Size"])))
        yield Fix(source, packages[first], archive.packages[first]["Version"], between(changes, packages[first]))


def between(changes: str, version: str) -> list[str]:
    """Return the vulnerabilities that the entries of a changelog name for versions newer than `version`, sorted."""
    entries = list(ENTRY.finditer(changes))
    for entry in entries:
        if not debian.newer(entry["version"], version):
            changes = changes[: entry.start()]
            break
    return sorted(set(NAMED.findall(changes)), key=lambda name: tuple(map(int, name.split("-")[1:])))


def sentences(name: str, bill: DebianPackages, fixes: list[Fix], date: str) -> Iterator[str]:
    """Yield lines about an image: first how many of its Debian sources lack fixes, then one line per source."""
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

"""`plimsoll vulnerabilities`."""

import tempfile
from pathlib import Path

from plimsoll.cli import options, place
from plimsoll.errors import PlimsollError


def vulnerabilities(directory: options.Directory = None) -> None:
    """List what Debian has fixed in the images since they were built.

    It takes Debian's package lists of the day.

    Examples:
      plimsoll vulnerabilities
    """
    from plimsoll.features.bills import fixes
    from plimsoll.images import debian

    place.enter(directory)
    bills = {
        path.name.partition(".")[0]: fixes.debian_packages(path) for path in sorted(Path("results/images").glob("*.sbom.json"))
    }
    if not bills:
        raise PlimsollError(
            "No image has a list of its packages here yet. Type: .venv/bin/snakemake --cores 1 "
            "results/images/hpcc.sbom.json (the image of liu2020)."
        )
    with tempfile.TemporaryDirectory() as folder:
        archives = {
            release: debian.SecurityArchive(release, Path(folder, release))
            for release in {bill.release for bill in bills.values()}
        }
        for name, bill in bills.items():
            archive = archives[bill.release]
            print(*fixes.sentences(name, bill, list(fixes.lacking(bill, archive)), archive.date), sep="\n")

"""Base images: Debian, built from its packages.

`bootstrap` takes today's packages from the mirror that this machine's APT uses. `bootstrap@20261126T000000Z` takes the
packages of that moment from Debian's snapshot archive.
"""

import os
import re
import shutil

from plimsoll import paths
from plimsoll.errors import Unavailable
from plimsoll.images import client, debian
from plimsoll.runtimes.commands import output

SUITE, MEANT = "bookworm", re.compile(r"bootstrap(?:@(?P<moment>[0-9]{8}T[0-9]{6}Z))?")
# Users can name a mirror of the snapshot archive instead.
SNAPSHOTS = os.environ.get("PLIMSOLL_SNAPSHOTS", "http://snapshot.debian.org/archive").rstrip("/")
# Time limit for fetching, unpacking and packing a base image (s).
SECONDS = 900


def is_meant(base: str) -> bool:
    """Whether a base is built by this module, and does not come from a registry."""
    return bool(MEANT.fullmatch(base))


def tag(base: str) -> str:
    """Return the tag of the image of a base that this module builds."""
    moment = _moment(base)
    return f"plimsoll/base:{SUITE}-{moment}" if moment else f"plimsoll/base:{SUITE}"


def _moment(base: str) -> str | None:
    return MEANT.fullmatch(base)["moment"]


def sources(base: str) -> list[str]:
    """Return the APT sources for mmdebstrap; the image keeps them.

    The list is empty if this machine does not run Debian: mmdebstrap then uses its own default.
    """
    if moment := _moment(base):
        # APT would reject the package lists of that day as too old. mmdebstrap cannot derive the keys of such a line,
        # so it names them.
        options = f"check-valid-until=no signed-by={debian.KEYS}"
        archives = {"debian": SUITE, "debian-security": f"{SUITE}-security"}
        return [f"deb [{options}] {SNAPSHOTS}/{name}/{moment} {suite} main" for name, suite in archives.items()]
    there = debian.mirrors()
    if "main" not in there:
        return []
    return [there["main"], *([f"deb {there['security']} {SUITE}-security main"] if "security" in there else [])]


def make(base: str) -> None:
    """Build the image of a base. Raise Unavailable if that fails."""
    if not shutil.which("mmdebstrap"):
        raise Unavailable("mmdebstrap is not installed (install it, or name an image of a registry as base_image)")
    temporary = paths.image_store() / f".base-{os.getpid()}.tar"
    temporary.parent.mkdir(parents=True, exist_ok=True)
    try:
        options = ["--quiet", "--variant=minbase", "--include=ca-certificates", SUITE]
        output(["mmdebstrap", *options, str(temporary), *sources(base)], SECONDS)
        client.output("import", "--change", 'CMD ["/bin/sh"]', str(temporary), tag(base), seconds=300)
    finally:
        temporary.unlink(missing_ok=True)

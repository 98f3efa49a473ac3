"""The base of images: Debian from its packages. `bootstrap` takes today's, from where this machine's own APT fetches them, and
`bootstrap@20261126T000000Z` those of that moment, from Debian's archive of snapshots."""

import os
import re
import shutil

from plimsoll import paths
from plimsoll.environments.base import output
from plimsoll.errors import Unavailable
from plimsoll.images import client, debian

SUITE, MEANT = "bookworm", re.compile(r"bootstrap(?:@(?P<moment>[0-9]{8}T[0-9]{6}Z))?")
# A mirror of the snapshots can be named instead.
SNAPSHOTS = os.environ.get("PLIMSOLL_SNAPSHOTS", "http://snapshot.debian.org/archive").rstrip("/")
# It is fetched, unpacked and packed within (s).
SECONDS = 900


def is_meant(base: str) -> bool:
    """Whether a base is made here, and is no image of a registry."""
    return bool(MEANT.fullmatch(base))


def tag(base: str) -> str:
    """The image of a base that is made here."""
    moment = _moment(base)
    return f"plimsoll/base:{SUITE}-{moment}" if moment else f"plimsoll/base:{SUITE}"


def _moment(base: str) -> str | None:
    return MEANT.fullmatch(base)["moment"]


def sources(base: str) -> list[str]:
    """What mmdebstrap is told of where packages are, which the image keeps as APT's sources; nothing for its own default, where
    this machine is no Debian."""
    if moment := _moment(base):
        # Lists of that day are too old for APT otherwise. Of a line mmdebstrap does not know whose keys it takes.
        options = f"check-valid-until=no signed-by={debian.KEYS}"
        archives = {"debian": SUITE, "debian-security": f"{SUITE}-security"}
        return [f"deb [{options}] {SNAPSHOTS}/{name}/{moment} {suite} main" for name, suite in archives.items()]
    there = debian.mirrors()
    if "main" not in there:
        return []
    return [there["main"], *([f"deb {there['security']} {SUITE}-security main"] if "security" in there else [])]


def make(base: str) -> None:
    """Make the image of a base. Unavailable if that fails."""
    if not shutil.which("mmdebstrap"):
        raise Unavailable("mmdebstrap is not installed (install it, or name an image of a registry as base_image)")
    temporary = paths.image_store() / f".base-{os.getpid()}.tar"
    temporary.parent.mkdir(parents=True, exist_ok=True)
    try:
        options = ["--quiet", "--variant=minbase", "--include=ca-certificates", SUITE]
        output(["mmdebstrap", *options, str(temporary), *sources(base)], SECONDS)
        client.asked("import", "--change", 'CMD ["/bin/sh"]', str(temporary), tag(base), seconds=300)
    finally:
        temporary.unlink(missing_ok=True)

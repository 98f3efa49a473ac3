"""Jars of Maven Central that an image is built from: each with its checksum in a file of the image's folder.

The file has one line per jar: its SHA-256, and its path in the repository. Maven made the list once, from the pom.xml beside
it; an image needs no Maven, and gets the same bytes ever after.
"""

import hashlib
import http.client
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from plimsoll import paths
from plimsoll.errors import PlimsollError, Unavailable, shown

# Maven's own default; a mirror of it can be named instead.
CENTRAL = "https://repo.maven.apache.org/maven2"
REPOSITORY = os.environ.get("PLIMSOLL_MAVEN", CENTRAL).rstrip("/")
# What takes longer does not answer (s); so many are fetched at once.
ANSWER_SECONDS, AT_ONCE = 60, 8
FOLDER = "jars"


def listed(lock: Path) -> dict[str, str]:
    """SHA-256 by path in the repository, of the jars that a file lists; PlimsollError for a line that is none of it."""
    jars = {}
    for number, line in enumerate(lock.read_text().splitlines(), start=1):
        words = line.split()
        if len(words) != 2 or len(words[0]) != 64 or not words[1].endswith(".jar"):
            raise PlimsollError(f"{lock.name}, line {number}: it is no checksum and path of a jar: {shown(line)}.")
        jars[words[1]] = words[0]
    return jars


def put(lock: Path, folder: Path) -> None:
    """Put the jars that a file lists into a new folder, side by side; those that are not kept here are fetched. Unavailable if
    one cannot be had, or is not the one that the file means."""
    jars = listed(lock)
    folder.mkdir()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for path, kept in zip(jars, pool.map(_kept, jars.keys(), jars.values()), strict=True):
            _link(kept, folder / Path(path).name)


def _kept(path: str, checksum: str) -> Path:
    """Where a jar is kept on this machine, fetched if it is not there yet."""
    kept = paths.image_store() / f".{FOLDER}" / checksum
    if kept.is_file() and _sha256(kept.read_bytes()) == checksum:
        return kept
    content = b"".join(_fetched(f"{REPOSITORY}/{path}"))
    if _sha256(content) != checksum:
        raise Unavailable(f"{REPOSITORY}/{path} is not the file that was locked: its SHA-256 is {_sha256(content)}")
    kept.parent.mkdir(parents=True, exist_ok=True)
    new = kept.with_name(f".{checksum}-{os.getpid()}")
    new.write_bytes(content)
    new.rename(kept)
    return kept


def _fetched(address: str) -> Iterator[bytes]:
    try:
        with urllib.request.urlopen(address, timeout=ANSWER_SECONDS) as answer:
            while part := answer.read(1 << 20):
                yield part
            # One that is read in parts ends early without a word. (An answer from a file has no such number.)
            if left := getattr(answer, "length", None):
                raise http.client.IncompleteRead(b"", left)
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as problem:
        reason = getattr(problem, "reason", problem)
        raise Unavailable(f"{address} cannot be fetched: {reason} (PLIMSOLL_MAVEN names a mirror)") from problem


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _link(kept: Path, target: Path) -> None:
    """A second name of the file where the file system lets it, otherwise a copy."""
    try:
        os.link(kept, target)
    except OSError:
        shutil.copyfile(kept, target)

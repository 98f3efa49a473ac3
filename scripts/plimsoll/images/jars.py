"""Jars of Maven Central that an image is built from. A lock file in the image's folder has a checksum for each.

The file has one line per jar: its SHA-256, and its path in the repository. Maven made the list once from the pom.xml
beside it. A build needs no Maven, and always gets the same bytes.
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
from plimsoll.errors import PlimsollError, Unavailable, quote

# Maven's own default. Users can name a mirror instead.
CENTRAL = "https://repo.maven.apache.org/maven2"
REPOSITORY = os.environ.get("PLIMSOLL_MAVEN", CENTRAL).rstrip("/")
# Time limit for an answer (s), and the number of jars that are fetched at once.
ANSWER_SECONDS, AT_ONCE = 60, 8
FOLDER = "jars"


def read_lock(lock: Path) -> dict[str, str]:
    """Return the jars in a lock file: SHA-256 by path in the repository. Raise PlimsollError for a line of another
    form."""
    jars = {}
    for number, line in enumerate(lock.read_text().splitlines(), start=1):
        words = line.split()
        if len(words) != 2 or len(words[0]) != 64 or not words[1].endswith(".jar"):
            raise PlimsollError(f"{lock.name}, line {number}: it is no checksum and path of a jar: {quote(line)}.")
        jars[words[1]] = words[0]
    return jars


def place_jars(lock: Path, folder: Path) -> None:
    """Put the jars of a lock file side by side into a new folder. Jars that this machine does not keep yet are fetched.

    Raise Unavailable if a jar cannot be fetched, or has another checksum than the lock file.
    """
    jars = read_lock(lock)
    folder.mkdir()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for path, kept in zip(jars, pool.map(_kept, jars.keys(), jars.values()), strict=True):
            _link(kept, folder / Path(path).name)


def _kept(path: str, checksum: str) -> Path:
    """Return the path of a jar on this machine; fetch it first if needed."""
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
            # An answer that is read in parts can end early without an error. (An answer from a file has no such
            # number.)
            if left := getattr(answer, "length", None):
                raise http.client.IncompleteRead(b"", left)
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as problem:
        reason = getattr(problem, "reason", problem)
        raise Unavailable(f"{address} cannot be fetched: {reason} (PLIMSOLL_MAVEN names a mirror)") from problem


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _link(kept: Path, target: Path) -> None:
    """Hard-link a file to a second name, or copy it where the file system has no hard links."""
    try:
        os.link(kept, target)
    except OSError:
        shutil.copyfile(kept, target)

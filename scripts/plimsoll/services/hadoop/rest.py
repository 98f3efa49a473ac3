"""HTTP requests to the daemons of a cluster: their state, and files in HDFS. They need no program inside a container."""

import hashlib
import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from plimsoll.errors import Unavailable

# Port of the NameNode on the master.
NAMENODE = 9870
ANSWER_SECONDS = 10.0
# Time limit for each answer while a file is written or read (s).
FILE_SECONDS = 120.0
PART_BYTES = 1 << 20


class NoAnswer(Exception):
    """A daemon did not answer correctly. It may do so later."""


def get(address: str, port: int, path: str) -> dict:
    """Return the JSON document at a path of a daemon. Raise NoAnswer if it gives none."""
    try:
        with _answered(address, port, "GET", path) as answer:
            text = answer.read()
        if answer.status != 200:
            raise NoAnswer(f"{path} gave {answer.status}")
        return document(text, path)
    # http.client raises ValueError for a length that is not a number.
    except (OSError, http.client.HTTPException, ValueError) as problem:
        raise NoAnswer(f"{path}: {problem}") from problem


def document(text: bytes, path: str) -> dict:
    """Parse the JSON dictionary that a daemon gave for a path. Raise NoAnswer if it is something else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise NoAnswer(f"{path}: it is no JSON") from problem
    if not isinstance(found, dict):
        raise NoAnswer(f"{path}: it is no dictionary")
    return found


def put(addresses: Mapping[str, str], master: str, file: Path, name: str) -> str:
    """Write a file of this host into HDFS, and return the SHA-256 of the content that was sent.

    `addresses` has the address of each node by host name. Raise Unavailable if writing fails.
    """
    digest = hashlib.sha256()

    def content() -> Iterator[bytes]:
        with open(file, "rb") as opened:
            while part := opened.read(PART_BYTES):
                digest.update(part)
                yield part

    headers = {"Content-Length": str(file.stat().st_size)}
    path = f"/webhdfs/v1{name}?op=CREATE&overwrite=true&user.name=root"
    with _redirected(addresses, master, "PUT", path, 201, body=content, headers=headers) as answer:
        answer.read()
    return digest.hexdigest()


def checksum(addresses: Mapping[str, str], master: str, name: str) -> str:
    """Return the SHA-256 of a file in HDFS. Raise Unavailable if it cannot be read."""
    digest = hashlib.sha256()
    with _redirected(addresses, master, "GET", f"/webhdfs/v1{name}?op=OPEN&user.name=root", 200) as answer:
        while part := answer.read(PART_BYTES):
            digest.update(part)
    return digest.hexdigest()


@contextmanager
def _redirected(
    addresses: Mapping[str, str],
    master: str,
    method: str,
    path: str,
    wanted: int,
    body: Callable[[], Iterator[bytes]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Iterator[http.client.HTTPResponse]:
    """Yield the answer of the worker to which the master redirects a request for a file.

    Raise Unavailable unless its status is `wanted`, or if there is no answer.
    """
    try:
        with _answered(addresses[master], NAMENODE, method, path) as first:
            first.read()
            where = first.getheader("Location") or ""
        host, _, rest = where.removeprefix("http://").partition("/")
        name, _, port = host.partition(":")
        if first.status != 307 or name not in addresses:
            raise Unavailable(f"HDFS did not say where {path} is: it gave {first.status}")
        given = {"body": body(), "headers": dict(headers or {})} if body else {}
        with _answered(addresses[name], int(port), method, f"/{rest}", FILE_SECONDS, **given) as answer:
            if answer.status != wanted:
                raise Unavailable(f"HDFS gave {answer.status} for {path}")
            yield answer
    except (OSError, http.client.HTTPException, ValueError) as problem:
        raise Unavailable(f"HDFS did not answer for {path}: {problem}") from problem


@contextmanager
def _answered(address: str, port: int, method: str, path: str, seconds: float = ANSWER_SECONDS, **given) -> Iterator:
    connection = http.client.HTTPConnection(address, port, timeout=seconds)
    try:
        connection.request(method, path, **given)
        yield connection.getresponse()
    finally:
        connection.close()

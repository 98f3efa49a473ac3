"""The data of the jobs: records of spot prices that the image's generator makes from a seed, and the result that a job
must give.

`sort` computes the expected result, because it has no code in common with Hadoop. Data and result are made once per
machine.
"""

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple, TypedDict

from plimsoll import documents, paths
from plimsoll.errors import Unavailable
from plimsoll.interchange import Image
from plimsoll.runtimes import mounts
from plimsoll.runtimes.base import LABELLED
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.docker import Docker

NOTED = "prices.json"
# Where the generator's container mounts the folder of the data.
PLACE = "/prices"
PROGRAM = "/opt/plimsoll/bin/prices.jar"
# Time limit for generating or sorting one gigabyte (s).
SECONDS_OF_GIGABYTE = 300
# Sorts the distinct records by instance type, operating system, zone and time. Ties are sorted by tag and price.
SORT = 'set -o pipefail; export LC_ALL=C TMPDIR="${1%/*}"; sort -u -- "$1" | sort -s -t "\t" -k4,4 -k5,5 -k6,6 -k3,3'


# SHA-256 of the generated data, by (the configuration's seed, bytes): the sizes are those of the profiles quick and ci.
KNOWN = {
    (20200814, 4 * 2**20): "f0b26875c7e11feb24d3cc1b198a780a3400e9e7672cee8ebf534c08f400627b",
    (20200814, 8 * 2**20): "3dbd75ed578e2f93e96aea24bd76a3490a174f8ec913fee390d962a2c08fc8bb",
    (20200814, 160 * 2**20): "5603777942483d6780017d15b084a8f8634dd18a6f8556edcfedaefee67ac8dd",
    (20200814, 288 * 2**20): "8479d2a433ff2a921df6b17a3bdb8afbcf3eb4a63a50173d56555d1904c45679",
}


class Noted(TypedDict):
    """The facts that are saved about generated data."""

    records: int
    distinct: int
    bytes: int
    sha256: str
    expected: str


class Prices(NamedTuple):
    """The data of a job.

    `file` has `records` records, of which `distinct` are different, with `bytes` and `sha256` of the file. `expected`
    is the SHA-256 of the job's correct result.
    """

    file: Path
    records: int
    distinct: int
    bytes: int
    sha256: str
    expected: str


def there(image: Image, seed: int, size: int) -> bool:
    """Whether the data were made before."""
    return (_folder(image, seed, size) / NOTED).is_file()


def _folder(image: Image, seed: int, size: int) -> Path:
    return paths.image_store() / ".prices" / f"{image['id'].removeprefix('sha256:')[:16]}-{seed}-{size}"


def make(image: Image, seed: int, size: int) -> Prices:
    """Return data of at least `size` bytes; make them first if needed.

    Raise Unavailable if they cannot be made, or were changed since.
    """
    folder = _folder(image, seed, size)
    noted = folder / NOTED
    if not noted.is_file():
        _make(image, seed, size, folder)
    try:
        known = documents.load(noted, Noted)
    except documents.Misfit as misfit:
        noted.unlink()
        raise Unavailable(f"{noted} is damaged ({misfit}); the data are made again at the next attempt") from misfit
    prices = Prices(folder / "prices", *(known[name] for name in Prices._fields[1:]))
    if not prices.file.is_file() or prices.file.stat().st_size != prices.bytes:
        noted.unlink()
        raise Unavailable(f"{prices.file} has another size than noted; it is made again at the next attempt")
    return prices


def _make(image: Image, seed: int, size: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "prices"
    mounted = [*Docker.options, *mounts.bind(folder, PLACE), "--network", "none"]
    words = ["docker", "run", "--rm", "--label", LABELLED, *mounted, image["tag"], "java", "-cp", PROGRAM, "GeneratePrices"]
    limit = SECONDS_OF_GIGABYTE * (1 + size / 2**30)
    told = _told(output([*words, str(seed), str(size), f"{PLACE}/{file.name}"], limit))
    if told["sha256"] != KNOWN.get((seed, size), told["sha256"]):
        raise Unavailable(f"the generator made other data of seed {seed} and {size} bytes than it should: {told['sha256']}")
    distinct, expected = _sorted(file, limit)
    known = {
        "records": told["records"],
        "distinct": distinct,
        "bytes": file.stat().st_size,
        "sha256": told["sha256"],
        "expected": expected,
    }
    # Written last and in one step, so that saved facts always describe complete data.
    new = folder / f".prices-{os.getpid()}.json"
    new.write_text(json.dumps(known))
    new.rename(folder / NOTED)


def _told(text: str) -> dict:
    """Parse what the generator printed about the data. Raise Unavailable if it is incomplete."""
    found = re.fullmatch(r"records=([0-9]+) sha256=([0-9a-f]{64})\s*", text)
    if not found:
        raise Unavailable(f"the generator said {text[:60]!r} of the data that it has made")
    return {"records": int(found[1]), "sha256": found[2]}


def _sorted(file: Path, limit: float) -> tuple[int, str]:
    """Return (number of distinct records in a file, SHA-256 of these records in order). Raise Unavailable if sorting fails."""
    digest, lines = hashlib.sha256(), 0
    shell = ["bash", "-c", SORT, "bash", str(file)]
    with subprocess.Popen(["timeout", str(limit), *shell], stdout=subprocess.PIPE) as process:
        while part := process.stdout.read(1 << 20):
            digest.update(part)
            lines += part.count(b"\n")
    if process.returncode:
        raise Unavailable(f"the records in {file} could not be sorted")
    return lines, digest.hexdigest()

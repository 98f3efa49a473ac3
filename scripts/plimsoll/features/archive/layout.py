"""Paths of files in an archive. They are the project's own paths, so an unpacked archive is a folder of results.

The role of a member says what it is when everything is made again. It is `given` to the workflow, `made` by it, or
`about` both.
"""

import re
from pathlib import PurePosixPath

from plimsoll.errors import quote

# Format of archives. It grows when this version could not read an archive of the previous one (docs/reports/archives.md).
FORMAT = 1
GIVEN, MADE, ABOUT = "given", "made", "about"
# Descriptions of an archive: for Plimsoll, for programs that read RO-Crates, and for people.
MANIFEST, METADATA, README = "archive.json", "ro-crate-metadata.json", "README.md"
# File with the records of a session, in its folder (plimsoll.features.archive.records).
RECORDS = "records.jsonl"
# Endings of files that were made from measurements and are no tables or texts.
DRAWN = (".png", ".pdf", ".html", ".values.json")
# Files by role: of the configuration, of the project, of its results, and of a study's newest session. Figures and
# tables are added per study.
OF_CONFIG = {
    GIVEN: (
        "config.yaml",
        "local.yaml",
        "studies/*.yaml",
        "claims/*.yaml",
        "profiles/*.yaml",
        "reference/*.csv",
        "containers/*/Dockerfile",
        "containers/*/image.yaml",
    )
}
OF_PROJECT = {ABOUT: ("Snakefile", "rules/*.smk", "requirements.lock", "LICENSE")}
OF_RESULTS = {GIVEN: ("host.json",), ABOUT: ("host.txt",)}
OF_STUDY = {
    GIVEN: ("plan.json", "forecasts.json", "system.json", "session.json"),
    MADE: (
        *("observations.csv", "runs.csv", "claims.json", "comparisons.csv", "answer.csv", "sessions.json", "sessions.csv"),
        *("variance.csv", "together.json", "together.csv", "report.html"),
    ),
    ABOUT: ("complete.txt", "repetitions.json", "precision.csv"),
}
# Files of an earlier session, with which the newest one is compared.
OF_EARLIER = {
    GIVEN: ("plan.json", "system.json", "session.json"),
    MADE: ("observations.csv", "runs.csv", "claims.json", "comparisons.csv", "answer.csv"),
    ABOUT: ("host.json", "host.txt", "complete.txt", "repetitions.json"),
}
# Files about the results that are not made again with them.
KEPT = ("host.txt", "repetitions.json")
# Paths that given members may have: where the workflow reads, and never where it writes.
PLACED = re.compile(
    r"config/(config|local)\.yaml|config/(studies|claims|profiles)/[^/]+\.yaml|config/reference/[^/]+\.csv"
    r"|config/containers/[a-z0-9]+/(Dockerfile|image\.yaml)"
    r"|results/host\.json|results/images/[^/]+\.json"
    r"|results/(sessions/[^/]+/[0-9]+|[^/]+)/((plan|forecasts|system|session)\.json|records\.jsonl|raw/.+)"
)


class RefusedArchive(Exception):
    """An archive, or a part of it, cannot be used.

    The text is the reason, without the archive's name and without a full stop.
    """


def inside(name: str) -> bool:
    """Whether a member's path stays in the folder that it is unpacked into."""
    path = PurePosixPath(name)
    plain = path.as_posix() == name and "\\" not in name and "\0" not in name
    return plain and bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def records_of(folder: str) -> str:
    """Return the name of the member with a session's records.

    The session's folder is results/<study> or lies below results/sessions/.
    """
    return f"{folder}/{RECORDS}"


def reference(study: str) -> str:
    """Return the name of the archive that lies beside a study's reference measurements."""
    return f"reference-{study}.zip"


def check_format(manifest: dict) -> None:
    """Raise RefusedArchive unless a manifest has this version's format."""
    given = manifest.get("format")
    if type(given) is not int or given < 1:
        raise RefusedArchive("it does not say in which format it is")
    if given != FORMAT:
        version = "a newer" if given > FORMAT else "an older"
        raise RefusedArchive(
            f"it has the format {quote(given)}, and this version of Plimsoll reads {FORMAT}: take {version} version"
        )

"""Where what lies in an archive: the paths that it has in the project, so that an unpacked archive is one's results folder.

A member is `given` to the workflow when all is made again, was `made` by it, or is `about` both.
"""

import re
from pathlib import PurePosixPath

GIVEN, MADE, ABOUT = "given", "made", "about"
# What an archive says of itself: to us, to programs that read RO-Crates, to people.
MANIFEST, METADATA, README = "archive.json", "ro-crate-metadata.json", "README.md"
# The records of a session of a study, in its folder (plimsoll.archives.records).
RECORDS = "records.jsonl"
# What was made of measurements, and is no table or text.
DRAWN = (".png", ".pdf", ".html")
# Files of the configuration, of the project, of its results, and of a study's newest session besides its figures and tables.
OF_CONFIG = {GIVEN: ("config.yaml", "local.yaml", "studies/*.yaml", "claims/*.yaml", "profiles/*.yaml", "reference/*.csv")}
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
# Of an earlier session: what the newest one is set beside.
OF_EARLIER = {
    GIVEN: ("plan.json", "system.json", "session.json"),
    MADE: ("observations.csv", "runs.csv", "claims.json", "comparisons.csv", "answer.csv"),
    ABOUT: ("host.json", "host.txt", "complete.txt", "repetitions.json"),
}
# What is about the results, and is not made again with them.
KEPT = ("host.txt", "repetitions.json")
# Where what is given may be: where the workflow reads, and never where it writes.
PLACED = re.compile(
    r"config/(config|local)\.yaml|config/(studies|claims|profiles)/[^/]+\.yaml|config/reference/[^/]+\.csv"
    r"|results/host\.json|results/images/[^/]+\.json"
    r"|results/(sessions/[^/]+/[0-9]+|[^/]+)/((plan|forecasts|system|session)\.json|records\.jsonl|raw/.+)"
)


class Refused(Exception):
    """An archive, or a part of it, that cannot be used; the text is the reason, without the archive's name and a full stop."""


def inside(name: str) -> bool:
    """Whether a member's path stays in the folder that it is unpacked into."""
    path = PurePosixPath(name)
    plain = path.as_posix() == name and "\\" not in name and "\0" not in name
    return plain and bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def records_of(folder: str) -> str:
    """The member that holds the records of a session, whose folder is results/<study> or below results/sessions/."""
    return f"{folder}/{RECORDS}"


def reference(study: str) -> str:
    """The name of the archive that lies beside a study's reference measurements."""
    return f"reference-{study}.zip"

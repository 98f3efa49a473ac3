"""Identity of the code that made an archive. Another version may make other results from the same records."""

import hashlib
from importlib.metadata import version

from plimsoll import paths
from plimsoll.features.archive import writing

# Files that decide what is made from records.
CODE = ("scripts/plimsoll/**/*.py", "scripts/plimsoll/**/*.j2", "notebooks/*.ipynb", "requirements.lock")


def made_by() -> dict[str, str]:
    """Return the project's `version`, and a checksum of its `code`."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in CODE for path in paths.PROJECT.glob(pattern)):
        digest.update(f"{path.relative_to(paths.PROJECT)}\0{writing.member_digest(path).sha256}\0".encode())
    return {"version": version("plimsoll"), "code": digest.hexdigest()}

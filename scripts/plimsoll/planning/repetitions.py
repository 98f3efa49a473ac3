"""More repetitions of some cells than of the others: what earlier rounds of `make precise` asked for."""

import json
from pathlib import Path

from plimsoll.errors import PlimsollError

ASKED = "repetitions.json"


def asked(results: Path, profile: str) -> dict[str, int]:
    """Repetitions by cell that earlier rounds asked for, of this profile. PlimsollError if the file is damaged."""
    path = results / ASKED
    if not path.exists():
        return {}
    try:
        noted = json.loads(path.read_text())
        return noted["cells"] if noted["profile"] == profile else {}
    except (ValueError, KeyError, TypeError) as error:
        raise PlimsollError(
            f"{path} is damaged ({error}): delete it, and only the additional repetitions are forgotten."
        ) from error

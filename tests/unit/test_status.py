"""The code defines the statuses of runs in one place."""

import re

from plimsoll.measuring import status

from tests.conftest import PROJECT


def test_no_status_counts_and_is_tried_again():
    assert status.COUNTED == ("valid", "censored")
    assert not set(status.COUNTED) & set(status.AGAIN)
    assert len(set(status.NAMES)) == len(status.STATUSES)


def test_the_code_names_a_status_by_its_constant():
    """A misspelt status in a string would never be noticed."""
    words = "|".join(status.NAMES)
    pattern = re.compile(rf"""(?:["']status["']\]?\s*(?:==|!=|:)\s*["'](?:{words})["'])""")
    found = [
        f"{path.relative_to(PROJECT)}:{number}"
        for path in sorted((PROJECT / "scripts/plimsoll").rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []

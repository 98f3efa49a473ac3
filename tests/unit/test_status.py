"""The code defines the statuses in one place, and the documentation has the same list."""

import re

from plimsoll.measuring import status

from tests.conftest import PROJECT


def test_the_documentation_lists_the_same_statuses():
    text = (PROJECT / "docs/reference/statuses.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (yes|no) \| (yes|no) \|$", text, re.MULTILINE)
    assert [(name, meaning, counts == "yes", again == "yes") for name, meaning, counts, again in rows] == [
        (each.name, each.meaning, each.counts, each.again) for each in status.STATUSES
    ]


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

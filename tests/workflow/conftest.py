"""The workflow as a user runs it, with real containers: one after the other, as it measures."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.workflow)

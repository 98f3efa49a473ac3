"""Designs of experiments, one folder each. plimsoll.design describes the modules in a folder; a study names its design."""

import os
from functools import cache

from plimsoll import registry
from plimsoll.design import Design


@cache
def known() -> dict[str, Design]:
    """Return every design by name: one for each folder beside this file that has factors.py."""
    folder = os.path.dirname(__file__)
    names = sorted(name for name in os.listdir(folder) if os.path.isfile(f"{folder}/{name}/factors.py"))
    return {name: Design(name, __name__) for name in names}


def find(name: str) -> Design:
    """Return a design by its name. PlimsollError if the name is unknown."""
    return registry.find(known(), "design", name)

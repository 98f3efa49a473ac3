"""One folder per design of experiments (plimsoll.design says what is in it). A study names the one that it follows."""

import os
from functools import cache

from plimsoll import registry
from plimsoll.design import Design


@cache
def known() -> dict[str, Design]:
    """Every design by name: the folders beside this file."""
    folder = os.path.dirname(__file__)
    names = sorted(name for name in os.listdir(folder) if os.path.isfile(f"{folder}/{name}/factors.py"))
    return {name: Design(name, __name__) for name in names}


def find(name: str) -> Design:
    """The design of that name; PlimsollError if there is none."""
    return registry.find(known(), "design", name)

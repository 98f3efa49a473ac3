"""Designs of experiments, one folder each. plimsoll.design describes what a folder holds; a study names its design."""

import os
from functools import cache
from importlib import import_module

from plimsoll import registry
from plimsoll.design import Design


@cache
def known() -> dict[str, Design]:
    """Return every design by name: one for each folder beside this file that has factors.py."""
    return {name: _design(name) for name in _names()}


def find(name: str) -> Design:
    """Return a design by its name. PlimsollError if the name is unknown."""
    return _design(registry.find({one: one for one in _names()}, "design", name))


def _names() -> list[str]:
    folder = os.path.dirname(__file__)
    return sorted(name for name in os.listdir(folder) if os.path.isfile(f"{folder}/{name}/factors.py"))


@cache
def _design(name: str) -> Design:
    """Return the design of a folder. Only this one is imported, because every run pays for it."""
    return import_module(f"{__name__}.{name}").DESIGN

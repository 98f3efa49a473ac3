"""Finds what is in a package's modules, so that a new runtime, benchmark or chart is a new file and no edit elsewhere."""

import importlib
import os
from collections.abc import Mapping
from types import ModuleType
from typing import TypeVar

from plimsoll.errors import PlimsollError, shown

Member = TypeVar("Member")


def members(package: ModuleType, attribute: str) -> dict[str, object]:
    """Everything that the package's modules list under `attribute`, by its `name`."""
    known = {}
    # Not pkgutil, which takes longer to import than all that it would find.
    for file in sorted(os.listdir(package.__path__[0])):
        module, extension = os.path.splitext(file)
        if extension == ".py" and module != "__init__":
            name = module
        elif os.path.isfile(f"{package.__path__[0]}/{file}/__init__.py"):
            name = file
        else:
            continue
        listed = getattr(importlib.import_module(f"{package.__name__}.{name}"), attribute, ())
        known.update({member.name: member for member in listed})
    return known


def find(known: Mapping[str, Member], kind: str, name: str) -> Member:
    """The member of that name; PlimsollError, with the `kind` in words, if there is none."""
    if name not in known:
        raise PlimsollError(f"There is no {kind} {shown(name)}; known are {', '.join(sorted(known))}.")
    return known[name]

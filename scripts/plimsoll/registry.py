"""Find members in a package's modules, so that a new runtime, benchmark or chart needs only a new file."""

import importlib
import os
from collections.abc import Mapping
from types import ModuleType
from typing import TypeVar

from plimsoll import spelling
from plimsoll.errors import PlimsollError, shown

Member = TypeVar("Member")


def members(package: ModuleType, attribute: str) -> dict[str, object]:
    """Return all objects that the package's modules list under `attribute`, by their `name`."""
    known = {}
    # pkgutil is not used: importing it takes longer than this loop.
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
    """Return the member of this name. Raise PlimsollError if it is unknown; `kind` says in words what it should be."""
    if name not in known:
        raise PlimsollError(
            f"There is no {kind} {shown(name)}{spelling.hint(name, known)}; known are {', '.join(sorted(known))}."
        )
    return known[name]

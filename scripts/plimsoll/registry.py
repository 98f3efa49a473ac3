"""Find members in a package's modules, so that a new runtime, benchmark or chart needs only a new file."""

import importlib
import os
from collections.abc import Mapping
from types import ModuleType
from typing import TypeVar

from plimsoll import spelling
from plimsoll.errors import PlimsollError, quote

Member = TypeVar("Member")


def members(package: ModuleType, attribute: str) -> dict[str, object]:
    """Return all objects that the package's modules list under `attribute`, by their `name`."""
    known = {}
    for file in sorted(os.listdir(package.__path__[0])):
        module, extension = os.path.splitext(file)
        # pkgutil is not used: importing it takes longer than this loop.
        is_module = extension == ".py" and module != "__init__"
        if is_module or os.path.isfile(f"{package.__path__[0]}/{file}/__init__.py"):
            known.update(_of_module(package, module, attribute))
    return known


def only(package: ModuleType, attribute: str, name: str) -> Member | None:
    """Return the member of this name, with no other module of the package imported than the one that defines it.

    None if no module has the line `name = "NAME"`: it may still be one of `members`.
    """
    words = f'    name = "{name}"\n'
    for file in os.listdir(package.__path__[0]):
        if file.endswith(".py"):
            with open(f"{package.__path__[0]}/{file}", encoding="utf-8") as source:
                defines = words in source.read()
            if defines and (found := _of_module(package, file.removesuffix(".py"), attribute).get(name)):
                return found
    return None


def _of_module(package: ModuleType, module: str, attribute: str) -> dict[str, object]:
    listed = getattr(importlib.import_module(f"{package.__name__}.{module}"), attribute, ())
    return {member.name: member for member in listed}


def find(known: Mapping[str, Member], kind: str, name: str) -> Member:
    """Return the member of this name. Raise PlimsollError if it is unknown; `kind` says in words what it should be."""
    if name not in known:
        raise PlimsollError(
            f"There is no {kind} {quote(name)}{spelling.hint(name, known)}; known are {', '.join(sorted(known))}."
        )
    return known[name]

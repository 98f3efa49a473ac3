"""Finds what is in a package's modules, so that a new runtime, benchmark or chart is a new file and no edit elsewhere."""

import importlib
import os
from types import ModuleType


def members(package: ModuleType, attribute: str) -> dict[str, object]:
    """Everything that the package's modules list under `attribute`, by its `name`."""
    found = {}
    # Not pkgutil, which takes longer to import than all that it would find.
    for file in sorted(os.listdir(package.__path__[0])):
        module, extension = os.path.splitext(file)
        if extension != ".py" or module == "__init__":
            continue
        listed = getattr(importlib.import_module(f"{package.__name__}.{module}"), attribute, ())
        found.update({member.name: member for member in listed})
    return found

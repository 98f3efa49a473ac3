"""Finds what is in a package's modules, so that a new runtime, benchmark or chart is a new file and no edit elsewhere."""

import importlib
import pkgutil
from types import ModuleType


def members(package: ModuleType, attribute: str) -> dict[str, object]:
    """Everything that the package's modules list under `attribute`, by its `name`."""
    found = {}
    for module in pkgutil.iter_modules(package.__path__):
        listed = getattr(importlib.import_module(f"{package.__name__}.{module.name}"), attribute, ())
        found.update({member.name: member for member in listed})
    return found

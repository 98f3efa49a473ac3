"""Features that can be left out. Each is a folder of this one, and a line in `FEATURES`.

Nothing else imports a feature, and no feature imports another. Without its folder and its line, all else works.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

# Headings of the help that commands are listed under.
MEASURE, READ, HAND_ON, BEGIN = "Measure", "Read the results", "Hand results on", "Begin"


class Feature(NamedTuple):
    """A feature: its folder, its commands with their headings, and functions that others may call.

    A command is a function of the module of its name. `offers` maps a function's name to its place in the folder.
    """

    folder: str
    commands: Mapping[str, str] = {}
    offers: Mapping[str, str] = {}


ARCHIVE = {
    **{"stages": "stages.add", "remake": "remake.from_archive", "pack": "packing.pack_study"},
    **{"folder_of": "opening.folder_of", "reference_of": "opening.reference_of"},
}
FEATURES = (
    Feature("archive", {"archive": HAND_ON, "remake": HAND_ON}, ARCHIVE),
    Feature("compare", {"compare": READ}),
    Feature("check", {"check": READ}),
    Feature("judge", {"judge": READ}),
    Feature("try_program", {"try": MEASURE}, {"measure_own": "start.measure_own"}),
    Feature("doctor", {"doctor": MEASURE}),
    Feature("new", {"new": BEGIN}),
)


def modules() -> dict[str, str]:
    """Return the module of each command."""
    return {name: f"{__name__}.{one.folder}.{name.replace('-', '_')}" for one in FEATURES for name in one.commands}


def below(heading: str) -> tuple[str, ...]:
    """Return the commands that are listed under a heading of the help."""
    return tuple(name for one in FEATURES for name, its in one.commands.items() if its == heading)


def offered(name: str) -> Callable | None:
    """Return the function that a feature offers under a name; None if no feature does."""
    return next(iter(every(name)), None)


def every(name: str) -> list[Callable]:
    """Return the functions that features offer under a name."""
    return [_function(one.folder, one.offers[name]) for one in FEATURES if name in one.offers]


def _function(folder: str, place: str) -> Callable:
    module, _, function = place.rpartition(".")
    return getattr(importlib.import_module(f"{__name__}.{folder}.{module}"), function)

"""Features that can be left out. Each is a folder of this one, and a line in `FEATURES`.

Nothing else imports a feature, and no feature imports another. Without its folder and its line, all else works.
"""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from plimsoll.errors import PlimsollError

# Headings of the help that commands are listed under.
MEASURE, READ, HAND_ON, BEGIN = "Measure", "Read the results", "Hand results on", "Begin"
MACHINE = "This machine"


class Feature(NamedTuple):
    """A feature: its folder, and its commands with their headings.

    A command is a function of the module of its name. The package of a folder may have `OFFERS`: functions that others
    may call.
    """

    folder: str
    commands: Mapping[str, str]


FEATURES = (
    Feature("time_budget", {}),
    Feature("archive", {"archive": HAND_ON, "remake": HAND_ON}),
    Feature("image_file", {"image": HAND_ON}),
    Feature("sessions", {"session": MEASURE}),
    Feature("hosts", {"hosts": READ}),
    Feature("bills", {"vulnerabilities": MACHINE}),
    Feature("compare", {"compare": READ}),
    Feature("check", {"check": READ}),
    Feature("judge", {"judge": READ}),
    Feature("try_program", {"try": MEASURE}),
    Feature("doctor", {"doctor": MEASURE}),
    Feature("new", {"new": BEGIN}),
)


def modules() -> dict[str, str]:
    """Return the module of each command."""
    return {name: f"{__name__}.{one.folder}.{name.replace('-', '_')}" for one in FEATURES for name in one.commands}


def below(heading: str) -> tuple[str, ...]:
    """Return the commands that are listed under a heading of the help."""
    return tuple(name for one in FEATURES for name, its in one.commands.items() if its == heading)


def find(name: str) -> Callable | None:
    """Return the function that a feature offers under a name; None if no feature does."""
    return next(iter(every(name)), None)


def require(name: str) -> Callable:
    """Return the function that a feature offers under a name. Raise PlimsollError if no feature does."""
    if found := find(name):
        return found
    raise PlimsollError(
        f"No folder of scripts/plimsoll/features offers {name}, which this command needs. Nothing was done. "
        "Put that folder back."
    )


def rules() -> list[Path]:
    """Return the files with rules of features, which the Snakefile includes."""
    return [path for one in FEATURES if (path := Path(__file__).parent / one.folder / "rules.smk").is_file()]


def every(name: str) -> list[Callable]:
    """Return the functions that features offer under a name."""
    packages = [importlib.import_module(f"{__name__}.{one.folder}") for one in FEATURES]
    return [_function(one, place) for one in packages if (place := getattr(one, "OFFERS", {}).get(name))]


def _function(package: ModuleType, place: str) -> Callable:
    module, _, function = place.rpartition(".")
    return getattr(importlib.import_module(f"{package.__name__}.{module}"), function)

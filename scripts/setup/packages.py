"""Prints what the runtimes need that are measured: those that the configuration switches on, and those that the studies ask for
which it names (or STUDIES). PLIMSOLL_SETTINGS are settings in its place, as after --config. With "all", every runtime.

One line per runtime that needs anything: its name, its wish, the steps of set-up that it needs (`-` for none), Debian packages.
With "images" it prints the packages that building the studies' images here takes.
"""

import contextlib
import os
import shlex
import sys

from plimsoll import runtimes
from plimsoll.config import configuration, studies, yaml_files
from plimsoll.errors import PlimsollError, run_guarded
from plimsoll.images import builder


def described(config: dict) -> list[dict]:
    """Return the chosen studies as their files have them. Faults in a file are left to the workflow, which comes next."""
    with contextlib.suppress(PlimsollError):
        chosen = studies.select(os.environ.get("STUDIES") or config["studies"])
        return [yaml_files.read(studies.STUDIES / f"{name}.yaml")[0] for name in chosen]
    return []


def of_runtimes(wishes: dict[str, str]) -> None:
    """Print a line for each runtime that needs anything."""
    known = runtimes.known()
    for name, wish in wishes.items():
        if wish != "off" and name in known and (known[name].packages or known[name].steps):
            print(name, wish, ",".join(known[name].steps) or "-", *known[name].packages)


def main(words: list[str]) -> None:
    """Print the packages of the runtimes that the words name."""
    if words == ["all"]:
        return of_runtimes(dict.fromkeys(runtimes.known(), "optional"))
    config = configuration.read(shlex.split(os.environ.get("PLIMSOLL_SETTINGS", "")))
    asked = described(config)
    if words == ["images"]:
        return print(*builder.packages({study["image"] for study in asked}, config["base_image"]))
    return of_runtimes(studies.wishes_of_all(asked, config["runtimes"]))


sys.exit(run_guarded(lambda: main(sys.argv[1:])))

"""`plimsoll plan`, which is also what `reproduce --dry-run` says."""

import json as jsons
from collections.abc import Sequence
from typing import Annotated

import typer

from plimsoll import features
from plimsoll.cli import measure_commands, options, place
from plimsoll.errors import hours_in_words
from plimsoll.tasks import Time


def plan(
    studies: options.Studies = None,
    hours: Annotated[str | None, typer.Option(metavar="NUMBER", help="Hours of measuring in all, for each study.")] = None,
    minutes: Annotated[str | None, typer.Option(metavar="NUMBER", help="Minutes in all, from set-up to the pages.")] = None,
    profile: options.Profile = None,
    directory: options.Directory = None,
    runtimes: options.Runtimes = None,
    config: options.Config = None,
    json: options.AsJson = False,
) -> None:
    """Say what would be measured here, and how long that takes.

    It also says what cannot be measured on this machine, and why. It measures nothing, and needs no engine.

    Examples:
      plimsoll plan                             # the studies of config/config.yaml
      plimsoll plan jha2021 --hours 1
      plimsoll plan all --profile paper --json
    """
    selection = measure_commands.read_selection(studies, profile, config, runtimes)
    time = measure_commands.time_of(hours, minutes, selection)
    place.enter(directory)
    tell(selection.settings, time, (), json)


def tell(settings: list[str], time: Time | None, targets: Sequence[str], json: bool = False) -> None:
    """Print what would be measured for these targets, or of the whole studies without any."""
    from plimsoll import designs
    from plimsoll.terminal import machine, request, screen

    found = machine.collect(designs.known(), settings)
    if time and time.minutes:
        features.require("check_minutes")(list(found.studies), time.minutes)
    if json:
        return screen.tell(lambda width: jsons.dumps([_of(found, name, time) for name in found.studies], indent=1))
    told = request.summary(targets, list(found.studies), found.studies, found.plans)
    lengths = [] if targets else [_length(found, name, time) for name in found.studies]
    return screen.tell(lambda width: "\n".join([told, *lengths]))


def _length(found, study: str, time: Time | None) -> str:
    """Return how long a study is measured, as text."""
    from plimsoll.terminal import request

    if (hours := _hours(found, study, time)) is not None:
        return f"{study}: measured for {hours_in_words(hours)}, where it decides most; what was measured before counts."
    left = _of(found, study, time)["seconds_left"]
    return f"{study}: {request.duration(left)} left to measure." if left else f"{study}: all of it is measured."


def _hours(found, study: str, time: Time | None) -> float | None:
    """Return the hours that a study is measured for; None if its runs say how long it takes."""
    return features.require("hours_for")(found.studies[study], time, list(found.studies)) if time else None


def _of(found, study: str, time: Time | None) -> dict:
    """Return the plan of a study for a program."""
    from plimsoll.planning import planner
    from plimsoll.terminal import listing

    [whole] = [one for one in listing.wholes(found.plans, found.there, found.profile) if one.name == study]
    reasons = planner.unavailable_cells(found.plans[study])
    return {
        "study": study,
        "title": found.studies[study]["title"],
        "profile": found.profile,
        **whole.state._asdict(),
        "seconds_left": whole.seconds,
        "hours": _hours(found, study, time),
        "unavailable": [{"reason": reason, "cells": number} for reason, number in reasons.items()],
        "command": whole.command,
    }

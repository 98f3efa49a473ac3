"""Measure within a time budget, as a stage and as a step of commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from plimsoll.tasks import Time
from plimsoll.terminal import interruption

if TYPE_CHECKING:  # a command that only prints its help imports nothing of the configuration
    from plimsoll.config.studies import Study


def add(stage: Callable) -> None:
    """Add the stages to the command line of stages."""
    spent = stage(_hours)
    amount = spent.add_mutually_exclusive_group(required=True)
    amount.add_argument("--hours", help="of measuring each study; `usual` are those of its design")
    amount.add_argument("--minutes", help="in all, from the start of this command to the pages")
    spent.add_argument("settings", nargs="*", help="the configuration, as after --config")


@interruption.explain()
def _hours(options: argparse.Namespace) -> None:
    """measure the studies that have stages for so many hours each, or minutes in all, where they decide most"""
    from plimsoll.measuring import failing_groups
    from plimsoll.planning import amounts

    failing_groups.begin()
    # A text that is no time is refused before anything is read.
    in_all = options.minutes is not None
    time = Time(minutes=amounts.minutes(options.minutes)) if in_all else Time(amounts.hours(options.hours))
    measure_for(time, options.settings)


def measure_for(time: Time, settings: Sequence[str]) -> None:
    """Measure the selected studies that have stages for a time, where they decide most."""
    from plimsoll.config import configuration, studies
    from plimsoll.features.time_budget import several_studies

    names = studies.select(configuration.read(settings)["studies"])
    if time.minutes is None:
        several_studies.spend_hours(names, time.hours, list(settings))
    else:
        several_studies.spend(names, time.minutes, list(settings))


def check(names: Sequence[str], minutes: float, is_new: bool = False) -> None:
    """Raise PlimsollError if these studies cannot be measured in so many minutes in all (several_studies.check)."""
    from plimsoll.features.time_budget import several_studies

    several_studies.check(names, minutes, is_new)


def hours_for(study: Study, time: Time, names: Sequence[str]) -> float | None:
    """Return the hours that a study is measured for beside others; None if it is measured as a whole.

    `names` are all studies that are measured: minutes are shared among them.
    """
    from plimsoll.planning import timetable

    factors = study.design.factors
    if not factors.STAGES:
        return None
    if time.minutes is not None:
        each = timetable.foretell(names, minutes=time.minutes)["measuring"] / len(names)
        return timetable.time_spent(study["id"]).hours + max(0.0, timetable.hours_of(each))
    return time.hours or factors.USUAL_HOURS

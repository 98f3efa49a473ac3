"""Measure studies for hours each, or so long that a command takes a number of minutes in all.

What it takes in all is foretold in one line: set-up, images, measuring and pages.
"""

import contextlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence

from plimsoll import designs
from plimsoll.config import studies
from plimsoll.errors import Incomplete, PlimsollError
from plimsoll.features.time_budget import two_stages
from plimsoll.planning import timetable


def spend_hours(names: Sequence[str], given: float | None, settings: list[str]) -> None:
    """Measure those of the studies that have stages for `given` hours each, or for the usual hours of each design.

    Raise PlimsollError as two_stages.spend does.
    """
    known = designs.known()
    factors = {name: studies.load(name, known).design.factors for name in names}
    wanted = {name: hours_ for name, of in factors.items() if of.STAGES and (hours_ := given or of.USUAL_HOURS)}
    with _timed(timetable.foretell(wanted, hours=given)):
        for place, (name, hours_) in enumerate(wanted.items()):
            with _after(place):
                two_stages.spend(name, hours_, settings)


def spend(names: Sequence[str], minutes: float, settings: list[str]) -> None:
    """Measure the studies, one after the other, so that their pages should be there `minutes` after the start of this
    command.

    Minutes of earlier commands count. If they are as many, do nothing. Raise PlimsollError as `check` does, or if the
    workflow fails.
    """
    check(names, minutes)
    if (wanted := timetable.seconds_left(names, minutes)) <= 0:
        print(
            f"plimsoll: {', '.join(names)}: the {minutes:g} minutes are used up, and nothing more was measured. "
            "To measure more, give more --minutes.",
            flush=True,
        )
        return
    parts = timetable.foretell(names, minutes=minutes)
    ends = time.time() + wanted - timetable.seconds_passed() - parts["pages"]
    unfinished = [name for name in names if timetable.time_spent(name).minutes < minutes]
    begins = time.time() + parts["images"]
    if (each := timetable.hours_of((ends - begins) / len(unfinished))) <= 0:
        raise _too_short(minutes, wanted - (ends - begins) + timetable.seconds_of(0.0) * len(unfinished))
    with _timed(parts):
        for place, name in enumerate(unfinished):
            begins = max(begins, time.time())
            moment = begins + (ends - begins) / (len(unfinished) - place)
            given = max(timetable.hours_of(moment - begins), each / 2)
            with _after(place):
                two_stages.spend(name, timetable.time_spent(name).hours + given, settings, two_stages.Until(moment, minutes))


@contextlib.contextmanager
def _timed(parts: Mapping[str, float]) -> Iterator[None]:
    """Print a forecast of the parts of this command, and note what set-up and measuring took."""
    if parts["measuring"] > 0:
        timetable.say(parts)
    timetable.note("setup", timetable.seconds_passed())
    begun = time.monotonic()
    yield
    images = timetable.read_note().get("taken", {}).get("images", 0.0)
    timetable.note("measuring", max(0.0, time.monotonic() - begun - images))


def check(names: Sequence[str], minutes: float, is_new: bool = False) -> None:
    """Raise PlimsollError if these studies cannot be measured in so many minutes in all. Nothing is measured.

    With `is_new` they begin again, so that minutes of earlier commands do not count.
    """
    known = designs.known()
    if without := [name for name in names if not studies.load(name, known).design.factors.STAGES]:
        raise PlimsollError(
            f"--minutes is for studies that are measured in stages, and not for {', '.join(without)}. Nothing was measured; "
            "leave --minutes out, or choose other studies."
        )
    unfinished = [name for name in names if is_new or timetable.time_spent(name).minutes < minutes]
    parts = timetable.foretell(names, minutes=minutes)
    around = sum(parts.values()) - parts["measuring"] + timetable.seconds_of(0.0) * len(unfinished)
    left = 60 * minutes if is_new else timetable.seconds_left(names, minutes)
    if unfinished and left <= around:
        raise _too_short(minutes, around)


def _too_short(minutes: float, around: float) -> PlimsollError:
    """Return the error for a time that leaves nothing beside set-up, images and pages, which take `around` seconds."""
    least = math.ceil(around / 60)
    return PlimsollError(
        f"--minutes {minutes:g} is too short: set-up, images, pages and the starts of the workflow take {least} minutes. "
        f"Nothing was measured; give some minutes more, such as --minutes {least + 5}."
    )


@contextlib.contextmanager
def _after(others: int) -> Iterator[None]:
    """Raise Incomplete if a study is refused after others have been measured. What they have is kept."""
    try:
        yield
    except PlimsollError as problem:
        if others and type(problem) is PlimsollError:
            raise Incomplete(f"{problem} The studies before it were measured, and are kept.") from problem
        raise

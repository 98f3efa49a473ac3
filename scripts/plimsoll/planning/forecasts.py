"""Forecasts: how many claims more hours of measuring would decide. One is made after each stage of measuring.

Forecasts are kept, so that they can be compared with what was decided later.
"""

import time
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict

from plimsoll import documents, spelling
from plimsoll.errors import hours_in_words
from plimsoll.measuring import record

FILE = "forecasts.json"
# Total hours of measuring for which a forecast is made.
HOURS = (1, 3, 10, 30)


class Decided(TypedDict):
    """Forecast of the number of claims that are decided after `hours` in all."""

    hours: float
    settled: int


class AnswerForecast(TypedDict):
    """How many of the `ratios` of a study's answer are `known`, and the total `hours` after which all should be known."""

    known: int
    ratios: int
    hours: float


class Forecast(TypedDict):
    """A forecast that was made after some hours of measuring; `read` explains its keys."""

    made: float
    hours: float
    settled: int
    testable: int
    forecasts: list[Decided]
    never: list[str]
    unknown: NotRequired[list[str]]
    answer: NotRequired[AnswerForecast]


class GivenTime(NamedTuple):
    """The `hours` that a study was measured for, and the `command` that continues until its whole answer is known."""

    hours: float
    command: str


def given_time(study: str, folder: Path) -> GivenTime | None:
    """Return the time that the study with these results was measured for; None if no time was given."""
    if not (made := read(folder)):
        return None
    hours, answered = made[-1]["hours"], made[-1].get("answer")
    more = answered["hours"] if answered else 2 * hours
    return GivenTime(hours, spelling.command("reproduce", study, hours=float(more)))


def read(folder: Path) -> list[Forecast]:
    """Return the forecasts in a study's results, the oldest first; empty if none was made. Raise DamagedFile if the file is
    damaged.

    Each forecast has these keys:

    - `made`: when it was made (seconds since 1970); `hours`: hours measured until then.
    - `settled`: number of the `testable` claims that were decided.
    - `forecasts`: number of claims that would be decided, after each number of hours.
    - `never`: claims that would not be decided even after the largest number of hours.
    - `unknown`: undecided claims for which it is unknown how many blocks they need.
    - `answer`: how far the study's answer is (AnswerForecast).
    """
    file = folder / FILE
    return documents.read(file, list[Forecast], "delete it, and only the forecasts are forgotten") if file.exists() else []


def add(folder: Path, **forecast: object) -> None:
    """Add a forecast to a study's results."""
    record.write(folder / FILE, [*read(folder), {"made": time.time(), **forecast}])


def rows(made: list[dict]) -> list[dict]:
    """Return forecasts as rows of a table.

    A row adds to a forecast: `foretold`, its numbers by each of HOURS, and `earlier`, the numbers that earlier
    forecasts had for the hours of this one.
    """
    told = []
    for number, one in enumerate(made):
        foretold = {each["hours"]: each["settled"] for each in one["forecasts"]}
        earlier = [each["settled"] for old in made[:number] for each in old["forecasts"] if each["hours"] == one["hours"]]
        told.append({"unknown": [], **one, "foretold": {hours: foretold.get(hours) for hours in HOURS}, "earlier": earlier})
    return told


def sentence(study: str, made: list[dict]) -> str:
    """Describe the newest forecast in a sentence for the terminal."""
    one = made[-1]
    known = one.get("answer")
    answered = f"{known['known']} of {known['ratios']} ratios of the answer are known, and " if known else ""
    more = ", ".join(f"{each['settled']} after {each['hours']:g}" for each in one["forecasts"])
    never = f"; {len(one['never'])} not in {one['forecasts'][-1]['hours']:g}" if one["never"] else ""
    unknown = f", {len(one['unknown'])} cannot be forecast" if one.get("unknown") else ""
    return (
        f"{study}: {answered}{one['settled']} of {one['testable']} testable claims are decided after "
        f"{hours_in_words(one['hours'])} of measuring; forecast: {more or 'none'}{never}{unknown} "
        f"({spelling.command('reproduce', hours='...')} goes on)"
    )

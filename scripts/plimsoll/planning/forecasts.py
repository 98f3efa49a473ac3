"""How many findings more hours would settle, as it was foretold after each stage of measuring.

A forecast is kept, and later held against what came.
"""

import time
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict

from plimsoll import documents
from plimsoll.measuring import record

FILE = "forecasts.json"
# Hours of measuring, in all, that a forecast is made for.
HOURS = (1, 3, 10, 30)


class Settled(TypedDict):
    """How many findings would be settled after so many hours."""

    hours: float
    settled: int


class Answered(TypedDict):
    """How many of the `ratios` of a study's answer are `known`, and after how many `hours` in all every one should be."""

    known: int
    ratios: int
    hours: float


class Forecast(TypedDict):
    """What was foretold at a moment (`read`)."""

    made: float
    hours: float
    settled: int
    testable: int
    forecasts: list[Settled]
    never: list[str]
    unknown: NotRequired[list[str]]
    answer: NotRequired[Answered]


class Given(NamedTuple):
    """The `hours` that a study was measured for, and the command that goes on until its whole answer is `known`."""

    hours: float
    command: str


def given(study: str, folder: Path) -> Given | None:
    """Return the time that was given to the study whose results lie in a folder; None if no time was given."""
    if not (made := read(folder)):
        return None
    hours, answered = made[-1]["hours"], made[-1].get("answer")
    more = answered["hours"] if answered else 2 * hours
    return Given(hours, f"make reproduce STUDIES={study} HOURS={more:g}")


def read(folder: Path) -> list[Forecast]:
    """The forecasts in a study's results, the oldest first; none where none was made.

    Each says after how many `hours` it was `made` (seconds since 1970), how many of the `testable` findings were `settled`, how
    many would be after each number of hours (`forecasts`), which would not be after the largest (`never`), and of which of the
    open ones it is `unknown` what they would take.
    """
    file = folder / FILE
    return documents.read(file, list[Forecast], "delete it, and only the forecasts are forgotten") if file.exists() else []


def add(folder: Path, **forecast: object) -> None:
    """Add a forecast to those of a study's results."""
    record.write(folder / FILE, [*read(folder), {"made": time.time(), **forecast}])


def rows(made: list[dict]) -> list[dict]:
    """Forecasts as a table: after how many hours, what was settled, what was foretold by hours, and the numbers that
    `earlier` forecasts had for the hours of this one."""
    told = []
    for number, one in enumerate(made):
        foretold = {each["hours"]: each["settled"] for each in one["forecasts"]}
        earlier = [each["settled"] for old in made[:number] for each in old["forecasts"] if each["hours"] == one["hours"]]
        told.append({"unknown": [], **one, "foretold": {hours: foretold.get(hours) for hours in HOURS}, "earlier": earlier})
    return told


def sentence(study: str, made: list[dict]) -> str:
    """The newest forecast in words, for the terminal."""
    one = made[-1]
    known = one.get("answer")
    answered = f"{known['known']} of {known['ratios']} ratios of the answer are known, and " if known else ""
    more = ", ".join(f"{each['settled']} after {each['hours']:g}" for each in one["forecasts"])
    never = f"; {len(one['never'])} not in {one['forecasts'][-1]['hours']:g}" if one["never"] else ""
    unknown = f", {len(one['unknown'])} cannot be foretold" if one.get("unknown") else ""
    return (
        f"{study}: {answered}{one['settled']} of {one['testable']} testable claims are decided after {one['hours']:g} "
        f"hours of measuring; forecast: {more or 'none'}{never}{unknown} (make reproduce HOURS=... goes on)"
    )

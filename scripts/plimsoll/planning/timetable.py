"""How long a command takes from a bare machine to the page: set-up, images, measuring and pages, foretold and taken.

Set-up prints the forecast before it installs engines. This module imports no library, and reads of a study's file only the
few lines that it needs. So the forecast comes at once.
"""

import contextlib
import json
import math
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from plimsoll import paths

START = "PLIMSOLL_START"
# Seconds on a bare Debian with two cores of a Xeon and a mirror near by, where this machine has not taken them yet.
ENGINES, IMAGE = 38.0, 112.0
# Processor time of a figure, and time of all else that pages take: Snakemake, verdicts, tests, tables, report (s).
FIGURE, REST_OF_PAGES = 1.5, 44.0
# Pages that took longer than so many times the usual time are not remembered.
LONGEST_PAGES = 4
# Time of a stage of measuring outside its runs: Snakemake's start, observations, the choice of blocks (s).
STAGE = 25.0
STAGES = 2
# Share of the hours in which a study is measured (plimsoll.features.time_budget.two_stages).
MEASURED = 0.92
PARTS = {"setup": "set-up", "images": "images", "measuring": "measuring", "pages": "pages"}
# What this command foretold, and the times that this machine took, for later forecasts.
FORETOLD = paths.PROJECT / ".cache/timetable.json"
TAKEN = ".times.json"


class Study(NamedTuple):
    """What a forecast needs to know of a study.

    `hours` are those of a user who names none, or None. `has_stages` is whether given hours are spent in stages.
    """

    image: str
    figures: int
    hours: float | None
    has_stages: bool = True


class SpentTime(NamedTuple):
    """Time that a study was given: hours of measuring, and minutes in all where these were given."""

    hours: float
    minutes: float


def study(name: str) -> Study:
    """Read a study's file as far as forecasts need it. What is not there counts as nothing."""
    text = _text(paths.CONFIG / f"studies/{name}.yaml")
    figures = re.search(r"^figures:\n((?:[ #].*\n|\n)*)", text, re.MULTILINE)
    design = _text(paths.PROJECT / f"scripts/plimsoll/designs/{_value(text, 'design')}/factors.py")
    usual = re.search(r"^ *USUAL_HOURS = ([\d.]+)", design, re.MULTILINE)
    number = len(re.findall(r"^  [\w-]+:", figures[1], re.MULTILINE)) if figures else 0
    has_stages = re.search(r"^ *STAGES = True", design, re.MULTILINE) is not None
    return Study(_value(text, "image"), number, float(usual[1]) if usual else None, has_stages)


def selected(text: str) -> list[str]:
    """Return the names in a list of studies, as a user or the configuration gives it."""
    return re.findall(r"[\w-]+", text or _value(_text(paths.CONFIG / "config.yaml"), "studies"))


def foretell(studies: Iterable[str], hours: float | None = None, minutes: float | None = None) -> dict[str, float]:
    """Return the seconds of each part of a command. Measuring takes `hours` for each study, or what `minutes` in all leave.

    Without both, each study takes its usual hours. What is there already takes no time, and counts as spent.
    """
    names = list(studies)
    described = [study(name) for name in names]
    taken = _numbers(_read(paths.image_store() / TAKEN))
    # Images from a file (IMAGE) are not built.
    needed = set() if os.environ.get("IMAGE") else {one.image for one in described}
    missing = {name for name in needed if not any(paths.image_store().glob(f"{name}-*/image.json"))}
    parts = {
        "setup": ENGINES * _lacks_engines(),
        "images": sum(taken.get(f"image {name}", IMAGE) for name in missing),
        "measuring": 0.0,
        "pages": taken.get("rest of pages", REST_OF_PAGES) + FIGURE * sum(one.figures for one in described) / processors(),
    }
    wished = [(hours if one.has_stages else None) or one.hours or 0.0 for one in described]
    left = [each - time_spent(name).hours for name, each in zip(names, wished, strict=True)]
    wanted = sum(seconds_of(one) for one in left if one > 0)
    parts["measuring"] = wanted if minutes is None else seconds_left(names, minutes) - sum(parts.values())
    return parts


def time_spent(name: str) -> SpentTime:
    """Return the time that a study in this folder was given by commands that have ended."""
    noted = _read(Path("results", name, "repetitions.json")).get("hours")
    if not isinstance(noted, dict) or noted.get("stage") != "done":
        return SpentTime(0.0, 0.0)
    given = noted.get("given")
    hours = _numbers(dict(enumerate(given))) if isinstance(given, list) else {}
    return SpentTime(sum(hours.values()), _numbers(noted).get("minutes", 0.0))


def seconds_left(names: Iterable[str], minutes: float) -> float:
    """Return the seconds of `minutes` in all that the commands before this one have not taken for these studies."""
    return 60 * (minutes - min((time_spent(name).minutes for name in names), default=0.0))


def processors() -> int:
    """Return the number of processors that figures are drawn on."""
    return len(os.sched_getaffinity(0))


def seconds_of(hours: float) -> float:
    """Return how long the stages of a time budget take (s)."""
    return 3600 * MEASURED * hours + STAGES * STAGE


def hours_of(seconds: float) -> float:
    """Return the time budget whose stages take so long; below 0 if they take longer without measuring anything."""
    return (seconds - STAGES * STAGE) / 3600 / MEASURED


def say(parts: Mapping[str, float]) -> None:
    """Print the forecast, and keep it for the end, unless this command has done so before."""
    if read_note().get("start") == os.environ.get(START):
        return
    print(f"plimsoll: {sentence(parts)}", flush=True)
    _write(FORETOLD, {"start": os.environ.get(START), "foretold": dict(parts), "taken": {}})


def sentence(parts: Mapping[str, float]) -> str:
    """Return a forecast in one line."""
    return f"About {sum(parts.values()) / 60:.0f} min: {_clocks(parts)}."


def note(part: str, seconds: float) -> None:
    """Note how long a part of this command took, if it was foretold."""
    if (known := read_note()).get("start") == os.environ.get(START) and known:
        _write(FORETOLD, {**known, "taken": {**known["taken"], part: known["taken"].get(part, 0.0) + seconds}})


def read_note() -> dict:
    """Return what the last command foretold and took so far; empty if no command foretold anything."""
    known = _read(FORETOLD)
    parts = {key: _numbers(known.get(key)) for key in ("foretold", "taken")}
    return {"start": known.get("start"), **parts} if parts["foretold"] else {}


def seconds_passed() -> float:
    """Return the seconds since the start of this command; 0.0 if it is not known."""
    begun = re.fullmatch(r"(?:\d+-)?(\d{18,20})", os.environ.get(START, ""))
    return max(0.0, time.time() - int(begun[1]) / 1e9) if begun else 0.0


def measured_by() -> float | None:
    """Return when measuring should be done (s since 1970), as this command foretold it; None if it foretold nothing."""
    known = read_note()
    if not known or known["start"] != os.environ.get(START):
        return None
    return time.time() - seconds_passed() + sum(known["foretold"].values()) - known["foretold"].get("pages", 0.0)


def note_image(name: str, seconds: float) -> None:
    """Note how long an image took. One that was built, and not merely found, is remembered for later forecasts."""
    note("images", seconds)
    if seconds > IMAGE / 10:
        remember(f"image {name}", seconds)


def summary(figures: int) -> str:
    """Return in one line what this command took beside what it foretold; empty if it foretold nothing.

    What no part has noted was for the pages, which have so many figures.
    """
    known = read_note()
    if not known or known["start"] != os.environ.get(START):
        return ""
    foretold, whole = sum(known["foretold"].values()), seconds_passed()
    taken = {name: known["taken"].get(name, 0.0) for name in PARTS}
    taken["pages"] = max(0.0, whole - sum(taken.values()))
    rest = taken["pages"] - FIGURE * figures / processors()
    # A command that also waited, or measured studies as a whole, says nothing about pages.
    if taken["measuring"] and 0 <= rest <= LONGEST_PAGES * REST_OF_PAGES:
        remember("rest of pages", rest)
    difference = f"{round(100 * (whole / foretold - 1)):+d} %".replace("-", "\N{MINUS SIGN}")
    return f"{clock(whole)} in all, {clock(foretold)} were forecast ({difference}): {_clocks(taken)}."


def remember(name: str, seconds: float) -> None:
    """Keep a time that this machine took, for later forecasts. Nothing is kept where the image store cannot be written."""
    path = paths.image_store() / TAKEN
    _write(path, {**_read(path), name: round(seconds, 1)})


def clock(seconds: float) -> str:
    """Return seconds as minutes and seconds: 8:05."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"


def _clocks(parts: Mapping[str, float]) -> str:
    return ", ".join(f"{PARTS[name]} {clock(seconds)}" for name, seconds in parts.items())


def _lacks_engines() -> bool:
    places = [*os.environ.get("PATH", "").split(os.pathsep), str(paths.tool_prefix() / "apptainer/bin")]
    there = {
        name for name in ("dockerd", "docker", "apptainer", "singularity") if any(Path(one, name).exists() for one in places)
    }
    return not there & {"dockerd", "docker"} or not there & {"apptainer", "singularity"}


def _value(text: str, key: str) -> str:
    """Return the value of a key at the beginning of a line of YAML."""
    found = re.search(rf"^{key}: *([^#\n]*)", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def _read(path: Path) -> dict:
    try:
        content = json.loads(_text(path) or "{}")
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _numbers(content: object) -> dict[str, float]:
    items = content.items() if isinstance(content, dict) else ()
    return {key: value for key, value in items if isinstance(value, (int, float)) and math.isfinite(value)}


def _write(path: Path, content: dict) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.new")
        temporary.write_text(json.dumps(content) + "\n")
        temporary.rename(path)


def main() -> None:
    """Print the forecast of the command that calls set-up, from its environment variables."""
    with contextlib.suppress(OSError):
        there = Path(os.environ.get("DIRECTORY") or ".")
        there.mkdir(parents=True, exist_ok=True)
        os.chdir(there)
    amounts = {}
    for name in ("HOURS", "MINUTES"):
        with contextlib.suppress(ValueError):
            amounts[name.lower()] = float(os.environ.get(name, ""))
    names = selected(os.environ.get("STUDIES", ""))
    parts, passed = foretell(names, **amounts), seconds_passed()
    # The Python environment was made in this time, which is a part of the minutes in all.
    parts["setup"] += passed
    parts["measuring"] -= passed if "minutes" in amounts else 0.0
    if parts["measuring"] > 0:
        say(parts)


if __name__ == "__main__":
    sys.exit(main())

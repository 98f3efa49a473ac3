"""What the user asks of `plimsoll try`, checked."""

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from plimsoll.designs.program.check import check_name, check_pattern
from plimsoll.errors import PlimsollError, quote
from plimsoll.features.try_program import folder_copy
from plimsoll.features.try_program.ranks import THREADS, Ranks

# Largest folder that is copied for a study (bytes).
LARGEST = 2**30
MOST = 1_000_000
NAME = re.compile("[a-z0-9]+(-[a-z0-9]+)*")
BETTER = ("higher", "lower")


class Metric(NamedTuple):
    """A number in the program's output: found by a pattern, or by a key in a JSON file."""

    name: str
    better: str
    pattern: str | None = None
    file: str | None = None
    key: str | None = None


class StudyOptions(NamedTuple):
    """A study to make. At most one of `image` and `packages` is given. Without them the host's own program is packed."""

    command: tuple[str, ...]
    name: str
    folder: Path | None
    image: str | None
    packages: tuple[str, ...]
    metrics: tuple[Metric, ...]
    filters: tuple[str, ...]
    check: tuple[str, ...]
    variables: dict[str, str]
    minutes: float
    width: float
    limit: float
    ranks: Ranks | None = None
    beside: tuple[str, ...] = ()
    runtimes: tuple[str, ...] = ()


def metric(text: str, better: str | None) -> Metric:
    """Return the metric of `name=pattern`, or of `name=file.json:key`. Raise PlimsollError for another text."""
    name, equals, rest = text.partition("=")
    if not equals or not name.replace("_", "").isalnum() or name != name.lower() or not rest:
        raise PlimsollError(
            f"--metric {quote(text)}: give a name in lower case, =, and a pattern: --metric 'rate=rate: ([0-9.]+)'."
        )
    if better not in BETTER:
        raise PlimsollError(f"--metric {name}: is more of it better, or less? Add --better higher or --better lower.")
    check_name(f"--metric {name}", name)
    file, colon, key = rest.partition(":")
    if colon and file.endswith(".json"):
        return Metric(name, better, file=file, key=key)
    if check_pattern(f"--metric {name}", rest).groups != 1:
        raise PlimsollError(f"--metric {name}: {quote(rest)} must have one group, ( ), around the number.")
    return Metric(name, better, pattern=rest)


def metrics(given: Sequence[str], ways: Sequence[str]) -> tuple[Metric, ...]:
    """Return the metrics of texts (`metric`), with what is better of each in their order. Raise PlimsollError if two have
    one name, or if there are more ways than metrics."""
    if len(ways) > len(given):
        raise PlimsollError(
            "There are more --better than --metric. Nothing was measured. Give each --metric one --better, in the same order."
        )
    found = tuple(metric(text, ways[place] if place < len(ways) else None) for place, text in enumerate(given))
    names = [one.name for one in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise PlimsollError(f"--metric {twice[0]}: two metrics have this name. Give each a name of its own.")
    return found


def export_path(file: Path | None, option: str = "--export-hyperfine") -> Path | None:
    """Return the path of a file to write. Raise PlimsollError, which names the option, if it cannot be written."""
    if file and (file.is_dir() or not file.absolute().parent.is_dir()):
        raise PlimsollError(f"{option} {file}: this is a folder, or its folder is not there. Nothing was measured.")
    return file


def filters(given: Iterable[str]) -> tuple[str, ...]:
    """Return patterns of what may differ. Raise PlimsollError for a text that is no pattern."""
    return tuple(check_pattern("--filter", one).pattern for one in given)


def folder_of(command: tuple[str, ...], given: Path | None) -> Path | None:
    """Return the folder that the program works in: the one that is given, or this one if the command names a file in it.

    Raise PlimsollError if it is not a folder, or is too large to be copied.
    """
    folder = given or (Path.cwd() if any(_is_here(word) for word in command) else None)
    if folder is None:
        return None
    if not folder.is_dir():
        raise PlimsollError(f"{folder} is no folder: --folder names the one that the program works in.")
    size = 0
    for path in folder_copy.paths(folder):
        size += path.lstat().st_size
        if size > LARGEST:
            raise PlimsollError(
                f"{folder.resolve()} has more than {LARGEST >> 30} GiB, and is copied for the study: put what the program "
                "needs into a folder of its own, and name that with --folder."
            )
    return folder.resolve()


def _is_here(word: str) -> bool:
    path = Path(word)
    # A program's text (python3 -c TEXT) may be longer than a path may be.
    return word not in ("", ".") and not path.is_absolute() and not word.startswith("-") and os.path.exists(path)


def name(text: str) -> str:
    """Return the name of a study. Raise PlimsollError if its id would not be one."""
    if not NAME.fullmatch(text):
        raise PlimsollError(f"--name {quote(text)}: give lower-case letters, digits and single dashes, such as solver-2.")
    return text


def variables(given: Iterable[str]) -> dict[str, str]:
    """Return variables by name, from words such as NAME=VALUE. Raise PlimsollError for another word."""
    pairs = [word.partition("=") for word in given]
    if wrong := [name for name, equals, _ in pairs if not (name and equals)]:
        raise PlimsollError(f"--env {quote(wrong[0])}: give a name, =, and a value.")
    return {name: value for name, _, value in pairs}


def of_threads(number: int | None) -> dict[str, str]:
    """Return the variables that give a program this number of threads, bound to processors; none without a number."""
    if number is None:
        return {}
    positive(number, "--threads")
    return {**dict.fromkeys(THREADS, str(number)), "OMP_PROC_BIND": "true"}


def positive(number: float, option: str) -> float:
    """Return a number that is above 0. Raise PlimsollError, which names the option, for another one."""
    if not 0 < number < MOST:
        raise PlimsollError(f"{option} {number:g}: give a number above 0, and below {MOST}.")
    return number


def share(text: str, option: str) -> float:
    """Return a share from a text such as 5% or 0.05. Raise PlimsollError, which names the option, for another text."""
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise PlimsollError(f"{option} {quote(text)}: give a share such as 5%.")
    return number


def words(text: str | None) -> tuple[str, ...]:
    """Return a command line as words. Raise PlimsollError for open quotes."""
    try:
        return tuple(shlex.split(text or ""))
    except ValueError as problem:
        raise PlimsollError(f"{quote(text or '')} is no command: {problem}.") from problem

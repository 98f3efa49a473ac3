"""What the user asks of `plimsoll try`, checked."""

import os
import re
import shlex
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from plimsoll.designs.program.check import check_name, check_pattern
from plimsoll.errors import PlimsollError, quote
from plimsoll.features.try_program import folder_copy
from plimsoll.features.try_program.ranks import THREADS, Ranks

# Largest folder that is copied for a study (bytes).
LARGEST = 2**30
# Numbers of options are within these.
LEAST, MOST = 0.001, 1_000_000
# Folders of which containers have nothing.
OF_HOST_ALONE = ("/tmp", "/var/tmp", "/run", "/var/run")
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
            f"--metric {quote(text)} is not a name in lower case, =, and a pattern. Nothing was measured. Type it as in "
            "--metric 'rate=rate: ([0-9.]+)'."
        )
    if better not in BETTER:
        raise PlimsollError(
            f"--metric {name}: is more of it better, or less? Nothing was measured. Add --better higher or --better lower."
        )
    check_name(f"--metric {name}", name)
    file, colon, key = rest.partition(":")
    if colon and file.endswith(".json"):
        _refuse_file(name, file, key)
        return Metric(name, better, file=file, key=key)
    if check_pattern(f"--metric {name}", rest).groups != 1:
        raise PlimsollError(
            f"--metric {name}: {quote(rest)} must have one group, ( ), around the number. Nothing was measured."
        )
    return Metric(name, better, pattern=rest)


def _refuse_file(name: str, file: str, key: str) -> None:
    """Raise PlimsollError for a JSON file of a metric that is not in the folder of a run, or without a key."""
    if os.path.isabs(file) or folder_copy.leaves(file):
        raise PlimsollError(
            f"--metric {name}: {quote(file)} is not in the folder that the program works in. Nothing was measured. Let it "
            f"write the file there, and give its path in that folder: --metric {name}={os.path.basename(file)}:KEY."
        )
    if not key:
        raise PlimsollError(f"--metric {name}: the key in {quote(file)} is missing. Nothing was measured. Add it: {file}:KEY.")


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
        raise PlimsollError(
            f"--metric {twice[0]}: two metrics have this name. Nothing was measured. Give each a name of its own."
        )
    return found


def refuse_unwritable(file: Path | None, option: str = "--export-hyperfine") -> None:
    """Raise PlimsollError, which names the option, if a file cannot be written. Without a file, nothing is checked."""
    if file is None:
        return
    folder = file.absolute().parent
    if file.is_dir() or not folder.is_dir():
        raise PlimsollError(f"{option} {file}: this is a folder, or its folder is not there. Nothing was measured.")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise PlimsollError(f"{option} {file}: you may not write it. Nothing was measured. Name a file in another folder.")


def refuse_empty(given: Mapping[str, str | None]) -> None:
    """Raise PlimsollError if an option has an empty value, as that of a variable of a shell that is not set."""
    for option, value in given.items():
        if value is not None and not value.strip(" ,\t"):
            raise PlimsollError(f"{option} has an empty value. Nothing was measured. Give it one, or leave the option out.")


def refuse_input(command: Sequence[str]) -> None:
    """Raise PlimsollError if standard input is a file, because runs of the program have no input."""
    try:
        kind = os.fstat(0).st_mode
    except OSError:
        return
    if stat.S_ISREG(kind):
        by_shell = shlex.quote(f"{shlex.join(command)} < FILE")
        raise PlimsollError(
            "Standard input is a file, and runs of the program have an empty input. Nothing was measured. Let a shell read the "
            f"file: plimsoll try -- sh -c {by_shell}. If it needs no input, add </dev/null."
        )


def filters(given: Iterable[str]) -> tuple[str, ...]:
    """Return patterns of what may differ. Raise PlimsollError for a text that is no pattern."""
    return tuple(check_pattern("--filter", one).pattern for one in given)


def folder_of(command: tuple[str, ...], given: Path | None, checking: tuple[str, ...] = ()) -> Path | None:
    """Return the folder that the program works in: the one that is given, or this one if the command names a file in it.

    `command` has the words of all commands that run in containers, and `checking` those of a check, which runs on this host.
    Raise PlimsollError if it is not a folder, or is too large to be copied, or if a word names a file that runs would not find.
    """
    folder = given or (Path.cwd() if any(map(_is_here, (*command, *checking))) else None)
    for word in (*command, *(word for word in checking if not os.path.isabs(word))):
        _refuse_unreachable(word, folder.resolve() if folder else None)
    if folder is None:
        return None
    if not folder.is_dir():
        raise PlimsollError(f"{folder} is no folder. Nothing was measured. --folder names the one that the program works in.")
    size = 0
    for path in folder_copy.paths(folder):
        size += path.lstat().st_size
        if size > LARGEST:
            raise PlimsollError(
                f"{folder.resolve()} has more than {LARGEST >> 30} GiB, and is copied for the study. Nothing was measured. Put "
                "what the program needs into a folder of its own, and name that with --folder."
            )
    return folder.resolve()


def _is_here(word: str) -> bool:
    path = Path(word)
    # A program's text (python3 -c TEXT) may be longer than a path may be.
    return word not in ("", ".") and not path.is_absolute() and not word.startswith("-") and os.path.exists(path)


def _refuse_unreachable(word: str, folder: Path | None) -> None:
    """Raise PlimsollError if a word of a command names a file that runs do not find. `folder` is copied for them."""
    if not word or word.startswith("-") or not os.path.exists(Path(folder or "", word)):
        return
    path = Path(os.path.normpath(word))
    if not path.is_absolute():
        if folder_copy.leaves(path):
            raise PlimsollError(
                f"{word} is outside of {folder or Path.cwd()}, and each run has a folder of its own, so no run would find it. "
                "Nothing was measured. Put all that the program needs into one folder, and name that with --folder."
            )
        return
    real = path.parent.resolve() / path.name
    if folder and real.is_relative_to(folder):
        inside = shlex.quote(f"./{real.relative_to(folder)}")
        raise PlimsollError(
            f"{word} is in the folder that is copied for each run, and containers do not have it at this path. Nothing was "
            f"measured. Type {inside}."
        )
    if path.is_file() and any(path.is_relative_to(place) for place in OF_HOST_ALONE):
        raise PlimsollError(
            f"{word} is a file of this host's, and containers have nothing of that folder. Nothing was measured. Put it into "
            "the folder with the program; or delete it, if the program makes it."
        )


def name(text: str) -> str:
    """Return the name of a study. Raise PlimsollError if its id would not be one."""
    if not NAME.fullmatch(text):
        raise PlimsollError(
            f"--name {quote(text)}: it has other characters than lower-case letters, digits and single dashes. Nothing "
            "was measured. Take one such as solver-2."
        )
    return text


def variables(given: Iterable[str]) -> dict[str, str]:
    """Return variables by name, from words such as NAME=VALUE. Raise PlimsollError for another word."""
    pairs = [word.partition("=") for word in given]
    if wrong := [name for name, equals, _ in pairs if not (name and equals)]:
        raise PlimsollError(f"--env {quote(wrong[0])}: it is not a name, =, and a value. Nothing was measured.")
    return {name: value for name, _, value in pairs}


def of_threads(number: int | None) -> dict[str, str]:
    """Return the variables that give a program this number of threads, bound to processors; none without a number.

    Raise PlimsollError for a number below 1, or above that of the processors.
    """
    if number is None:
        return {}
    there = len(os.sched_getaffinity(0))
    if not 1 <= number <= there:
        raise PlimsollError(
            f"--threads {number}: this host has {there} processors, and threads that share one would be measured waiting for "
            f"each other. Nothing was measured. Give a number from 1 to {there}."
        )
    return {**dict.fromkeys(THREADS, str(number)), "OMP_PROC_BIND": "true"}


def positive(number: float, option: str) -> float:
    """Return a number. Raise PlimsollError, which names the option, for one below LEAST or not below MOST."""
    if not LEAST <= number < MOST:
        raise PlimsollError(f"{option} {number:g}: it is not at least {LEAST} and below {MOST}. Nothing was measured.")
    return number


def share(text: str, option: str) -> float:
    """Return a share from a text such as 5% or 0.05. Raise PlimsollError, which names the option, for another text."""
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise PlimsollError(f"{option} {quote(text)}: it is not a share such as 5%. Nothing was measured.")
    return number


def words(text: str | None) -> tuple[str, ...]:
    """Return a command line as words. Raise PlimsollError for open quotes."""
    try:
        return tuple(shlex.split(text or ""))
    except ValueError as problem:
        raise PlimsollError(f"{quote(text or '')} is no command: {problem}. Nothing was measured.") from problem

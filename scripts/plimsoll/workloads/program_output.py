"""Read what programs print, strictly: an output that is incomplete or mixed with other output gives no number.

A program always prints the same lines, and a pattern has all of them. So a line that is missing or doubled is detected.
A number with a fixed number of decimals that was cut in half is detected too.
"""

import json
import math
import os
import re
from itertools import zip_longest
from pathlib import Path

from plimsoll.errors import quote
from plimsoll.host import run_files
from plimsoll.workloads.base import InvalidOutput

# Upper limit of an output that is read (bytes); no measured program prints as much.
MOST_BYTES = 2**22
# Size of the end of a failed program's output that is read (bytes).
LAST_BYTES = 2**16
# Numbers as C prints them, without a sign: %d, and %g.
INTEGER = "[0-9]+"
GENERAL = r"[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]{2,3})?"
# The rest of a line, whatever it is.
REST = r"[^\n]*"


def fixed_point(digits: int) -> str:
    """Return the pattern of a number with this many digits after the point (%.3f)."""
    return rf"[0-9]+\.[0-9]{{{digits}}}"


def named_numbers(**kinds: str) -> str:
    """Return the pattern of lines `name=number`, in this order. Each value is the pattern of its number."""
    return "".join(f"{name}=(?P<{name}>{kind})\n" for name, kind in kinds.items())


def text_of(path: Path, most: int = MOST_BYTES) -> str:
    """Return what a program has printed into a file.

    Raise InvalidOutput if it cannot be read, or is longer than `most` bytes.
    """
    try:
        with run_files.reading(path) as file:
            content = file.read(most + 1)
    except OSError as error:
        raise InvalidOutput(f"it left no {path.name}") from error
    if len(content) > most:
        raise InvalidOutput(f"its {path.name} is longer than {most >> 20} MiB")
    return content.decode(errors="replace")


def lines(path: Path) -> list[str]:
    """Return the lines of a file, or of its end if it is long; none if it cannot be read."""
    try:
        with run_files.reading(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_BYTES))
            said = file.read(LAST_BYTES).decode(errors="replace")
    except OSError:
        return []
    return [line.strip() for line in said.splitlines()]


def last_lines(path: Path) -> list[str]:
    """Return the lines at the end of a file that are not empty; none if it cannot be read.

    A program that fails says why at the end, and its output before may be long.
    """
    return [line for line in lines(path) if line]


def last_line(path: Path, otherwise: str) -> str:
    """Return the last line of a file that is not empty, or `otherwise` if all lines are empty or the file cannot be read."""
    lines = last_lines(path)
    return lines[-1] if lines else otherwise


def numbers(pattern: str, text: str) -> dict[str, float]:
    """Return the numbers in a text, by the names of the pattern's groups.

    Raise InvalidOutput unless the pattern matches the whole text.
    """
    whole = re.fullmatch(pattern, text)
    if not whole:
        raise InvalidOutput(_difference(pattern, text))
    return {name: number(text) for name, text in whole.groupdict().items() if text is not None}


def number(text: str) -> float:
    """Return a number that was printed in decimal digits.

    Raise InvalidOutput if it is no number, or too large for any computer.
    """
    if not re.fullmatch(f"-?{GENERAL}", text) or not math.isfinite(value := float(text)):
        raise InvalidOutput(f"it printed {quote(text)} for a number")
    return value


def agree(what: str, printed: float, computed: float, share: float, least: float = 0.0) -> None:
    """Raise InvalidOutput if a printed number differs from the one computed from other printed numbers.

    A difference up to a `share` of the computed number, or up to `least` if that is more, is accepted.
    """
    if not abs(printed - computed) <= max(share * abs(computed), least):
        raise InvalidOutput(f"it printed {printed:g} for its {what}, and {computed:g} by its other numbers")


def document(path: Path, digits: int) -> object:
    """Return the JSON document that one of our programs has written.

    It prints fractions with this number of `digits`. It does not escape names, not even those in which the kernel
    escapes characters (\\x2d in the name of a cgroup). Raise InvalidOutput if the document is missing or incomplete.
    """

    def fraction(text: str) -> float:
        if not re.fullmatch(f"-?{fixed_point(digits)}", text):
            raise ValueError(f"{text} has not {digits} digits after the point")
        return float(text)

    try:
        text = re.sub(r"(?<!\\)\\x", r"\\\\x", text_of(path))
        return json.loads(text, parse_float=fraction, parse_constant=fraction)
    # A document may be nested too deeply for the parser.
    except (ValueError, RecursionError) as error:
        raise InvalidOutput(f"its {path.name} is no whole JSON document") from error


def _difference(pattern: str, text: str) -> str:
    """Say in words where a text differs from the pattern of a program's output."""
    if not text:
        return "it printed nothing"
    lines = text.split("\n")
    for place, (line, wanted) in enumerate(zip_longest(lines, pattern.split("\n")), start=1):
        if line is None or (place == len(lines) and not line):
            return f"its output ends before line {place}"
        if wanted is None or not re.fullmatch(wanted, line):
            ending = ", where it ends" if place == len(lines) else ""
            return f"it did not print what it should: line {place} of its output is {quote(line)}{ending}"
    return "it did not print what it should"

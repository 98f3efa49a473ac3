"""What programs print, read strictly: an output that was cut off, or that something else has printed into, gives no number.

A program always prints the same lines. A pattern has all of them, so that a line that is missing, or there twice, is seen, and
a number that was cut in half where the program prints a fixed number of digits.
"""

import json
import math
import os
import re
from itertools import zip_longest
from pathlib import Path

from plimsoll.errors import shown
from plimsoll.host import shared
from plimsoll.workloads.base import InvalidOutput

# No program that is measured prints as much (bytes): what is longer is not read.
MOST_BYTES = 2**22
# Of what a program that failed has said, the end is read (bytes).
LAST_BYTES = 2**16
# Numbers as C prints them, without a sign: %d, and %g.
INTEGER = "[0-9]+"
GENERAL = r"[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]{2,3})?"
# The rest of a line, whatever it is.
REST = r"[^\n]*"


def fixed(digits: int) -> str:
    """The pattern of a number that is printed with so many digits after the point (%.3f)."""
    return rf"[0-9]+\.[0-9]{{{digits}}}"


def named(**kinds: str) -> str:
    """The pattern of lines `name=number`, in this order, each number of its kind."""
    return "".join(f"{name}=(?P<{name}>{kind})\n" for name, kind in kinds.items())


def text_of(path: Path, most: int = MOST_BYTES) -> str:
    """What a program has printed into a file; InvalidOutput if it cannot be read, or is longer than the `most` bytes that it
    may have."""
    try:
        with shared.reading(path) as file:
            content = file.read(most + 1)
    except OSError as error:
        raise InvalidOutput(f"it left no {path.name}") from error
    if len(content) > most:
        raise InvalidOutput(f"its {path.name} is longer than {most >> 20} MiB")
    return content.decode(errors="replace")


def lines(path: Path) -> list[str]:
    """The lines of a file, or of its end, if it is long; none if it cannot be read."""
    try:
        with shared.reading(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_BYTES))
            said = file.read(LAST_BYTES).decode(errors="replace")
    except OSError:
        return []
    return [line.strip() for line in said.splitlines()]


def last_lines(path: Path) -> list[str]:
    """The last lines of a file that have words; none if it cannot be read. A program that fails says why at the end, and what
    is before that may be long."""
    return [line for line in lines(path) if line]


def last_line(path: Path, otherwise: str) -> str:
    """The last line of a file that has words, or `otherwise`."""
    lines = last_lines(path)
    return lines[-1] if lines else otherwise


def numbers(pattern: str, text: str) -> dict[str, float]:
    """The numbers of a text, by the names of the pattern's groups. InvalidOutput unless all of the text is as the pattern has
    it."""
    whole = re.fullmatch(pattern, text)
    if not whole:
        raise InvalidOutput(_difference(pattern, text))
    return {name: number(text) for name, text in whole.groupdict().items() if text is not None}


def number(text: str) -> float:
    """A number that was printed in decimal digits; InvalidOutput if it is none, or too large for any computer."""
    if not re.fullmatch(f"-?{GENERAL}", text) or not math.isfinite(value := float(text)):
        raise InvalidOutput(f"it printed {shown(text)} for a number")
    return value


def agree(what: str, printed: float, computed: float, share: float, least: float = 0.0) -> None:
    """InvalidOutput unless a number that was printed is what others that were printed come to, within a `share` of it, or
    `least` if that is more."""
    if not abs(printed - computed) <= max(share * abs(computed), least):
        raise InvalidOutput(f"it printed {printed:g} for its {what}, and {computed:g} by its other numbers")


def document(path: Path, digits: int) -> object:
    """The JSON document that a program of ours has left, which prints all its fractions with so many digits, and names as they
    are, also those that the kernel escapes (\\x2d in the name of a group). InvalidOutput if there is none that is whole."""

    def fraction(text: str) -> float:
        if not re.fullmatch(f"-?{fixed(digits)}", text):
            raise ValueError(f"{text} has not {digits} digits after the point")
        return float(text)

    try:
        text = re.sub(r"(?<!\\)\\x", r"\\\\x", text_of(path))
        return json.loads(text, parse_float=fraction, parse_constant=fraction)
    # A document may be nested more deeply than anything can follow.
    except (ValueError, RecursionError) as error:
        raise InvalidOutput(f"its {path.name} is no whole JSON document") from error


def _difference(pattern: str, text: str) -> str:
    """In words, where a text differs from what a program prints."""
    if not text:
        return "it printed nothing"
    lines = text.split("\n")
    for place, (line, wanted) in enumerate(zip_longest(lines, pattern.split("\n")), start=1):
        if line is None or (place == len(lines) and not line):
            return f"its output ends before line {place}"
        if wanted is None or not re.fullmatch(wanted, line):
            ending = ", where it ends" if place == len(lines) else ""
            return f"it did not print what it should: line {place} of its output is {shown(line)}{ending}"
    return "it did not print what it should"

"""Mutations of files: how each one changes the bytes of a file. All chance comes from the generator that is given."""

import re
from collections.abc import Callable
from random import Random
from typing import NamedTuple

# A number in a text that is not a part of a word.
NUMBER = re.compile(rb"(?<![A-Za-z_0-9.])-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?(?![A-Za-z_0-9.])")
# Texts in the place of a number, after an error or by intent.
ODD_NUMBERS = (
    *(b"nan", b"NaN", b"-nan", b"inf", b"-inf", b"Infinity", b"0", b"-1", b"-0.0", b"0.000000", b"1e308", b"1e400", b"-1e400"),
    *(
        b"99999999999999999999",
        b"9" * 400,
        b"9" * 5000,
        b"1_000",
        b"0x10",
        b"1,5",
        b"1e",
        b".5",
        b"5.",
        b"+5",
        b"\xd9\xa3",
        b"",
    ),
)
GARBAGE = (
    b"\x00",
    b"\xff\xfe",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\x1b[31m",
    b"\r",
    b"\x0b",
    b"\x85",
    b"\xe2\x80\xa8",
    b"~",
    b"#",
    b" ",
    b"x",
)
LINES = (
    *(b"Segmentation fault\n", b"WARNING: something is wrong\n", b"1 2 3 4 5\n", b"a=1\n", b"\n", b"gflops=1000000.000000\n"),
    *(b"131072  16384  16384    1.00     99999.99   \n", b"Success=1\n", b"#" * 72 + b"\n", b"\x00" * 512, b"{}\n"),
)


class Mutation(NamedTuple):
    """A way in which a file is changed. With `damage` it is what a kill, a full disk, a bad sector or a second writer
    does to an output. A value from a damaged output must equal the value from the whole output. Without `damage` a
    number becomes another one, which only some outputs can show."""

    name: str
    damage: bool
    apply: Callable[[Random, bytes], bytes]


def truncate(random: Random, data: bytes) -> bytes:
    """Cut the file at a random place."""
    return data[: random.randrange(len(data))] if data else data


def truncate_near_the_end(random: Random, data: bytes) -> bytes:
    """Remove the last few bytes."""
    return data[: max(0, len(data) - random.randint(1, 40))]


def lose_a_part(random: Random, data: bytes) -> bytes:
    """Remove a part in the middle, from the end of a line to the end of another one."""
    lines = data.splitlines(keepends=True)
    begin, end = sorted(random.randrange(len(lines) + 1) for _ in range(2))
    return b"".join(lines[:begin] + lines[end:])


def drop_a_line(random: Random, data: bytes) -> bytes:
    """Remove a line."""
    return _lines(random, data, lambda lines, place: lines[:place] + lines[place + 1 :])


def double_a_line(random: Random, data: bytes) -> bytes:
    """Repeat a line."""
    return _lines(random, data, lambda lines, place: [*lines[: place + 1], *lines[place:]])


def swap_lines(random: Random, data: bytes) -> bytes:
    """Exchange two lines."""
    lines = data.splitlines(keepends=True)
    if len(lines) > 1:
        one, other = random.randrange(len(lines)), random.randrange(len(lines))
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def insert_a_line(random: Random, data: bytes) -> bytes:
    """Insert a line that something else has printed."""
    return _lines(random, data, lambda lines, place: [*lines[:place], random.choice(LINES), *lines[place:]])


def join_lines(random: Random, data: bytes) -> bytes:
    """Remove the end of a line, so that two lines are joined."""
    return _lines(random, data, lambda lines, place: [*lines[:place], lines[place].rstrip(b"\n"), *lines[place + 1 :]])


def cut_a_line(random: Random, data: bytes) -> bytes:
    """Cut the last part of a line."""

    def cut(lines: list[bytes], place: int) -> list[bytes]:
        line = lines[place].rstrip(b"\n")
        return [*lines[:place], line[: random.randrange(len(line) + 1)] + b"\n", *lines[place + 1 :]]

    return _lines(random, data, cut)


def cut_a_number(random: Random, data: bytes) -> bytes:
    """Cut the last digits of a number."""
    return _number(random, data, lambda text: text[: random.randrange(1, len(text))] if len(text) > 1 else text)


def spoil_a_number(random: Random, data: bytes) -> bytes:
    """Put garbage into a number."""

    def spoil(text: bytes) -> bytes:
        place = random.randrange(1, len(text)) if len(text) > 1 else 1
        return text[:place] + random.choice(GARBAGE) + text[place:]

    return _number(random, data, spoil)


def zero_a_sector(random: Random, data: bytes) -> bytes:
    """Fill a part with zeros, as in a sector that never reached the disk."""
    begin = random.randrange(len(data) + 1)
    length = min(len(data) - begin, random.choice((1, 2, 16, 512)))
    return data[:begin] + b"\x00" * length + data[begin + length :]


def insert_garbage(random: Random, data: bytes) -> bytes:
    """Insert bytes that are no text."""
    place = random.randrange(len(data) + 1)
    return data[:place] + random.choice((*GARBAGE, random.randbytes(random.randint(1, 8)))) + data[place:]


def twice(random: Random, data: bytes) -> bytes:
    """Repeat the whole file, as when two runs wrote into it."""
    return data + data


def empty(random: Random, data: bytes) -> bytes:
    """Replace the file by nothing, or by one byte, as when nothing was written."""
    return random.choice((b"", b"\n", b" ", b"\x00"))


def append(random: Random, data: bytes) -> bytes:
    """Append something after the end."""
    return data + random.choice((*LINES, b"x", b"1", b"\x00" * 4096, data[: random.randrange(len(data) + 1)]))


def odd_number(random: Random, data: bytes) -> bytes:
    """Replace a number by an impossible one, or by a text that is no number."""
    return _number(random, data, lambda text: random.choice(ODD_NUMBERS))


def other_unit(random: Random, data: bytes) -> bytes:
    """Convert a number to another unit, with as many digits after the point as before."""

    def scaled(text: bytes) -> bytes:
        digits = len(text.partition(b".")[2])
        value = float(text) * random.choice((1e-6, 1e-3, 1 / 60, 60, 1000, 1024, 1e6, 1e9))
        return f"{value:.{digits}f}".encode() if b"e" not in text else f"{value:e}".encode()

    return _number(random, data, scaled)


def flip_a_bit(random: Random, data: bytes) -> bytes:
    """Flip one bit, or several."""
    spoiled = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 8))):
        if spoiled:
            spoiled[random.randrange(len(spoiled))] ^= 1 << random.randrange(8)
    return bytes(spoiled)


def lose_bytes(random: Random, data: bytes) -> bytes:
    """Remove some bytes."""
    begin = random.randrange(len(data) + 1)
    return data[:begin] + data[begin + random.randint(1, 8) :]


def repeat_a_part(random: Random, data: bytes) -> bytes:
    """Repeat some bytes many times."""
    begin = random.randrange(len(data) + 1)
    part = data[begin : begin + random.randint(1, 16)]
    return data[:begin] + part * random.choice((2, 3, 100, 10_000)) + data[begin:]


def random_bytes(random: Random, data: bytes) -> bytes:
    """Replace the whole file by random bytes."""
    return random.randbytes(random.choice((1, 10, 1000)))


def _lines(random: Random, data: bytes, change: Callable[[list[bytes], int], list[bytes]]) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(change(lines, random.randrange(len(lines)))) if lines else data


def _number(random: Random, data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    one = random.choice(found)
    return data[: one.start()] + change(one[0]) + data[one.end() :]


DAMAGE = (
    *(truncate, truncate_near_the_end, lose_a_part, drop_a_line, double_a_line, swap_lines, insert_a_line, join_lines),
    *(cut_a_line, cut_a_number, spoil_a_number, zero_a_sector, insert_garbage, twice, empty, append),
)
CHANGE = (odd_number, other_unit, flip_a_bit, lose_bytes, repeat_a_part, random_bytes)
OF_TEXT = (*(Mutation(one.__name__, True, one) for one in DAMAGE), *(Mutation(one.__name__, False, one) for one in CHANGE))

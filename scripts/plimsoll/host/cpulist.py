"""Processor lists as the kernel writes them, such as 0-3,18-21."""

import re
from collections.abc import Iterable

# Upper limit: no kernel has as many processors or memory nodes.
MOST = 2**16
PART = re.compile("([0-9]{1,5})(?:-([0-9]{1,5}))?")


def parse(text: str) -> list[int]:
    """Return the processor numbers of a list such as '0-3,18'; an empty text gives an empty list.

    Raise ValueError on other text, and on a list of more than MOST numbers.
    """
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        if not (ends := PART.fullmatch(part.strip())):
            raise ValueError(f"{part[:20]!r} is no list of processors")
        numbers.extend(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
        if len(numbers) > MOST:
            raise ValueError(f"{text[:20]!r}... has more than {MOST} entries")
    return numbers


def format(numbers: Iterable[int]) -> str:
    """Return the shortest list of these numbers, sorted: [0, 1, 2, 18] gives '0-2,18'."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)

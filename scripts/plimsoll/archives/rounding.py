"""Tables that are the same but for the last digits of their numbers: not all processors round alike."""

import csv
import io
import math

# Two numbers are the same that differ by no more than this, relatively; near 0, by no more than the second.
RELATIVE, ABSOLUTE = 1e-9, 1e-12


def alike(one: bytes, other: bytes) -> bool:
    """Whether two CSV files have the same cells: the same text, or the same number but for its last digits."""
    tables = [list(csv.reader(io.StringIO(text.decode(errors="replace"), newline=""))) for text in (one, other)]
    rows = list(zip(*tables, strict=False))
    return len(tables[0]) == len(tables[1]) and all(
        len(first) == len(second) and all(map(_same, first, second)) for first, second in rows
    )


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    except ValueError:
        return False

"""Compare tables whose numbers may differ in their last digits, because not all processors round alike."""

import csv
import io
import math

# Largest relative difference between numbers that count as equal; near 0, the largest absolute difference.
RELATIVE, ABSOLUTE = 1e-9, 1e-12


def same_values(one: bytes, other: bytes) -> bool:
    """Whether two CSV files have the same cells: the same text, or the same number except for its last digits."""
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

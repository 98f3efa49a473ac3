"""A change of a metric in words: its size, its interval, and a comparison. A change is a row of effects.table."""

import math

# A change that at least doubles the metric is a factor in sentences, and so is one that more than halves a time.
DOUBLED, HALVED = 1.0, -0.5
# Verbs of a comparison: as in "it takes less time", and as in "Docker makes it take less time".
IT, MAKES_IT = ("is ", "takes "), ("", "take ")


def is_time(metric: dict) -> bool:
    """Return whether a metric is a time of the program that every run has."""
    return metric["source"] == "program" and metric["unit"] == "s"


def factors(row, metric: dict) -> tuple[float, float, float] | None:
    """Return a change and its 95 % interval as factors: times as much, or times as fast for a time that is more than halved.

    Return None for a smaller change, which sentences have in per cent.
    """
    middle, low, high = (1 + share for share in (row.change, row.low, row.high))
    if row.change >= DOUBLED:
        return middle, low, high
    return (1 / middle, 1 / high, 1 / low) if row.change < HALVED and is_time(metric) else None


def amount(row, metric: dict) -> str:
    """Return how large a change is: `29 %` or `a factor of 3.1`; `a gain of 9.1 %` or `a gain by a factor of 8.3`."""
    told = factors(row, metric)
    text = f"a factor of {told[0]:.1f}" if told else size(row.change)
    is_loss = (row.change > 0) == (metric["better"] == "lower")
    return text if is_loss else f"a gain {'by' if told else 'of'} {text}"


def compared(row, metric: dict, verbs: tuple[str, str] = IT) -> str:
    """Return a change in words that end before what it is compared with: `is 32 % slower than`, `is 8.3 times as fast as`.

    `verbs` are IT or MAKES_IT.
    """
    (be, take), told, is_less = verbs, factors(row, metric), row.change < 0
    if not is_time(metric):
        label = f"({metric['label']})"
        word = "lower" if is_less else "higher"
        return f"{be}{told[0]:.1f} times as high {label} as" if told else f"{be}{size(row.change)} {word} {label} than"
    if told:
        return f"{be}{told[0]:.1f} times as {'fast' if is_less else 'slow'} as"
    return f"{take}{size(row.change)} less time than" if is_less else f"{be}{size(row.change)} slower than"


def interval(row, metric: dict) -> str:
    """Return the 95 % interval of a change: in per cent, or of factors if the change is one in sentences."""
    told = factors(row, metric)
    return f"[{told[1]:.1f}, {told[2]:.1f}]" if told else per_cent(row)


def per_cent(row) -> str:
    """Return the 95 % interval of a change in per cent."""
    return f"[{100 * row.low:+.1f}, {100 * row.high:+.1f}]"


def size(share: float) -> str:
    """Return a share without its sign as per cent, with two figures below 10 %."""
    number = 100 * abs(share)
    return f"{number:.0f} %" if number >= 10 else f"{number:.1f} %"


def bound(share: float) -> str:
    """Return a share as per cent that follows "at most" or "within": as `size` does, but rounded up, and never 0.0 %."""
    tenths = max(1, math.ceil(round(1000 * abs(share), 6)))
    return f"{tenths / 10:.1f} %" if tenths < 100 else f"{math.ceil(round(100 * abs(share), 6))} %"

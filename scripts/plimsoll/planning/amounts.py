"""Check amounts that users give on a command line."""

import math

from plimsoll.errors import PlimsollError

# The time of a user who gives none: each design has its own.
USUAL = "usual"


def hours(text: str) -> float | None:
    """Parse a time in hours; None for USUAL. Raise PlimsollError for a text that is no time."""
    return None if text == USUAL else positive(text, f"--hours {text}", "--hours", "give hours, such as 1 or 0.15")


def minutes(text: str) -> float:
    """Parse a time in minutes. Raise PlimsollError for a text that is no time."""
    return positive(text, f"--minutes {text}", "--minutes", "give minutes in all, such as 12")


def positive(text: str, given: str, name: str, hint: str) -> float:
    """Return a number above 0 and finite. Raise PlimsollError for any other text.

    For the message, `given` is the text with its name, `name` the name alone, and `hint` says what to give.
    """
    try:
        value = float(text)
    except ValueError:
        raise PlimsollError(f"{given} is not a number: {hint}.") from None
    if not 0 < value < math.inf:
        raise PlimsollError(f"{name} must be above 0 and finite, and {text} is not: {hint}.")
    return value

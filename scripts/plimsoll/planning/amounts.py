"""Check amounts that users give on a command line."""

import math

from plimsoll.errors import PlimsollError


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

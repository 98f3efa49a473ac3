"""Claims about simulated cells, as files of claims would have them."""

from plimsoll.claims import verdicts

# The size that claims print if they have one, as a relative difference.
SIZE = 0.1


def claim(expected: str, a: list[int], b: list[int] | None = None, **other) -> dict:
    """Return a claim about cells, which are numbers; `other` fields are a claim's own."""
    sides = {"a": {"cell": a}, **({"b": {"cell": b}} if b else {})}
    return {"id": "simulated-c1", "metrics": ["measured"], "needs": [], "expected": expected, **sides, **other}


def named(low: float = SIZE, high: float | None = None) -> dict:
    """Return the field of a claim that prints a size."""
    return {"magnitude": {"low": low, "high": low if high is None else high, "of": "(a - b) / b"}}


def single(a: list[int], b: list[int], **other) -> tuple[dict, ...]:
    """Return the four kinds of claims about one comparison: a difference, one with a size, likeness, and not worse."""
    return (
        claim("higher", a, b, **other),
        claim("higher", a, b, **other, **named()),
        claim("no_difference", a, b, **other),
        claim("not_lower", a, b, **other),
    )


def ruled(a: list[int], b: list[int]) -> tuple[dict, ...]:
    """Return claims for each rule that judges several comparisons, of each kind for which it is used."""
    several = [claim("higher", a, b, holds=holds) for holds in (verdicts.EACH, verdicts.MOST, verdicts.SOME, verdicts.AVERAGE)]
    for holds in (verdicts.EACH, verdicts.AVERAGE):
        several.append(claim("higher", a, b, holds=holds, **named()))
        several += [claim(expected, a, b, holds=holds) for expected in ("no_difference", "not_lower")]
    return tuple(several)

"""Strategies, alone and combined: a study names them and what each sets."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from plimsoll.designs.tuning.factors import AND, BASELINE


def parts(strategy: str) -> list[str]:
    """Return the single strategies of a combination."""
    return strategy.split(AND)


def settings(known: dict[str, dict], strategy: str) -> dict[str, str]:
    """Return the keys and values of Hadoop that a job is given, as texts. `known` are the study's strategies."""
    return {key: text(value) for part in parts(strategy) for key, value in known[part].get("settings", {}).items()}


def workers(known: dict[str, dict], strategy: str) -> int:
    """Return the number of workers of the cluster. `known` are the study's strategies."""
    return max(known[part].get("workers", known[BASELINE]["workers"]) for part in parts(strategy))


def text(value: object) -> str:
    """Return a value as Hadoop writes it: true and false are lower-case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def factorial(factors: Sequence[str]) -> Iterator[str]:
    """Yield every combination of strategies that are on or off, the baseline first: a full factorial design."""
    for number in range(len(factors) + 1):
        for together in combinations(factors, number):
            yield AND.join(together) or BASELINE


def levels(factors: Sequence[str], strategy: str) -> dict[str, int]:
    """Return 1 for each factor of a factorial design that is on in a strategy, and -1 for each that is off."""
    on = set(parts(strategy))
    return {factor: 1 if factor in on else -1 for factor in factors}

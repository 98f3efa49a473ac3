"""Strategies, alone and together: a study names them, and what each sets."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from plimsoll.designs.tuning.factors import AND, BASELINE


def parts(strategy: str) -> list[str]:
    """The strategies that are set together."""
    return strategy.split(AND)


def settings(known: dict[str, dict], strategy: str) -> dict[str, str]:
    """Keys of Hadoop's that a job is given, as texts; `known` are the study's strategies."""
    return {key: text(value) for part in parts(strategy) for key, value in known[part].get("settings", {}).items()}


def workers(known: dict[str, dict], strategy: str) -> int:
    """How many workers the cluster has."""
    return max(known[part].get("workers", known[BASELINE]["workers"]) for part in parts(strategy))


def text(value: object) -> str:
    """A value as Hadoop writes it: true and false are small there."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def factorial(factors: Sequence[str]) -> Iterator[str]:
    """Every combination of strategies that are on or off: a full factorial design, the baseline first."""
    for number in range(len(factors) + 1):
        for together in combinations(factors, number):
            yield AND.join(together) or BASELINE


def levels(factors: Sequence[str], strategy: str) -> dict[str, int]:
    """Of each factor of a factorial design whether it is on (1) or off (-1)."""
    on = set(parts(strategy))
    return {factor: 1 if factor in on else -1 for factor in factors}

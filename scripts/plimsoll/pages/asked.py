"""What was asked of the measurements, in one generated sentence: beside the paper's it shows whether both are the same."""

from collections.abc import Callable

from plimsoll.claims import book, verdicts
from plimsoll.pages.formats import percent

# What is said of side a, in a reader's words.
EXPECTED = {
    "no_difference": "alike",
    "not_lower": "not lower",
    "not_higher": "not higher",
    "not_better": "not better",
    "not_worse": "not worse",
}
# Of how many comparisons it has to hold.
HOLDS = {
    verdicts.EACH: "in each of {} comparisons",
    verdicts.AVERAGE: "on the whole (the average of {} comparisons)",
    verdicts.MOST: "in more than half of {} comparisons",
    verdicts.SOME: "in at least one of {} comparisons",
}
ONE = "in one comparison"


# A level of a factor for people: level(factor, name).
Level = Callable[[str, str], str]


def sentence(asked: dict, labels: list[str], comparisons: int, level: Level) -> str:
    """The question that a claim, or one of its parts, was turned into.

    `asked` has the claim's levels and rules (plimsoll.claims.findings.ASKED), `labels` name the metrics that were compared.
    """
    rule = HOLDS[asked["holds"]].format(comparisons) if comparisons > 1 else ONE
    return f"Asked: is {_metrics(asked, labels)} {_said(asked, level)}, {rule}?{_left_out(asked, level)}"


def _metrics(asked: dict, labels: list[str]) -> str:
    named = ", ".join(labels) if len(labels) < 4 else f"{labels[0]} and {len(labels) - 1} more metrics"
    quantity = asked.get("quantity")
    of = {"dispersion": "the spread of ", "variation": "the spread of ", "relative loss": "the loss of "}.get(quantity, "")
    return of + (named or "the metric")


def _said(asked: dict, level: Level) -> str:
    expected, margin = asked.get("expected"), asked["margin"]
    scope = _levels(asked.get("scope"), level)
    where = f" ({scope})" if scope else ""
    if asked.get("quantity") == "variation":
        of = f" with {_levels(asked['a'], level)}" if asked.get("a") else ""
        return f"{expected or 'higher'} than {percent(asked['cv']).removeprefix('+')}{of}{where}"
    if asked.get("quantity") == "printed value":
        return f"what the paper prints, within a factor of {1 + margin:g} in odds{where}"
    if asked.get("along"):
        along = asked["along"]
        return (
            f"{along['direction']} along {', '.join(level(along['factor'], name) for name in along.get('levels', []))}{where}"
        )
    if asked.get("order"):
        better = EXPECTED.get(expected, expected)
        return f"{better} in each of these than in the next: {'; '.join(_levels(one, level) for one in asked['order'])}{where}"
    a, b = _levels(asked.get("a"), level), _levels(asked.get("b"), level)
    size = percent(margin).removeprefix("+")
    if asked.get("quantity") == "transport":
        return f"with {a} and not with {b}{where}"
    if expected == "no_difference":
        return f"alike within {size} with {a} and with {b}{where}"
    by = f" by more than {size}" if str(expected).startswith("not_") else ""
    return f"{EXPECTED.get(expected, expected)}{by} with {a} than with {b}{where}"


def _levels(levels: dict | None, level: Level) -> str:
    return ", ".join(" or ".join(level(factor, str(name)) for name in names) for factor, names in (levels or {}).items())


def _left_out(asked: dict, level: Level) -> str:
    told = [*book.listed(asked, "except"), *book.listed(asked, "except_b")]
    return f" Left out: {'; '.join(_levels(levels, level) for levels in told)}." if told else ""

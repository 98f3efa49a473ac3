"""What was asked of the measurements, in one generated sentence: beside the paper's it shows whether both are the same."""

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


def sentence(asked: dict, labels: list[str], comparisons: int) -> str:
    """The question that a claim, or one of its parts, was turned into.

    `asked` has the claim's levels and rules (plimsoll.claims.findings.ASKED), `labels` name the metrics that were compared.
    """
    rule = HOLDS[asked["holds"]].format(comparisons) if comparisons > 1 else ONE
    return f"Asked: is {_metrics(asked, labels)} {_said(asked)}, {rule}?{_left_out(asked)}"


def _metrics(asked: dict, labels: list[str]) -> str:
    named = ", ".join(labels) if len(labels) < 4 else f"{labels[0]} and {len(labels) - 1} more metrics"
    quantity = asked.get("quantity")
    of = {"dispersion": "the spread of ", "variation": "the spread of ", "relative loss": "the loss of "}.get(quantity, "")
    return of + (named or "the metric")


def _said(asked: dict) -> str:
    expected, margin = asked.get("expected"), asked["margin"]
    scope = _levels(asked.get("scope"))
    where = f" ({scope})" if scope else ""
    if asked.get("quantity") == "variation":
        return f"{expected or 'higher'} than {percent(asked['cv']).removeprefix('+')} with {_levels(asked.get('a'))}{where}"
    if asked.get("quantity") == "printed value":
        return f"what the paper prints, within a factor of {1 + margin:g} in odds{where}"
    if asked.get("along"):
        along = asked["along"]
        return f"{along['direction']} along {along['factor']} ({', '.join(along.get('levels', []))}){where}"
    if asked.get("order"):
        better = EXPECTED.get(expected, expected)
        return f"{better} in each of these than in the next: {'; '.join(_levels(levels) for levels in asked['order'])}{where}"
    a, b = _levels(asked.get("a")), _levels(asked.get("b"))
    size = percent(margin).removeprefix("+")
    if asked.get("quantity") == "transport":
        return f"with {a} and not with {b}{where}"
    if expected == "no_difference":
        return f"alike within {size} with {a} and with {b}{where}"
    by = f" by more than {size}" if str(expected).startswith("not_") else ""
    return f"{EXPECTED.get(expected, expected)}{by} with {a} than with {b}{where}"


def _levels(levels: dict | None) -> str:
    return ", ".join(f"{factor.replace('_', ' ')} {' or '.join(map(str, names))}" for factor, names in (levels or {}).items())


def _left_out(asked: dict) -> str:
    told = [*book.listed(asked, "except"), *book.listed(asked, "except_b")]
    return f" Left out: {'; '.join(_levels(levels) for levels in told)}." if told else ""

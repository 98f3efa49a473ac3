"""Word how a claim was tested, in one generated sentence.

Beside the paper's sentence, it shows whether both mean the same.
"""

from collections.abc import Callable

from plimsoll.claims import book, verdicts
from plimsoll.pages.formats import percent

# Words for what a claim expects of side a.
EXPECTED = {
    "no_difference": "alike",
    "not_lower": "not lower",
    "not_higher": "not higher",
    "not_better": "not better",
    "not_worse": "not worse",
}
# Words for a claim whose margin is below 0, which is a difference of so much at least.
AT_LEAST = {"not_lower": "higher", "not_higher": "lower", "not_better": "worse", "not_worse": "better"}
# Words for how many comparisons a claim has to hold in.
HOLDS = {
    verdicts.EACH: "in each of {} comparisons",
    verdicts.AVERAGE: "on the whole (the average of {} comparisons)",
    verdicts.MOST: "in more than half of {} comparisons",
    verdicts.SOME: "in at least one of {} comparisons",
}
ONE = "in one comparison"


# A function that names a level of a factor for people: level(factor, name).
Level = Callable[[str, str], str]


def sentence(procedure: dict, labels: list[str], comparisons: int, level: Level) -> str:
    """Return the question by which a claim, or one of its parts, is tested.

    `procedure` has the claim's levels and rules (plimsoll.claims.findings.ASKED). `labels` name the metrics that were
    compared, in so many `comparisons`.
    """
    rule = HOLDS[procedure["holds"]].format(comparisons) if comparisons > 1 else ONE
    said = _of_two_metrics(procedure, level) or f"{_metrics(procedure, labels)} {_said(procedure, level)}"
    return " ".join(filter(None, [f"Asked: is {said}, {rule}?{_left_out(procedure, level)}", condition(procedure)]))


def condition(procedure: dict) -> str:
    """Return what had to be shown before a claim was tested, and was; empty if nothing had to be."""
    return f"Asked only if {procedure['given']['says']}, which is shown here." if procedure.get("given") else ""


def _of_two_metrics(procedure: dict, level: Level) -> str:
    """Return the question of a claim whose sides name metrics and nothing else; empty for any other claim."""
    a, b = procedure.get("a") or {}, procedure.get("b") or {}
    if not set(a) == set(b) == {"metric"}:
        return ""
    first, second = (_of(procedure) + _levels(side, level) for side in (a, b))
    if procedure.get("expected") == "no_difference":
        return f"{first} like {second} within {_size(procedure)}{_where(procedure, level)}"
    return f"{first} {_direction(procedure)} than {second}{_where(procedure, level)}"


def _direction(procedure: dict) -> str:
    expected = str(procedure.get("expected"))
    if procedure["margin"] < 0:
        return f"{AT_LEAST[expected]} by {_size(procedure)} or more"
    by = f" by more than {_size(procedure)}" if expected.startswith("not_") else ""
    return EXPECTED.get(expected, expected) + by


def _size(procedure: dict) -> str:
    return percent(abs(procedure["margin"])).removeprefix("+")


def _where(procedure: dict, level: Level) -> str:
    scope = _levels(procedure.get("scope"), level)
    return f" ({scope})" if scope else ""


def _of(procedure: dict) -> str:
    spread = dict.fromkeys(("dispersion", "variation"), "the spread of ")
    words = {**spread, "standard deviation": "the standard deviation of ", "relative loss": "the loss of "}
    return words.get(procedure.get("quantity"), "")


def _metrics(procedure: dict, labels: list[str]) -> str:
    named = ", ".join(labels) if len(labels) < 4 else f"{labels[0]} and {len(labels) - 1} more metrics"
    return _of(procedure) + (named or "the metric")


def _said(procedure: dict, level: Level) -> str:
    expected, margin, where = procedure.get("expected"), procedure["margin"], _where(procedure, level)
    if procedure.get("quantity") == "variation":
        of = f" with {_levels(procedure['a'], level)}" if procedure.get("a") else ""
        return f"{expected or 'higher'} than {percent(procedure['cv']).removeprefix('+')}{of}{where}"
    if procedure.get("quantity") == "printed value":
        return f"what the paper prints, within a factor of {1 + margin:g} in odds{where}"
    if procedure.get("along"):
        along = procedure["along"]
        return (
            f"{along['direction']} along {', '.join(level(along['factor'], name) for name in along.get('levels', []))}{where}"
        )
    if procedure.get("order"):
        better = EXPECTED.get(expected, expected)
        return (
            f"{better} in each of these than in the next: {'; '.join(_levels(one, level) for one in procedure['order'])}{where}"
        )
    a, b = _levels(procedure.get("a"), level), _levels(procedure.get("b"), level)
    if procedure.get("quantity") == "transport":
        return f"with {a} and not with {b}{where}"
    if expected == "no_difference":
        return f"alike within {_size(procedure)} with {a} and with {b}{where}"
    return f"{_direction(procedure)} with {a} than with {b}{where}"


def _levels(levels: dict | None, level: Level) -> str:
    return ", ".join(" or ".join(level(factor, str(name)) for name in names) for factor, names in (levels or {}).items())


def _left_out(procedure: dict, level: Level) -> str:
    told = [*book.as_list(procedure, "except"), *book.as_list(procedure, "except_b")]
    return f" Left out: {'; '.join(_levels(levels, level) for levels in told)}." if told else ""

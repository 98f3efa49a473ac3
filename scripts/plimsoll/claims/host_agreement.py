"""One claim on several hosts: whether they decide it alike, and whether they tested the same. Pure."""

from collections.abc import Iterable, Mapping

from plimsoll.claims import verdicts

# How the verdicts of several hosts on one claim compare, with an explanation for readers. The most important comes first.
DIFFERS, ALIKE, SOME, OPEN, ONE, NOWHERE = (
    "decided differently",
    "decided alike",
    "decided on some",
    "decided on none",
    "tested on one only",
    "tested on none",
)
STANDINGS = {
    DIFFERS: "at least two hosts decide it, and differ: reproduced on one, say, and contradicted on another",
    ALIKE: "all hosts on which it can be tested decide it, and agree",
    SOME: "the hosts that decide it agree, and on others it is inconclusive",
    OPEN: "it is inconclusive on all hosts on which it can be tested",
    ONE: "it can be tested on only one of the hosts",
    NOWHERE: "it can be tested on none of the hosts",
}


def standing(of_hosts: Iterable[str]) -> str:
    """Return how the verdicts of the hosts that measured the study compare (one of STANDINGS)."""
    asked = [verdict for verdict in of_hosts if verdict not in (verdicts.NOT_TESTABLE, verdicts.UNAVAILABLE)]
    decided = [verdict for verdict in asked if verdict in verdicts.DECIDED]
    if len(asked) < 2:
        return ONE if asked else NOWHERE
    if len(set(decided)) > 1:
        return DIFFERS
    if not decided:
        return OPEN
    return ALIKE if len(decided) == len(asked) else SOME


def asked_alike(a: Mapping, b: Mapping) -> bool | None:
    """Return whether two results of one claim are of the same test, part by part.

    None if one of them does not say how it was tested, or if its condition was not shown.
    """
    parts = [result.get("parts") or [result] for result in (a, b)]
    if len(parts[0]) != len(parts[1]):
        # A claim whose condition is not shown has no results of its parts, or one more part for it.
        return None if a.get("reason") or b.get("reason") else False
    told = [_alike(*pair) for pair in zip(*parts, strict=True)]
    return False if False in told else None if None in told else True


def _alike(a: Mapping, b: Mapping) -> bool | None:
    if not (a.get("asked") and b.get("asked")):
        return None
    # `holds` is decided only where something was compared, so it is left out otherwise.
    but = set() if a.get("comparisons") and b.get("comparisons") else {"holds"}
    return all(a["asked"].get(key) == b["asked"].get(key) for key in (a["asked"].keys() | b["asked"].keys()) - but)

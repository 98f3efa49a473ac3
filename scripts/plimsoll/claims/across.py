"""One finding on several hosts: whether they settle it alike. Pure."""

from collections.abc import Iterable

from plimsoll.claims import verdicts

# What the verdicts of several hosts on one finding come to, with an explanation for readers. The most telling comes first.
DIFFERS, ALIKE, SOME, OPEN, ONE, NOWHERE = (
    "settled differently",
    "settled alike",
    "settled on some",
    "settled on none",
    "asked on one only",
    "asked on none",
)
STANDINGS = {
    DIFFERS: "at least two hosts settle it, and not alike: reproduced on one, say, and contradicted on another",
    ALIKE: "all hosts on which it can be asked settle it, and all alike",
    SOME: "the hosts that settle it do so alike, and on others it is inconclusive",
    OPEN: "it is inconclusive on all hosts on which it can be asked",
    ONE: "only one of the hosts can be asked",
    NOWHERE: "none of the hosts can be asked",
}


def standing(of_hosts: Iterable[str]) -> str:
    """What the verdicts of the hosts that measured the study come to (one of STANDINGS)."""
    asked = [verdict for verdict in of_hosts if verdict not in (verdicts.NOT_TESTABLE, verdicts.UNAVAILABLE)]
    settled = [verdict for verdict in asked if verdict in verdicts.SETTLED]
    if len(asked) < 2:
        return ONE if asked else NOWHERE
    if len(set(settled)) > 1:
        return DIFFERS
    if not settled:
        return OPEN
    return ALIKE if len(settled) == len(asked) else SOME

"""Findings about runtimes: which answer, and which claims cannot be tested without the others."""

from collections.abc import Iterator

from plimsoll.errors import shorten
from plimsoll.features.doctor.finding import FINE, NOTE, STOPS, Finding
from plimsoll.features.doctor.readings import Readings

# Characters of a reason that are shown.
LONGEST = 160
OFF, REQUIRED = "off", "required"


def findings(seen: Readings) -> Iterator[Finding]:
    """Yield a finding about the runtimes that answer, and one about each other runtime that is wanted."""
    wanted = {name: one for name, one in seen.runtimes.items() if one.wish != OFF}
    answering = [name for name, one in wanted.items() if one.version]
    yield Finding("runtimes", ", ".join(answering) or "none", FINE, "Claims about them can be tested.")
    for name, one in wanted.items():
        if not one.version:
            needed = one.wish == REQUIRED
            means = "Nothing is measured without it." if needed else "Claims about it are not testable here."
            remedy = f"./plimsoll drop {name} (measures without it), or start its engine" if needed else ""
            yield Finding(
                f"runtime {name}", f"does not answer: {shorten(one.reason, LONGEST)}", STOPS if needed else NOTE, means, remedy
            )

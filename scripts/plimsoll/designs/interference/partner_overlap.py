"""Decide which iterations of a member count: those during which its partner was running all the time."""

from collections.abc import Sequence

# Members start at the same moment, but a process may be this late (s).
EDGE = 0.05


def stretches(partner: Sequence[dict], stopped: float | None = None) -> list[tuple[float, float]]:
    """Return the (begin, end) of each stretch of time in which a partner was running.

    A stretch joins good iterations that follow each other within EDGE seconds. An iteration that failed or took too
    long belongs to no stretch: the next good one begins another.

    `stopped` is the moment at which the partner was stopped in the middle of an iteration, which left no line in its
    log. It extends the last stretch if the last logged iteration is good.
    """
    joined: list[list[float]] = []
    together = False
    for iteration in partner:
        good = iteration["values"] is not None
        if good and together and iteration["begin"] - joined[-1][1] <= EDGE:
            joined[-1][1] = iteration["end"]
        elif good:
            joined.append([iteration["begin"], iteration["end"]])
        together = good
    if together and stopped is not None:
        joined[-1][1] = max(joined[-1][1], stopped)
    return [(begin, end) for begin, end in joined]


def under_interference(iterations: Sequence[dict], partner: Sequence[dict], stopped: float | None = None) -> list[bool]:
    """Return for each iteration whether its partner was running all the time, with a tolerance of EDGE seconds."""
    running = stretches(partner, stopped)
    return [
        any(begin - EDGE <= iteration["begin"] and iteration["end"] <= end + EDGE for begin, end in running)
        for iteration in iterations
    ]


def mark(members: list[list[dict]], end: float | None = None, stopped: Sequence[float | None] = (None, None)) -> None:
    """Set `counts` and `why_not` in each iteration of each member.

    A good iteration of a microservice alone counts. In a pair it must also have begun before the window's `end`, and
    its partner must have been running all the time. `stopped` gives for each member the moment at which it was stopped,
    or None if it had ended before.
    """
    for place, iterations in enumerate(members):
        other = 1 - place
        together = (
            under_interference(iterations, members[other], stopped[other]) if len(members) == 2 else [True] * len(iterations)
        )
        for iteration, accompanied in zip(iterations, together, strict=True):
            late = end is not None and iteration["begin"] >= end
            why_not = iteration["reason"] or (
                "it began after the window" if late else None if accompanied else "its partner was not running all the time"
            )
            iteration.update(counts=why_not is None, why_not=why_not)

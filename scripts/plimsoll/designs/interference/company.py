"""Which iterations of a member count: those that had their partner's company all the time."""

from collections.abc import Sequence

# Members are started for the same moment; a process may be this late (s).
EDGE = 0.05


def stretches(partner: Sequence[dict], stopped: float | None = None) -> list[tuple[float, float]]:
    """(begin, end) of the times in which a partner was running: its good iterations, and the moments between two that follow
    each other. One that failed or took too long ends a stretch where it began, and the next begins after it.

    `stopped` is the moment at which the partner was stopped in the middle of an iteration, which left no line in its log.
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


def interfered(iterations: Sequence[dict], partner: Sequence[dict], stopped: float | None = None) -> list[bool]:
    """For each iteration, whether it lies wholly inside the time in which the partner was running, give or take EDGE."""
    running = stretches(partner, stopped)
    return [
        any(begin - EDGE <= iteration["begin"] and iteration["end"] <= end + EDGE for begin, end in running)
        for iteration in iterations
    ]


def mark(members: list[list[dict]], end: float | None = None, stopped: Sequence[float | None] = (None, None)) -> None:
    """Say of each iteration of each member whether it `counts`, and `why_not`.

    Alone every good iteration counts. Of a pair it must have begun before the window's `end` and have had company. `stopped`
    is the moment at which each member was stopped, None for one that had ended before.
    """
    for place, iterations in enumerate(members):
        other = 1 - place
        together = interfered(iterations, members[other], stopped[other]) if len(members) == 2 else [True] * len(iterations)
        for iteration, accompanied in zip(iterations, together, strict=True):
            late = end is not None and iteration["begin"] >= end
            why_not = iteration["reason"] or (
                "it began after the window" if late else None if accompanied else "its partner was not running all the time"
            )
            iteration.update(counts=why_not is None, why_not=why_not)

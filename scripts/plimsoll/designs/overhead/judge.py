"""Decides which iterations of a run count, and whether these are enough."""


def counting(iterations: list[dict], made: list[dict]) -> list[dict]:
    """Return the iterations, each with its `moment` (s since 1970), whether it `counts`, and `why_not` if it does not.

    `made` has, for each iteration that was started, the moment of its start and whether the window had begun.
    """
    told = []
    for iteration, start in zip(iterations, made, strict=False):
        why_not = iteration["reason"] or (None if start["counts"] else "it was of the warm-up")
        told.append({**iteration, "moment": round(start["moment"], 3), "counts": why_not is None, "why_not": why_not})
    return told


def too_few(iterations: list[dict]) -> str | None:
    """Return why a run does not count: an iteration failed, or none counts. None if the run counts."""
    if failed := [one for one in iterations if one["reason"]]:
        return f"iteration {failed[0]['iteration']} does not count: {failed[0]['reason']}"
    return None if any(one["counts"] for one in iterations) else "no iteration of the window ended"

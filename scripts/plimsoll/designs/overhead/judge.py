"""Which iterations of a run count, and whether they are enough."""


def counting(iterations: list[dict], made: list[dict]) -> list[dict]:
    """The iterations, each with the `moment` at which it was started (s since 1970), whether it `counts`, and `why_not`;
    `made` has the moment, and whether the window had begun, of each that was started."""
    told = []
    for iteration, start in zip(iterations, made, strict=False):
        why_not = iteration["reason"] or (None if start["counts"] else "it was of the warm-up")
        told.append({**iteration, "moment": round(start["moment"], 3), "counts": why_not is None, "why_not": why_not})
    return told


def too_few(iterations: list[dict]) -> str | None:
    """Why a run does not count: an iteration failed, or none counts."""
    if failed := [one for one in iterations if one["reason"]]:
        return f"iteration {failed[0]['iteration']} does not count: {failed[0]['reason']}"
    return None if any(one["counts"] for one in iterations) else "no iteration of the window ended"

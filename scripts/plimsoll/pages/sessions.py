"""Describe the sessions of a study for people: whether its claims are decided alike in each, and how much sessions differ."""

import datetime

from plimsoll import spelling
from plimsoll.analysis import blocks
from plimsoll.claims import session_verdicts


def for_template(summary: dict) -> dict:
    """Return what the pages show of the sessions of a study, from what the stage `sessions` left."""
    every = [{**one, "began": _day(one["began"])} for one in summary["sessions"]]
    used = [one for one in every if not one["apart"]]
    over = summary["over"]
    return {
        **summary,
        "sessions": every,
        "used": used,
        "sentence": _sentence(used, summary["counts"]),
        "differing": [
            {**row, "over": over["verdicts"].get(row["id"]) if over else None}
            for row in summary["findings"]
            if row["became"] in (session_verdicts.TURNED, session_verdicts.ONCE)
        ],
        "each": {row["id"]: _each(row) for row in summary["findings"]} if len(used) > 1 else {},
        "fewest": blocks.SMALLEST,
        "left": blocks.SMALLEST - len(used),
        "enough": len(used) >= blocks.SMALLEST,
    }


def _day(moment: float | None) -> str:
    return datetime.datetime.fromtimestamp(moment).strftime("%Y-%m-%d %H:%M") if moment else "not known"


def _sentence(used: list[dict], counts: dict[str, int]) -> str:
    """Return a sentence on whether verdicts hold beyond one session."""
    if len(used) == 1:
        return (
            f"All of it is of one session ({used[0]['began']}): a verdict holds for that session, and whether it would come "
            f"out again on another day is not known. {spelling.command('session')} adds another."
        )
    alike, once, turned = (
        counts.get(name, 0) for name in (session_verdicts.ALIKE, session_verdicts.ONCE, session_verdicts.TURNED)
    )
    return (
        f"Of {len(used)} sessions, some or all decided {alike + once + turned} claims: {alike} in all sessions and alike, "
        f"{once} not in all, and {turned} differently. Verdicts are from all sessions together.{_boots(used)}"
    )


def _boots(used: list[dict]) -> str:
    """Return a sentence on how many boots of the machine the sessions are from; empty if some session does not say it."""
    boots = {one["boot"] for one in used}
    if not all(boots):
        return ""
    if len(boots) == 1:
        return " All are of one boot of the machine, and say little of what another one changes."
    return f" They are of {len(boots)} boots of the machine."


def _each(row: dict) -> str:
    """Return the verdicts on a claim, the oldest session's first; empty if they are all the same."""
    if len(set(row["each"])) == 1:
        return ""
    return f"In the sessions, the oldest first: {', '.join(verdict or 'not asked' for verdict in row['each'])}."

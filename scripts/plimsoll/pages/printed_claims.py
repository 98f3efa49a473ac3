"""Rows of the table of claims on paper: what was found in one line, and more only of claims that are decided.

All functions are pure.
"""

from collections import Counter
from collections.abc import Callable

from plimsoll.claims import verdicts
from plimsoll.pages import wording
from plimsoll.pages.formats import bounded, capital, factor, missing


def row(result: dict, rows: list[dict], out: list[str]) -> dict | None:
    """Return what paper shows of a claim that was tested; None for any other claim.

    `rows` are its comparisons, and `out` names those that stand out from its average. `found` is what it is judged by, and
    `n` the number of runs. `details` are texts on a decided claim: its parts, its size, and what it depends on.
    """
    decided = result["verdict"] in verdicts.DECIDED
    if not rows or (not decided and result["verdict"] != verdicts.INCONCLUSIVE):
        return None
    tested = [(number, part) for number, part in enumerate(result["parts"], 1) if part["comparisons"]]
    parts = [(part, difference(part, [row for row in rows if row["part"] == number])) for number, part in tested]
    told = [f"“{part['says'].rstrip('.')}”: {part['verdict']}, {found}." for part, found in parts]
    return {
        "found": "" if decided and parts else f"{'; '.join(found for _, found in parts) or difference(result, rows)}.",
        "n": wording.rests_on(result, rows),
        "details": [*told, *_details(result, out)] if decided else [],
    }


def difference(claim: dict, rows: list[dict]) -> str:
    """Return the difference that a claim, or a part of one, is judged by, with its 95 % interval.

    Without an average, it is the range of its comparisons and of their intervals. Metrics have no range in common, so
    of several metrics the comparisons are counted.
    """
    show = wording.shower(claim)
    if whole := claim["whole"]:
        return wording.estimate(whole, show)
    known = [row for row in rows if not missing(row["effect"])]
    if len(known) == 1:
        return wording.estimate(known[0], show)
    if known and len({row["label"] for row in known}) == 1:
        return _range(known, show)
    numbers = Counter(row["verdict"] for row in rows)
    return f"{len(rows)} comparisons: {', '.join(f'{number} {verdict}' for verdict, number in numbers.items())}"


def _range(rows: list[dict], show: Callable[[float], str]) -> str:
    effects = [row["effect"] for row in rows]
    ends = [row[end] for row in rows for end in ("low", "high") if not missing(row[end])]
    show = wording.one_scale(show, {"effect": max(effects), "high": max(ends, default=None)})
    show = bounded if show is factor else show
    within = f" [{show(min(ends))}, {show(max(ends))}]" if ends else ""
    return f"{wording.value_range(min(effects), max(effects), show)}{within} in {len(rows)} comparisons"


def _details(result: dict, out: list[str]) -> list[str]:
    sizes = [wording.size(one) for one in (result, *result["parts"])]
    standing = [f"Standing out: {'; '.join(out)}."] if out else []
    depends = result["in_part"] or result["verdict"] == verdicts.CONDITIONAL
    ways = [f"It {told}."] if depends and not result["parts"] and (told := wording.conditions(result)) else []
    fragile = [f"{capital(wording.FRAGILE)}."] if not missing(result.get("q")) and not result["robust"] else []
    return list(dict.fromkeys(filter(None, (*sizes, *ways, *standing, *fragile))))

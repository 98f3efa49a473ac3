"""One comparison of a claim as the page shows it: texts, links, and the strip that draws its interval. Pure."""

from collections.abc import Callable

from plimsoll.pages import asked, wording
from plimsoll.pages.formats import factor, interval, missing, octaves, p_value, percent, place, significant

# A strip goes from an eighth to eight times as much: three doublings each way.
DOUBLINGS = 3
PAPER, SAME = "the paper", "the same"


def row(claim: dict, found: dict, study: dict, short: Callable[[str, dict], str]) -> dict:
    """A row of the comparisons' table, for a template; `short` names a cell of the study for people."""
    claim = {**claim, "quantity": wording.quantity_of(claim, found)}
    show, printed = wording.shower(claim), claim["quantity"] == "printed value"
    # Of a printed share both are factors in its odds, less 1.
    sized = (lambda value: f"odds {factor(value)}") if printed else (lambda value: show(value).removeprefix("+"))
    a, b = (_side(found, side, study, short) for side in ("a", "b"))
    return {
        "verdict": found["verdict"],
        "effect": interval(found["effect"], found["low"], found["high"], wording.one_scale(show, found)) or "none",
        "strip": strip(found) if wording.relative(claim) else None,
        "metric": _metric(found, study),
        "a": a,
        "b": b and {**b, "name": differing(a["name"], b["name"])},
        "said": asked.EXPECTED.get(found["expected"], found["expected"]),
        "n": int(found["n"]),
        "p": p_value(found.get("p_supports")),
        "p_against": p_value(found.get("p_opposes_holm")),
        "margin": sized(found["margin"]) if not missing(found["margin"]) else "",
    }


def differing(name: str, other: str) -> str:
    """What another cell's name has that the first one's has not: its parts are separated by a comma and a space. Two metrics of
    one cell have the same name."""
    said = set(name.split(", "))
    return ", ".join(part for part in other.split(", ") if part not in said) or SAME


def _metric(found: dict, study: dict) -> str:
    other = found.get("metric_b")
    if missing(other) or other == found["metric"] or other not in study["metrics"]:
        return found["label"]
    return f"{found['label']} against {study['metrics'][other]['label']}"


def _side(found: dict, side: str, study: dict, short: Callable[[str, dict], str]) -> dict | None:
    """A side's name, and the path of its cell if it is one; None for a side that a comparison does not have."""
    cell, metric = found.get(f"cell_{side}"), found["metric"] if side == "a" else found.get("metric_b")
    if missing(cell):
        return None
    if cell == PAPER:
        return {"name": f"{PAPER}: {significant(found['mean_b'])}", "cell": None}
    known = study["metrics"].get(metric) if not missing(metric) else None
    return {"name": short(cell, known or {}), "cell": cell}


def strip(found: dict) -> dict | None:
    """Where a comparison lies on a strip of 120 units from an eighth to eight times; None if there is nothing to draw.

    What lies beyond the ends is said in words (`beyond`) beside an arrow (`arrow`: -1 or 1), never drawn as a dot at the end.
    `over` says of each end whether the interval goes on beyond it.
    """
    if missing(found["effect"]) or missing(found["margin"]):
        return None
    size = octaves(found["effect"])
    off = (size > DOUBLINGS) - (size < -DOUBLINGS)
    bounds, over = None, (False, False)
    if not missing(found["low"]):
        low, high = octaves(found["low"]), octaves(found["high"])
        over = (low < -DOUBLINGS, high > DOUBLINGS)
        # An interval that lies wholly beyond an end has nothing on the strip.
        bounds = None if low > DOUBLINGS or high < -DOUBLINGS else (place(found["low"]), place(found["high"]))
    return {
        "margin": (place(-found["margin"]), place(found["margin"])),
        "interval": bounds,
        "over": over,
        "arrow": off,
        "beyond": factor(found["effect"]) if off > 0 else percent(found["effect"]),
        "at": place(found["effect"]),
    }

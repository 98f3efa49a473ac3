"""Prepare one comparison of a claim for the page: texts, links, and the strip that draws its interval.

All functions are pure.
"""

from collections.abc import Callable

from plimsoll.pages import procedure_words, wording
from plimsoll.pages.formats import factor, missing, octaves, p_value, percent, place, significant

# A strip goes from an eighth to eight times as much: three doublings each way.
DOUBLINGS = 3
PAPER, SAME = "the paper", "the same"


def row(claim: dict, compared: dict, study: dict, short: Callable[[str, dict], str]) -> dict:
    """Return a row of the comparisons' table, for a template. `short` names a cell of the study for people."""
    claim = {**claim, "quantity": wording.quantity_of(claim, compared)}
    show, printed = wording.shower(claim), claim["quantity"] == "printed value"
    # For a printed share, effect and margin are factors of its odds, less 1.
    sized = (lambda value: f"odds {factor(value)}") if printed else (lambda value: show(value).removeprefix("+"))
    a, b = (_side(compared, side, study, short) for side in ("a", "b"))
    margin = compared["margin"]
    least = not missing(margin) and margin < 0
    said = procedure_words.AT_LEAST if least else procedure_words.EXPECTED
    return {
        "verdict": compared["verdict"],
        "effect": wording.estimate(compared, show) or "none",
        "strip": strip(compared) if wording.relative(claim) else None,
        "metric": _metric(compared, study),
        "a": a,
        "b": b and {**b, "name": differing(a["name"], b["name"])},
        "said": said.get(compared["expected"], compared["expected"]),
        "n": int(compared["n"]),
        "why": str(compared["test"]).removeprefix("none: "),
        "p": p_value(compared.get("p_supports")),
        "p_against": p_value(compared.get("p_opposes_holm")),
        "margin": "" if missing(margin) else f"at least {sized(-margin)}" if least else sized(margin),
    }


def name(compared: dict, study: dict, short: Callable[[str, dict], str]) -> str:
    """Return the name of a comparison for people: its metric, its first side, and how the second side differs from it."""
    a, b = (_side({**compared, "mean_b": None}, side, study, short) for side in ("a", "b"))
    other = "" if b is None else PAPER if b["cell"] is None else differing(a["name"], b["name"])
    return f"{_metric(compared, study)}: {' against '.join(one for one in (a['name'], other) if one and one != SAME)}"


def differing(name: str, other: str) -> str:
    """Return the parts of another cell's name that the first one's does not have. Parts are separated by a comma and a space.

    Two metrics of one cell have the same name; the result is then SAME.
    """
    said = set(name.split(", "))
    return ", ".join(part for part in other.split(", ") if part not in said) or SAME


def _metric(compared: dict, study: dict) -> str:
    other = compared.get("metric_b")
    if missing(other) or other == compared["metric"] or other not in study["metrics"]:
        return compared["label"]
    return f"{compared['label']} against {study['metrics'][other]['label']}"


def _side(compared: dict, side: str, study: dict, short: Callable[[str, dict], str]) -> dict | None:
    """Return a side's name, and the path of its cell if it is one. Return None for a side that a comparison does not have."""
    cell, metric = compared.get(f"cell_{side}"), compared["metric"] if side == "a" else compared.get("metric_b")
    if missing(cell):
        return None
    if cell == PAPER:
        return {"name": f"{PAPER}: {significant(compared['mean_b'])}", "cell": None}
    known = study["metrics"].get(metric) if not missing(metric) else None
    return {"name": short(cell, known or {}), "cell": cell}


def strip(compared: dict) -> dict | None:
    """Return where a comparison lies on a strip of 120 units from an eighth to eight times; None if there is nothing to draw.

    An effect beyond the ends is given in words (`beyond`) beside an arrow (`arrow`: -1 or 1), never drawn as a dot at
    the end. `over` says of each end whether the interval goes on beyond it.
    """
    if missing(compared["effect"]) or missing(compared["margin"]):
        return None
    size = octaves(compared["effect"])
    off = (size > DOUBLINGS) - (size < -DOUBLINGS)
    bounds, over = None, (False, False)
    if not missing(compared["low"]):
        low, high = octaves(compared["low"]), octaves(compared["high"])
        over = (low < -DOUBLINGS, high > DOUBLINGS)
        # An interval that lies wholly beyond an end has no part on the strip.
        bounds = None if low > DOUBLINGS or high < -DOUBLINGS else (place(compared["low"]), place(compared["high"]))
    return {
        "margin": tuple(sorted((place(-compared["margin"]), place(compared["margin"])))),
        "interval": bounds,
        "over": over,
        "arrow": off,
        "beyond": factor(compared["effect"]) if off > 0 else percent(compared["effect"]),
        "at": place(compared["effect"]),
    }

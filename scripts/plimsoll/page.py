"""What the pages share: templates, and numbers for people."""

import math
from pathlib import Path

import jinja2
import pandas as pd

TEMPLATES = Path(__file__).with_name("templates")


def environment() -> jinja2.Environment:
    """Templates that escape what they are given and refuse what they are not."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters.update(significant=significant, p_value=p_value, percent=percent, effects=effects, place=place)
    return made


def significant(value: float | str | None, digits: int = 3) -> str:
    """A number for people: three significant digits."""
    return "" if value is None or value == "" or pd.isna(value) else f"{value:.{digits}g}"


def p_value(value: float | str | None) -> str:
    """A p for people: one too small for a number is a bound, never 0."""
    return "< 1e-300" if value == 0 else significant(value)


def percent(value: float | None) -> str:
    """A relative difference for people: signed, in percent, with a decimal below ten; as a factor above four."""
    if value is None or pd.isna(value):
        return ""
    if value > 3:
        return f"x {1 + value:.3g}"
    size = abs(100 * value)
    return f"{100 * value:+.0f} %" if size >= 10 else f"{100 * value:+.1f} %" if size >= 1 else f"{100 * value:+.2f} %"


def effects(claim: dict) -> str:
    """The range of a claim's effects over its comparisons, for people: in what its `quantity` is counted in."""
    quantity = claim.get("quantity")
    if quantity in ("transport", "count"):
        words, show, unit = "share of the runs that agree", significant, ""
    elif quantity == "printed value":
        words, show, unit = "difference from the printed value", lambda value: f"{100 * value:+.3g}", " points"
    else:
        words, show, unit = "effect", percent, ""
    least, most = claim["effect_least"], claim["effect_most"]
    if pd.isna(least):
        return "no effect could be estimated"
    return f"{words}: {show(least)}{f' to {show(most)}' if most != least else ''}{unit}"


def place(effect: float) -> float:
    """Where a relative difference lies on a strip of 120 units: none at 60, eight times as much (or an eighth) at the ends."""
    return round(60 + 55 * max(-1.0, min(1.0, math.log2(max(1 + effect, 1e-9)) / 3)), 1)

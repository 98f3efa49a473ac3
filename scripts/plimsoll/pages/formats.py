"""What all pages share: templates, and functions that print numbers and words for people."""

import math
import re
from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup, escape

from plimsoll import paths
from plimsoll.claims import findings
from plimsoll.pages import cards, glossary

# Folders of the templates that all pages share, and of those that designs and features add.
TEMPLATES = (
    Path(__file__).with_name("templates"),
    *(paths.PROJECT / "scripts/plimsoll" / name for name in ("designs", "features")),
)
MINUS = "\N{MINUS SIGN}"
TIMES = "\N{MULTIPLICATION SIGN}"
DIVIDED = "\N{DIVISION SIGN}"
# Units as they are printed, where the data have another spelling.
UNITS = {"us": "µs"}
# A part in backticks of a text in the configuration or a record.
CODE = re.compile(r"`([^`]+)`")
# A relative difference above this is printed as a factor: four times as much, and not +300 %.
FACTOR = 3
# Above this (eleven times as much), the smallest difference that runs can detect is too large to be of use.
COARSEST = 10.0
# An interval whose ends are this many times apart is not printed. A larger factor at the end of a range has this bound.
WIDEST = 100.0


def environment() -> jinja2.Environment:
    """Return the Jinja environment.

    Its templates escape the values that they print, and fail on a name that is not defined.
    """
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters.update(
        significant=significant,
        p_value=p_value,
        percent=percent,
        detectable=detectable,
        change=change,
        prose=marked,
        unit=unit,
        interval=interval,
        ratio=ratio,
        sections=sections,
        capital=capital,
        explained=glossary.with_explanations,
        labelled=cards.labelled,
        verdict=findings.verdict_of,
    )
    return made


def missing(value) -> bool:
    """Return whether there is nothing to show: None, an empty text, or NaN."""
    return value is None or value == "" or bool(pd.isna(value))


def significant(value: float | str | None, digits: int = 3) -> str:
    """Return a number as text: three significant digits, and no exponent below ten million. Empty if it is missing."""
    if missing(value):
        return ""
    text = f"{value:.{digits}g}"
    if "e+" in text and abs(value) < 1e7:
        text = f"{float(text):,.0f}"
    return text.replace("-", MINUS) if "e" not in text else text


def p_value(value: float | str | None) -> str:
    """Return a p-value as text. One that is too small for a number is printed as a bound, never as 0."""
    return "< 1e-300" if value == 0 else "" if missing(value) else f"{value:.3g}"


def percent(value: float | None) -> str:
    """Return a relative difference as text: signed, in percent, with one decimal below 10 % and two below 1 %.

    A difference above FACTOR is printed as a factor.
    """
    if missing(value):
        return ""
    if value > FACTOR:
        return factor(value)
    size = abs(100 * value)
    text = f"{100 * value:+.0f} %" if size >= 10 else f"{100 * value:+.1f} %" if size >= 1 else f"{100 * value:+.2f} %"
    return text.replace("-", MINUS)


def change(value: float | None, low: float | None, high: float | None) -> str:
    """Return a relative difference with its interval as text: +2.1 % [+0.30 %, +4.0 %].

    An interval whose ends are more than a factor of WIDEST apart says nothing, and neither does its middle.
    """
    if missing(value):
        return ""
    if not missing(low) and 1 + high > WIDEST * (1 + low):
        return "too few runs to tell"
    return interval(value, low, high, percent)


def detectable(value: float | None) -> str:
    """Return the smallest difference that runs can find as text. One that is too large to be of use has a bound."""
    return f"> {TIMES}10" if not missing(value) and value > COARSEST else percent(value)


def factor(value: float) -> str:
    """Return a relative difference as a factor: 9.0 is ten times as much. Empty if it is missing."""
    return "" if missing(value) else f"{TIMES}{significant(max(0.0, 1 + value))}"


def bounded(value: float) -> str:
    """Return a relative difference as a factor. One above WIDEST has a bound, because its number says no more."""
    return f"more than {TIMES}{WIDEST:.0f}" if 1 + value > WIDEST else factor(value)


def interval(value: float, low: float, high: float, show=significant) -> str:
    """Return a number with its interval, both printed by `show`: 0.72 [0.61, 0.85].

    Without an interval, return the number alone.
    """
    if missing(low) or missing(high):
        return show(value)
    return f"{show(value)} [{show(low)}, {show(high)}]"


def ratio(value: float | None) -> str:
    """Return a ratio as text: two decimals around 1, two significant digits far below, three far above."""
    if missing(value):
        return ""
    return f"{value:.2f}" if 0.095 <= value < 9.995 else significant(value, 2 if value < 1 else 3)


def duration(seconds: float) -> str:
    """Return a time in seconds as text: 40 seconds, 12 minutes, 2.5 hours. It is an estimate, so two digits are enough."""
    for size, name in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= 1.5 * size or size == 1:
            number = significant(seconds / size, 2) if size == 3600 else str(max(1, round(seconds / size)))
            return f"{number} {name}{'' if number == '1' else 's'}"
    return ""


def prose(text: str | None) -> str:
    """Return a text of the configuration, a plan or a record as it is printed: 20 % for 20%, and 1 socket for 1 socket(s)."""
    if missing(text):
        return ""
    spaced = re.sub(r"(?<=\d)%", " %", str(text))
    return re.sub(
        r"\b(\d+) ((?:\w+ )?\w+)\(s\)", lambda match: f"{match[1]} {match[2]}{'' if match[1] == '1' else 's'}", spaced
    )


def marked(text: str | None) -> Markup:
    """Return a text as prose on a page. What stands in backticks becomes code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(prose(text)))))


def capital(text: str) -> str:
    """Return a text with a capital first letter; its other letters stay as they are."""
    return text[:1].upper() + text[1:]


def unit(name: str) -> str:
    """Return a unit as it is printed."""
    return UNITS.get(name, name)


def sections(body: str) -> list[tuple[str, Markup]]:
    """Return (anchor, heading) of every section of a page in its order, for the navigation."""
    return [(anchor, Markup(heading)) for anchor, heading in re.findall(r'<h2 id="([^"]+)">(.*?)</h2>', str(body), re.DOTALL)]


def place(effect: float) -> float:
    """Return where a relative difference lies on a strip of 120 units.

    No difference is at 60. Eight times as much and an eighth are at the ends, 55 units away.
    """
    return round(60 + 55 * max(-1.0, min(1.0, octaves(effect) / 3)), 1)


def octaves(effect: float) -> float:
    """Return a relative difference in doublings: 1.0 (twice as much) is one, -0.5 (half) is minus one."""
    return math.log2(max(1 + effect, 1e-9))

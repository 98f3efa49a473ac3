"""Pieces of SVG. Lengths are in pixels."""

from collections.abc import Iterable
from html import escape

INK, PALE, PAPER = "#222222", "#eceff1", "#ffffff"
# Okabe and Ito's colours, which people with any kind of colour vision tell apart.
BLUE, ORANGE, GREEN = "#0072b2", "#e69f00", "#009e73"
FONT = "font-family='Helvetica, Arial, sans-serif'"


def picture(width: float, height: float, parts: Iterable[str]) -> str:
    """Return a whole picture on white paper, which can be read on a dark page too."""
    size = f"viewBox='0 0 {width:g} {height:g}' width='{width:g}' height='{height:g}'"
    paper = box(0, 0, width, height, fill=PAPER, line="none")
    return "\n".join([f"<svg xmlns='http://www.w3.org/2000/svg' {size} {FONT}>", paper, *parts, "</svg>"]) + "\n"


def box(
    x: float, y: float, width: float, height: float, fill: str = "none", line: str = INK, thick: float = 1, dashed: bool = False
) -> str:
    """Return a box with round corners."""
    dashes = " stroke-dasharray='5 3'" if dashed else ""
    place = f"x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' rx='5'"
    return f"<rect {place} fill='{fill}' stroke='{line}' stroke-width='{thick:g}'{dashes}/>"


def disc(x: float, y: float, radius: float, fill: str, letter: str = "") -> str:
    """Return a disc, with a letter in its middle if there is one."""
    circle = f"<circle cx='{x:g}' cy='{y:g}' r='{radius:g}' fill='{fill}'/>"
    return circle + (text(x, y + radius / 3, letter, anchor="middle", fill=PAPER) if letter else "")


def text(x: float, y: float, words: str, size: int = 12, anchor: str = "start", fill: str = INK, bold: bool = False) -> str:
    """Return a line of text. `y` is its base line."""
    weight = " font-weight='bold'" if bold else ""
    return f"<text x='{x:g}' y='{y:g}' font-size='{size}' text-anchor='{anchor}' fill='{fill}'{weight}>{escape(words)}</text>"


def arrow(x: float, top: float, bottom: float) -> str:
    """Return an arrow that points down."""
    line = f"<path d='M{x:g} {top:g}V{bottom:g}' stroke='{INK}' fill='none'/>"
    head = f"<path d='M{x - 4:g} {bottom - 7:g}L{x:g} {bottom:g}L{x + 4:g} {bottom - 7:g}Z' fill='{INK}'/>"
    return line + head

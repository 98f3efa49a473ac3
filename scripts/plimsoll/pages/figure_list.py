"""List the figures of a report: pictures with captions, data and claims, and those that are unavailable here, by reason."""

import base64
from pathlib import Path

from plimsoll.claims import findings
from plimsoll.figures import render as drawing
from plimsoll.interchange import Plan
from plimsoll.planning import availability

# A figure as wide as a paper's column is COLUMN_REM wide on the page, where it is read and not only looked at.
COLUMN_REM, COLUMN_INCHES, DOTS_PER_INCH = 46, 3.5, 300


def sorted_out(folder: Path, loaded: dict, plan: Plan, results: list[dict]) -> dict:
    """Return `figures`, and `figures_not_here` with one group per reason (`reason`, and its `figures`).

    `folder` holds the pictures. `results` are the verdicts, and each figure gets those that it shows.
    """
    drawn, reasons = [], {}
    for name, figure in loaded["figures"].items():
        described = {
            "name": name,
            "number": name.removeprefix("fig").lstrip("0"),
            "heading": heading(name, figure.get("section") or loaded["experiments"][figure["experiment"]]["section"]),
            "title": drawing.title(loaded, name),
            "paper": loaded.get("paper_findings", {}).get(name, ""),
            "claims": [result for result in results if name in findings.figures_of(result, loaded)],
        }
        if reason := availability.figure(plan, loaded, name):
            reasons.setdefault(str(reason), []).append(described)
        else:
            drawn.append({**described, **_picture(folder, name)})
    return {"figures": drawn, "figures_not_here": [{"reason": reason, "figures": of} for reason, of in reasons.items()]}


def _picture(folder: Path, name: str) -> dict:
    """Return the picture in base64, its width in rem, its caption, and its alternative text."""
    picture, caption = (folder / f"{name}.png").read_bytes(), (folder / f"{name}.txt").read_text().strip()
    alternative = folder / f"{name}.alt.txt"
    alt = alternative.read_text().strip() if alternative.exists() else caption
    return {"image": base64.b64encode(picture).decode(), "width": width(picture), "caption": caption, "alt": alt}


def width(png: bytes) -> float:
    """Return the width of a PNG picture on the page in rem.

    A picture of one column is COLUMN_REM wide. One of two columns is twice as wide, if the page has the room.
    """
    return round(COLUMN_REM * int.from_bytes(png[16:20], "big") / (DOTS_PER_INCH * COLUMN_INCHES), 1)


def heading(name: str, section: str) -> str:
    """Return a figure's heading: Figure 5 (section 4.4), or its name if it is not a figure of the paper."""
    if not name.startswith("fig"):
        return f"{name.capitalize()} ({section})"
    return f"Figure {name.removeprefix('fig').lstrip('0')} (section {section})"

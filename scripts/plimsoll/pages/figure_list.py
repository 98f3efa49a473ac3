"""The figures of a report: pictures with captions, data and claims; and those that cannot be made here, by reason."""

import base64
from pathlib import Path

from plimsoll.claims import findings
from plimsoll.figures import render as drawing
from plimsoll.interchange import Plan
from plimsoll.planning import availability

# Of a figure as wide as a column of a paper: on a page it is read, not glanced at.
COLUMN_REM, COLUMN_INCHES, DOTS_PER_INCH = 46, 3.5, 300


def sorted_out(folder: Path, loaded: dict, plan: Plan, results: list[dict]) -> dict:
    """`figures`, and `figures_not_here`: one group per reason, with `reason` and its `figures`. `folder` holds the pictures;
    `results` are the verdicts; each figure gets those that it shows."""
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
    """The picture as text, its width in rem, its caption, and what is said in its place to those who do not see it."""
    picture, caption = (folder / f"{name}.png").read_bytes(), (folder / f"{name}.txt").read_text().strip()
    alternative = folder / f"{name}.alt.txt"
    alt = alternative.read_text().strip() if alternative.exists() else caption
    return {"image": base64.b64encode(picture).decode(), "width": width(picture), "caption": caption, "alt": alt}


def width(png: bytes) -> float:
    """Width of a picture on the page in rem: that of one column is COLUMN_REM, and of two twice as much, if the page has it."""
    return round(COLUMN_REM * int.from_bytes(png[16:20], "big") / (DOTS_PER_INCH * COLUMN_INCHES), 1)


def heading(name: str, section: str) -> str:
    """Figure 5 (section 4.4), or the name of a figure that is not the paper's."""
    if not name.startswith("fig"):
        return f"{name.capitalize()} ({section})"
    return f"Figure {name.removeprefix('fig').lstrip('0')} (section {section})"

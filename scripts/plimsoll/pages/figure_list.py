"""List the figures of a report: pictures with captions, data and claims, and those that are unavailable here, by reason."""

from pathlib import Path

from plimsoll.claims import findings, verdicts
from plimsoll.figures import render as drawing
from plimsoll.interchange import Plan
from plimsoll.pages import figure_values
from plimsoll.planning import availability

# A picture that is wider than this many pixels takes both columns of the page.
BROAD = 1500
# A summary on paper has at most this many figures: those that most decided claims are about.
MAIN = 6


def sorted_out(folder: Path, loaded: dict, plan: Plan, results: list[dict]) -> dict:
    """Return `figures`, and `figures_unavailable` with one group per reason (`reason`, and its `figures`).

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
        if unavailable := availability.figure(plan, loaded, name):
            reasons.setdefault(unavailable.reason, []).append(described)
        else:
            drawn.append({**described, **_picture(folder, name)})
    chosen = main(drawn)
    drawn = [{**figure, "main": figure["name"] in chosen} for figure in drawn]
    return {"figures": drawn, "figures_unavailable": [{"reason": reason, "figures": of} for reason, of in reasons.items()]}


def main(figures: list[dict]) -> set[str]:
    """Return the names of the MAIN figures that most decided claims are about; of equal ones, the first."""
    decided = {one["name"]: sum(claim["verdict"] in verdicts.DECIDED for claim in one["claims"]) for one in figures}
    return set(sorted(decided, key=lambda name: -decided[name])[:MAIN])


def _picture(folder: Path, name: str) -> dict:
    """Return the picture in base64, whether it is `broad`, the values on it, its caption, and its alternative text."""
    picture, caption = folder / f"{name}.png", (folder / f"{name}.txt").read_text().strip()
    alternative = folder / f"{name}.alt.txt"
    alt = alternative.read_text().strip() if alternative.exists() else caption
    return {**figure_values.shown(picture), "broad": width(picture) > BROAD, "caption": caption, "alt": alt}


def width(picture: Path) -> int:
    """Return the width of a PNG picture in pixels."""
    with open(picture, "rb") as file:
        return int.from_bytes(file.read(20)[16:], "big")


def heading(name: str, section: str) -> str:
    """Return a figure's heading: Figure 5 (section 4.4), or its name if it is not a figure of the paper."""
    if not name.startswith("fig"):
        return f"{name.capitalize()} ({section})"
    return f"Figure {name.removeprefix('fig').lstrip('0')} (section {section})"

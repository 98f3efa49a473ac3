"""What the notebooks of figures about overhead are told of the plan."""

import json

from plimsoll.designs.overhead import papers
from plimsoll.interchange import Plan


def told(plan: Plan, study: dict, name: str) -> dict:
    """What the paper prints, if the figure names where (`paper`, by metric and runtime), what that comes to against its
    physical machine (`changes`)."""
    figure = study["figures"][name]
    own = {metric: study["metrics"][metric] for metric in figure["metrics"]}
    rows = papers.printed(figure["reference"]) if "reference" in figure else None
    rows = rows[rows["metric"].isin(own)] if rows is not None else None
    return {
        "of_cell": ("storage",),
        "paper": [] if rows is None else json.loads(rows.to_json(orient="records")),
        "changes": [] if rows is None else papers.changes(rows, own),
    }

"""Options that an overhead study's plan adds to its figures."""

import json

from plimsoll import design
from plimsoll.designs.overhead import papers
from plimsoll.interchange import Plan


class Figures(design.Figures):
    """Data of the figures of a study of overhead."""

    def figure_options(self, plan: Plan, study: dict, name: str) -> dict:
        """Return the paper's values for a figure, if the figure names a reference.

        `paper` has them by metric and runtime. `changes` has the differences from the paper's physical machine. `of_cell` lists
        the keys of each cell that the figure needs.
        """
        figure = study["figures"][name]
        own = {metric: study["metrics"][metric] for metric in figure["metrics"]}
        rows = papers.reference_table(figure["reference"]) if "reference" in figure else None
        rows = rows[rows["metric"].isin(own)] if rows is not None else None
        return {
            "of_cell": ("storage",),
            "paper": [] if rows is None else json.loads(rows.to_json(orient="records")),
            "changes": [] if rows is None else papers.changes(rows, own),
        }

"""What the notebooks of figures about nesting are told of the plan."""

import pandas as pd

from plimsoll import paths
from plimsoll.interchange import Plan


def told(plan: Plan, study: dict, name: str) -> dict:
    """The host's cores, and the means that the paper prints, by instances and children, if the figure names where."""
    figure = study["figures"][name]
    paper = []
    if "reference" in figure:
        printed = pd.read_csv(paths.REFERENCE / f"{figure['reference']}.csv")
        paper = [
            {"instances": int(row.parents), "children": int(row.children_per_parent), "mean": float(row.mean_)}
            for row in printed.rename(columns={"mean": "mean_"}).itertuples()
        ]
    return {"of_cell": (), "cores": plan["cores"], "paper": paper}

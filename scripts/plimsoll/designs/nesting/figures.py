"""The data that the notebooks of figures about nesting get from the plan."""

import pandas as pd

from plimsoll import design, paths
from plimsoll.designs.nesting import run_tables
from plimsoll.interchange import ABSENT, Plan


class Figures(design.Figures):
    """Data of the figures of a study of nesting."""

    def figure_options(self, plan: Plan, study: dict, name: str) -> dict:
        """Return a figure's options from the plan and the paper.

        - `cores` and `open_vswitch`: the host's number of cores, and where Open vSwitch switches there.
        - `hosts` and `second_host`: for networks, how many hosts client and server are on, and the name of another machine.
        - `paper`: the means in the reference tables that the figure names, by instances and children, or by client, server,
          network and metric.
        """
        figure = study["figures"][name]
        names = figure.get("reference", [])
        printed = [pd.read_csv(paths.REFERENCE / f"{one}.csv") for one in ([names] if isinstance(names, str) else names)]
        hosts = study["experiments"][figure["experiment"]].get("hosts", ABSENT)
        paper = [row for table in printed for row in _rows(table)]
        return {
            "of_cell": (),
            "cores": plan["cores"],
            "open_vswitch": plan["open_vswitch"],
            "hosts": hosts,
            "second_host": plan.get("second_host", {}).get("name"),
            "paper": paper,
        }


def _rows(printed: pd.DataFrame) -> list[dict]:
    """Return the means of one of the paper's tables, each with its levels."""
    if "parents" in printed:
        columns = {"parents": "instances", "children_per_parent": "children"}
        return printed.rename(columns=columns)[["instances", "children", "mean"]].to_dict("records")
    return run_tables.of_paper(printed).rename(columns={"paper_mean": "mean"}).to_dict("records")

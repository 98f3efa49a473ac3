"""What the notebooks of figures about nesting are told of the plan."""

import pandas as pd

from plimsoll import paths
from plimsoll.designs.nesting import run_tables
from plimsoll.interchange import ABSENT, Plan


def told(plan: Plan, study: dict, name: str) -> dict:
    """The host's cores, and where Open vSwitch switches there; how many hosts client and server are on, if the figure is about
    networks, and the name of a second host that is another machine; and the means that the paper prints, if the figure names
    where: by instances and children, or by client, server, network and metric."""
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
    """The means of a table of the paper, with what each is of."""
    if "parents" in printed:
        columns = {"parents": "instances", "children_per_parent": "children"}
        return printed.rename(columns=columns)[["instances", "children", "mean"]].to_dict("records")
    return run_tables.of_paper(printed).rename(columns={"paper_mean": "mean"}).to_dict("records")

"""The paper's tables as made from our runs."""

import pandas as pd

from plimsoll.analysis import tables
from plimsoll.analysis.tables import TableRequest
from plimsoll.designs.nesting import statistics
from plimsoll.designs.nesting.factors import OPEN_VSWITCH, TWO, NestingPlan
from plimsoll.planning import virtual_machines

KEYS = ["parents", "children_per_parent"]
# Columns of ours in a table.
OURS = ["n", "mean", "sd", "mean_low", "mean_high"]


def creation(request: TableRequest) -> pd.DataFrame:
    """Return Table I with our values: one row per number of parents and children that the paper prints.

    A row has the paper's mean and standard deviation (`paper_mean`, `paper_sd`) and ours, with n and the interval of
    the mean. If the cell has no value, `not_here` says why.
    """
    observations = request.observations()
    (metric,) = request.table["metrics"]
    ours = statistics.of_cells(observations[observations["metric"] == metric])
    ours = ours.assign(parents=ours["instances"].astype(int), children_per_parent=ours["children"].astype(int))
    printed = request.printed().rename(columns={"mean": "paper_mean", "sd": "paper_sd"})
    reasons = {(int(cell["instances"]), int(cell["children"])): cell["reason"] for cell in request.cells}
    return tables.beside(printed[[*KEYS, "total_children", "paper_mean", "paper_sd"]], ours, KEYS, OURS, reasons)


# Names in the paper's tables of networks, and our names for the same.
OF_PAPER = {
    **{"bare_metal": "bare", "container": "docker", "nested_container": "docker-nested"},
    **{"linux_bridge": "bridge", "open_vswitch": "openvswitch"},
}
# Units of the paper that differ from ours: our unit, and the factor from the paper's to ours.
UNITS = {"Mbit/s": ("Gbit/s", 1e-3), "ms": ("µs", 1e3), "us": ("µs", 1.0)}
OF_NETWORK = ["client", "server", "network"]


def networks(request: TableRequest) -> pd.DataFrame:
    """Return one of Tables II to V with our values.

    There is one row per client, server, network and metric that the paper prints. A row has the paper's mean and
    standard deviation in our unit (`paper_mean`, `paper_sd`) and ours, with n and the interval of the mean. If the cell
    has no value, `not_here` says why. On one host, ours are from the placement in which the kernel places client and
    server. Across two hosts they are on a core each.

    `switch` says where Open vSwitch switched, and `second_host` what the second host was; both are empty in rows
    without one.
    """
    ours = statistics.of_cells(request.observations())
    ours = ours[ours["metric"].isin(request.table["metrics"])].rename(columns={"runtime": "client"})
    printed = virtual_machines.as_measured(of_paper(request.printed()), request.plan, ["client", "server"])
    reasons = {
        (cell["runtime"], cell["server"], cell["network"], cell["hosts"], metric): cell["reason"]
        for cell in request.cells
        for metric in printed["metric"].unique()
    }
    table = tables.beside(printed, ours, [*OF_NETWORK, "hosts", "metric"], OURS, reasons)
    reason = table.pop("not_here")
    return table.assign(
        switch=[request.plan["open_vswitch"] if OPEN_VSWITCH in network.split("+") else "" for network in table["network"]],
        second_host=[second_host(request.plan) if hosts == TWO else "" for hosts in table["hosts"]],
        not_here=reason,
    )


def second_host(plan: NestingPlan) -> str:
    """Return in a few words what the second host of a plan is: another machine, or a namespace of this one."""
    if "second_host" in plan:
        return f"another machine ({plan['second_host']['name']})"
    return "a network namespace of this one, behind a link shaped to 1 Gbit/s"


def of_paper(printed: pd.DataFrame) -> pd.DataFrame:
    """Return one of the paper's tables of networks with our names and units.

    The columns are `client`, `server`, `network`, `hosts`, `metric`, `unit`, `paper_mean` and `paper_sd`.
    """
    table = printed.replace(OF_PAPER)
    if "parent_network" in table:
        table["network"] = table["parent_network"] + "+" + table["child_network"]
    units = [UNITS.get(unit, (unit, 1.0)) for unit in table["unit"]]
    factors = pd.Series([factor for _, factor in units], index=table.index)
    table = table.assign(unit=[unit for unit, _ in units], paper_mean=table["mean"] * factors, paper_sd=table["sd"] * factors)
    return table[[*OF_NETWORK, "hosts", "metric", "unit", "paper_mean", "paper_sd"]]

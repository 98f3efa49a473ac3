"""The paper's tables, made from runs."""

import pandas as pd

from plimsoll.analysis.tables import Asked
from plimsoll.designs.nesting import contrasts, statistics
from plimsoll.designs.nesting.factors import EMULATED_MACHINE, MACHINE, NETWORK, OPEN_VSWITCH, TWO, NestingPlan

KEYS = ["parents", "children_per_parent"]
# What the table has of ours, and what it is called in the paper's.
OURS = {"n": "n", "mean": "mean", "sd": "sd", "mean_low": "mean_low", "mean_high": "mean_high"}


def creation(asked: Asked) -> pd.DataFrame:
    """One row per number of parents and children that the paper prints: its mean and standard deviation (`paper_mean`,
    `paper_sd`), ours with n and the interval of the mean, or in `not_here` why it was not measured."""
    observations = asked.observations()
    (metric,) = asked.table["metrics"]
    ours = statistics.of_cells(observations[observations["metric"] == metric])
    ours = ours.assign(parents=ours["instances"].astype(int), children_per_parent=ours["children"].astype(int))
    printed = asked.printed().rename(columns={"mean": "paper_mean", "sd": "paper_sd"})
    table = printed[[*KEYS, "total_children", "paper_mean", "paper_sd"]].merge(ours[[*KEYS, *OURS]], on=KEYS, how="left")
    reasons = {
        (int(cell["instances"]), int(cell["children"])): cell["reason"]
        for cell in asked.study.design.cells.shown(asked.plan, asked.study, asked.name)
    }
    known = zip(table["parents"], table["children_per_parent"], table["n"], strict=True)
    return table.assign(not_here=[_reason(reasons, (parents, children), n) for parents, children, n in known])


# What the paper's tables of networks call things, and what they are called here.
OF_PAPER = {
    **{"bare_metal": "bare", "container": "docker", "nested_container": "docker-nested"},
    **{"linux_bridge": "bridge", "open_vswitch": "openvswitch"},
}
# Of the paper's units, those that are not ours, and how many of ours each is.
UNITS = {"Mbit/s": ("Gbit/s", 1e-3), "ms": ("µs", 1e3), "us": ("µs", 1.0)}
OF_NETWORK = ["client", "server", "network"]


def networks(asked: Asked) -> pd.DataFrame:
    """One row per client, server, network and metric that the paper prints: its mean and standard deviation (`paper_mean`,
    `paper_sd`, in our unit), ours with n and the interval of the mean, or in `not_here` why it was not measured. Ours have
    client and server where the kernel likes, and across two hosts on a core each. `switch` is where Open vSwitch switched, and
    `second_host` what that was; both are empty where a row has none."""
    ours = statistics.of_cells(asked.observations())
    ours = ours[ours["metric"].isin(asked.table["metrics"])].rename(columns={"runtime": "client"})
    printed = _emulated(of_paper(asked.printed()), asked.plan)
    keys = [*OF_NETWORK, "hosts", "metric"]
    table = printed.merge(ours[[*keys, *OURS]], on=keys, how="left")
    reasons = {cell["path"]: cell["reason"] for cell in asked.study.design.cells.shown(asked.plan, asked.study, asked.name)}
    rows = table[[*OF_NETWORK, "hosts", "n"]].itertuples(index=False, name=None)
    return table.assign(
        switch=[asked.plan["open_vswitch"] if OPEN_VSWITCH in network.split("+") else "" for network in table["network"]],
        second_host=[second_host(asked.plan) if hosts == TWO else "" for hosts in table["hosts"]],
        not_here=[_reason(reasons, "/".join([NETWORK, *levels]), n) for *levels, n in rows],
    )


def second_host(plan: NestingPlan) -> str:
    """What the second host of a plan is, in a few words."""
    if "second_host" in plan:
        return f"another machine ({plan['second_host']['name']})"
    return "a network namespace of this one, behind a link shaped to 1 Gbit/s"


def _emulated(printed: pd.DataFrame, plan: NestingPlan) -> pd.DataFrame:
    """The paper's rows, with emulated virtual machines in the place of virtual machines where these are measured instead, so
    that the table names what its values are of."""
    there = {name for cell in plan["cells"].values() for name in (cell["runtime"], cell["server"])}
    if EMULATED_MACHINE not in there or not contrasts.no_machines(plan):
        return printed
    return printed.replace({"client": {MACHINE: EMULATED_MACHINE}, "server": {MACHINE: EMULATED_MACHINE}})


def of_paper(printed: pd.DataFrame) -> pd.DataFrame:
    """A table of networks of the paper: `client`, `server` and `network` as they are called here, `hosts`, `metric`, `unit`,
    `paper_mean` and `paper_sd`."""
    table = printed.replace(OF_PAPER)
    if "parent_network" in table:
        table["network"] = table["parent_network"] + "+" + table["child_network"]
    units = [UNITS.get(unit, (unit, 1.0)) for unit in table["unit"]]
    factors = pd.Series([factor for _, factor in units], index=table.index)
    table = table.assign(unit=[unit for unit, _ in units], paper_mean=table["mean"] * factors, paper_sd=table["sd"] * factors)
    return table[[*OF_NETWORK, "hosts", "metric", "unit", "paper_mean", "paper_sd"]]


def _reason(reasons: dict, key, n: float) -> str:
    """Why a cell has no value; empty if it has one."""
    if pd.notna(n):
        return ""
    return reasons.get(key, "the configuration leaves it out") or "no run of it counts"

"""Table I, made from runs."""

import pandas as pd

from plimsoll.analysis.tables import Asked
from plimsoll.designs.nesting import statistics

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


def _reason(reasons: dict, key: tuple[int, int], n: float) -> str:
    """Why a cell has no value; empty if it has one."""
    if pd.notna(n):
        return ""
    return reasons.get(key, "the configuration leaves it out") or "no run of it counts"

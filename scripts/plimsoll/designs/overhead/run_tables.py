"""The tables of li2018's first stage that are made here: what was measured, beside what the paper prints."""

import pandas as pd

from plimsoll.analysis.tables import Asked
from plimsoll.designs.overhead import papers, statistics
from plimsoll.designs.overhead.contrasts import no_machines
from plimsoll.designs.overhead.factors import EMULATED_MACHINE, MACHINE, OWN

KEYS = ["metric", "runtime"]
OURS = ["n", "blocks", "mean", "sd", "change", "change_low", "change_high", "spread_change", "spread_low", "spread_high"]
SCORES = ["n", "score", "overhead", "change", "change_low", "change_high"]
# The paper's benchmarks, and the names by which the image tells their versions.
ANSWERS = {"iperf": "iperf", "hardinfo": "HardInfo", "stream": "STREAM", "bonnie": "Bonnie++"}


def versions(asked: Asked) -> pd.DataFrame:
    """The paper's table of benchmarks with what runs here beside each."""
    printed, image = asked.printed(keep_default_na=False), asked.read("image")
    ours = [image["versions"][ANSWERS[name]] for name in printed["benchmark"]]
    return printed.rename(columns={"version": "version (paper)"}).assign(version=ours)


def described(asked: Asked) -> pd.DataFrame:
    """The paper's table of HardInfo's benchmarks with the unit of each here."""
    printed = asked.printed(keep_default_na=False)
    return printed.assign(unit=[asked.study["metrics"][name]["unit"] for name in printed["benchmark"]])


def means(asked: Asked) -> pd.DataFrame:
    """One row per metric and environment that the paper prints: its mean and standard deviation in our unit, ours, and how ours
    compare with bare metal; or in `not_here` why they were not measured."""
    return _beside(asked, OURS)


def scores(asked: Asked) -> pd.DataFrame:
    """The same for standardised scores (equations 2 and 3), which are shares of the best environment's; `overhead` is equation
    1 with the paper's margin of 1 %."""
    return _beside(asked, SCORES)


def _beside(asked: Asked, columns: list[str]) -> pd.DataFrame:
    ours = statistics.of_cells(asked.observations())
    ours = ours[ours["metric"].isin(asked.table["metrics"]) & ours["storage"].isin(("none", OWN))]
    printed = _measured_instead(papers.printed(asked.table["reference"]), asked.plan)
    printed = printed.assign(unit=[asked.study["metrics"][metric]["unit"] for metric in printed["metric"]])
    table = printed.merge(ours[[*KEYS, *columns]], on=KEYS, how="left")
    reasons = {
        (metric, cell["runtime"]): cell["reason"]
        for cell in asked.study.design.cells.shown(asked.plan, asked.study, asked.name)
        for metric in asked.table["metrics"]
        if asked.study["metrics"][metric]["benchmark"] == cell["benchmark"]
    }
    keys = zip(table["metric"], table["runtime"], table["n"], strict=True)
    return table.assign(not_here=[_reason(reasons, (metric, runtime), n) for metric, runtime, n in keys])


def _measured_instead(printed: pd.DataFrame, plan: dict) -> pd.DataFrame:
    """The paper's rows, with emulated virtual machines in the place of virtual machines where these are measured instead, so
    that the table names what its values are of."""
    there = {cell["runtime"] for cell in plan["cells"].values()}
    if EMULATED_MACHINE not in there or not no_machines(plan):
        return printed
    return printed.replace({"runtime": {MACHINE: EMULATED_MACHINE}})


def _reason(reasons: dict, key: tuple[str, str], n: float) -> str:
    """Why a cell has no value; empty if it has one."""
    if pd.notna(n):
        return ""
    return reasons.get(key, "the configuration leaves it out") or "no run of it counts"

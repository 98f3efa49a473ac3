"""The tables of jha2018 and jha2021 that are made here: statistics beside the papers', operations and versions."""

import json
from pathlib import Path

import pandas as pd

from plimsoll import collect, paths
from plimsoll import plan as planning
from plimsoll.interference import papers, recommend
from plimsoll.interference.table import OF_PAPER, statistics_of

# What a table of statistics has of ours, and the column of the reference beside it.
BESIDE = {
    "mean": "mean",
    "median": "median",
    "trimmed_mean": "trimmed_mean",
    "maximum": "max",
    "minimum": "min",
    "sd": "sd",
    "cv": "cv",
    "interference_ratio": "interference_ratio",
}
OURS = ("n", "blocks", *BESIDE, "ratio_low", "ratio_high", "interval_of")
# Resources of the papers' tables of benchmarks, and the lines of versions.txt that answer them.
ANSWERS = {"linpack": "Linpack", "y_cruncher": "pi", "stream": "STREAM", "bonnie": "Bonnie++", "netperf": "Netperf"}
# Bytes and operations of an element in containers/microservices/stream.c.
KERNELS = {"COPY": (16, 0), "SCALE": (16, 1), "ADD": (24, 1), "TRIAD": (24, 2)}


def make(study: dict, name: str, folder: Path) -> pd.DataFrame:
    """A table of the study from the records below its results folder."""
    table = study["measured_tables"][name]
    if table["kind"] == "operations":
        return operations(table)
    if table["kind"] == "versions":
        return versions(json.loads((folder.parent / f"images/{study['image']}.json").read_text()), table)
    plan = collect.load_plan(folder)
    observations, _ = collect.collect(folder, plan, study, planning.table_runs(plan, study, name))
    if table["kind"] == "recommendation":
        return recommend.pairs(statistics_of(observations), study)
    return statistics(observations, study, table)


def statistics(observations: pd.DataFrame, study: dict, table: dict) -> pd.DataFrame:
    """One row a metric, case and co-runner that the paper prints or that was measured: our statistics, and the paper's."""
    found = statistics_of(observations[observations["metric"].isin(table["metrics"])])
    keys = OF_PAPER
    printed = papers.printed({**study, "references": [table["reference"]]})
    printed = printed[printed["metric"].isin(table["metrics"])][[*keys, "unit", *BESIDE.values()]]
    printed = printed.rename(columns={name: f"paper_{name}" for name in (*BESIDE.values(), "unit")})
    ours = found.reindex(columns=[*keys, "label", "unit", *OURS])
    return printed.merge(ours, on=keys, how="outer").sort_values(keys, key=_order, ignore_index=True).dropna(axis=1, how="all")


def _order(column: pd.Series) -> pd.Series:
    # Alone first; for the rest the order of the alphabet will do.
    return column.replace({"none": ""})


def versions(image: dict, table: dict) -> pd.DataFrame:
    """The paper's table of benchmarks with what runs here beside each."""
    printed = pd.read_csv(paths.REFERENCE / f"{table['reference']}.csv", keep_default_na=False)
    ours = [image["versions"].get(ANSWERS.get(name.split("_tcp")[0], name), "") for name in printed["benchmark"]]
    return printed.rename(columns={"version": "version (paper)"}).assign(version=ours)


def operations(table: dict) -> pd.DataFrame:
    """The paper's table of STREAM's operations with bytes and operations an element as they are here."""
    printed = pd.read_csv(paths.REFERENCE / f"{table['reference']}.csv", keep_default_na=False)
    ours = [KERNELS[name] for name in printed["operation"]]
    renamed = {name: f"{name} (paper)" for name in ("flop_per_iteration", "bytes_per_iteration") if name in printed}
    return printed.rename(columns=renamed).assign(bytes=[b for b, _ in ours], operations=[f for _, f in ours])

"""The tables of jha2018 and jha2021 that are made here: statistics beside the papers', operations and versions."""

import pandas as pd

from plimsoll.analysis.tables import Asked
from plimsoll.designs.interference import papers, recommend
from plimsoll.designs.interference.factors import FREE
from plimsoll.designs.interference.tests import OF_PAPER, statistics_of

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


def recommendation(asked: Asked) -> pd.DataFrame:
    """Which pairs may share a container."""
    return recommend.pairs(statistics_of(asked.observations()), asked.study)


def statistics(observations: pd.DataFrame, study: dict, table: dict) -> pd.DataFrame:
    """One row per metric, case and co-runner that the paper prints or that was measured: our statistics, and the paper's."""
    # The papers bind nothing, and have nothing alone without limits.
    of_papers = observations[(observations["placement"] == FREE) & (observations["case"] != "1a")]
    summary = statistics_of(of_papers[of_papers["metric"].isin(table["metrics"])])
    keys = OF_PAPER
    printed = papers.printed({**study, "references": [table["reference"]]})
    printed = printed[printed["metric"].isin(table["metrics"])][[*keys, "unit", *BESIDE.values()]]
    printed = printed.rename(columns={name: f"paper_{name}" for name in (*BESIDE.values(), "unit")})
    ours = summary.reindex(columns=[*keys, "label", "unit", *OURS])
    return printed.merge(ours, on=keys, how="outer").sort_values(keys, key=_order, ignore_index=True).dropna(axis=1, how="all")


def _order(column: pd.Series) -> pd.Series:
    # Alone first; for the rest the order of the alphabet will do.
    return column.replace({"none": ""})


def versions(asked: Asked) -> pd.DataFrame:
    """The paper's table of benchmarks with what runs here beside each."""
    printed, image = asked.printed(keep_default_na=False), asked.read("image")
    ours = [image["versions"].get(ANSWERS.get(name.split("_tcp")[0], name), "") for name in printed["benchmark"]]
    return printed.rename(columns={"version": "version (paper)"}).assign(version=ours)


def operations(asked: Asked) -> pd.DataFrame:
    """The paper's table of STREAM's operations with bytes and operations per element as they are here."""
    printed = asked.printed(keep_default_na=False)
    ours = [KERNELS[name] for name in printed["operation"]]
    renamed = {name: f"{name} (paper)" for name in ("flop_per_iteration", "bytes_per_iteration") if name in printed}
    return printed.rename(columns=renamed).assign(bytes=[b for b, _ in ours], operations=[f for _, f in ours])

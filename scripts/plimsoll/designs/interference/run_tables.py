"""The tables of jha2018 and jha2021 as made here: statistics beside the papers', STREAM's operations, and versions."""

import pandas as pd

from plimsoll.analysis.tables import TableRequest
from plimsoll.designs.interference import papers, recommend
from plimsoll.designs.interference.factors import FREE
from plimsoll.designs.interference.tests import OF_PAPER, statistics_of

# Columns of our statistics, and the paper's columns that stand beside them.
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
# Benchmarks in the papers' tables, and the names of the programs in the image's versions.txt that stand for them.
ANSWERS = {"linpack": "Linpack", "y_cruncher": "pi", "stream": "STREAM", "bonnie": "Bonnie++", "netperf": "Netperf"}
# Bytes and floating-point operations per element, as in containers/microservices/stream.c.
KERNELS = {"COPY": (16, 0), "SCALE": (16, 1), "ADD": (24, 1), "TRIAD": (24, 2)}


def recommendation(request: TableRequest) -> pd.DataFrame:
    """Return one row per pair of microservices: whether they may share a container (`recommend.pairs`)."""
    return recommend.pairs(statistics_of(request.observations()), request.study)


def statistics(observations: pd.DataFrame, study: dict, table: dict) -> pd.DataFrame:
    """Return our statistics beside the paper's: one row per metric, case and co-runner that is printed or was measured.

    Ours are those of BESIDE with the number of iterations and blocks and the interval of the ratio. The paper's columns
    begin with `paper_`. Empty columns are left out.
    """
    # The papers bind no client or server, and have no case 1a (alone without limits).
    of_papers = observations[(observations["placement"] == FREE) & (observations["case"] != "1a")]
    summary = statistics_of(of_papers[of_papers["metric"].isin(table["metrics"])])
    keys = OF_PAPER
    printed = papers.printed_values({**study, "references": [table["reference"]]})
    printed = printed[printed["metric"].isin(table["metrics"])][[*keys, "unit", *BESIDE.values()]]
    printed = printed.rename(columns={name: f"paper_{name}" for name in (*BESIDE.values(), "unit")})
    ours = summary.reindex(columns=[*keys, "label", "unit", *OURS])
    return printed.merge(ours, on=keys, how="outer").sort_values(keys, key=_order, ignore_index=True).dropna(axis=1, how="all")


def _order(column: pd.Series) -> pd.Series:
    # Rows of a microservice alone come first; the rest is in alphabetical order.
    return column.replace({"none": ""})


def versions(request: TableRequest) -> pd.DataFrame:
    """Return the paper's table of benchmarks with a column for the version that runs here."""
    printed, image = request.printed(keep_default_na=False), request.read("image")
    ours = [image["versions"].get(ANSWERS.get(name.split("_tcp")[0], name), "") for name in printed["benchmark"]]
    return printed.rename(columns={"version": "version (paper)"}).assign(version=ours)


def operations(request: TableRequest) -> pd.DataFrame:
    """Return the paper's table of STREAM's operations with our bytes and operations per element."""
    printed = request.printed(keep_default_na=False)
    ours = [KERNELS[name] for name in printed["operation"]]
    renamed = {name: f"{name} (paper)" for name in ("flop_per_iteration", "bytes_per_iteration") if name in printed}
    return printed.rename(columns=renamed).assign(bytes=[b for b, _ in ours], operations=[f for _, f in ours])

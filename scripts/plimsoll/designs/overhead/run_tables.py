"""Tables of li2018's first stage: what was measured, with the paper's values beside it."""

import pandas as pd

from plimsoll.analysis import tables
from plimsoll.analysis.tables import TableRequest
from plimsoll.designs.overhead import papers, statistics
from plimsoll.designs.overhead.factors import OWN
from plimsoll.planning import virtual_machines

KEYS = ["metric", "runtime"]
OURS = ["n", "blocks", "mean", "sd", "change", "change_low", "change_high", "spread_change", "spread_low", "spread_high"]
SCORES = ["n", "score", "overhead", "change", "change_low", "change_high"]
# The paper's benchmarks, and their names in the image's `versions`.
ANSWERS = {"iperf": "iperf", "hardinfo": "HardInfo", "stream": "STREAM", "bonnie": "Bonnie++"}


def versions(request: TableRequest) -> pd.DataFrame:
    """Return the paper's table of benchmarks, with the version that runs here beside each."""
    printed, image = request.printed(keep_default_na=False), request.read("image")
    ours = [image["versions"][ANSWERS[name]] for name in printed["benchmark"]]
    return printed.rename(columns={"version": "version (paper)"}).assign(version=ours)


def described(request: TableRequest) -> pd.DataFrame:
    """Return the paper's table of HardInfo's benchmarks, with the unit of each here."""
    printed = request.printed(keep_default_na=False)
    return printed.assign(unit=[request.study["metrics"][name]["unit"] for name in printed["benchmark"]])


def means(request: TableRequest) -> pd.DataFrame:
    """Return one row per metric and runtime that the paper prints.

    A row has the paper's mean and standard deviation in our unit, our own, and our comparison with bare metal. `not_here` says
    why a value was not measured.
    """
    return _beside(request, OURS)


def scores(request: TableRequest) -> pd.DataFrame:
    """Return one row per metric and runtime with the standardised scores of the paper and ours (equations 2 and 3).

    Scores are shares of the best runtime's value. `overhead` is equation 1 with the paper's margin of 1 %. `not_here` says why
    a value was not measured.
    """
    return _beside(request, SCORES)


def _beside(request: TableRequest, columns: list[str]) -> pd.DataFrame:
    ours = statistics.of_cells(request.observations())
    ours = ours[ours["metric"].isin(request.table["metrics"]) & ours["storage"].isin(("none", OWN))]
    printed = virtual_machines.as_measured(papers.reference_table(request.table["reference"]), request.plan, ["runtime"])
    printed = printed.assign(unit=[request.study["metrics"][metric]["unit"] for metric in printed["metric"]])
    reasons = {
        (metric, cell["runtime"]): cell["reason"]
        for cell in request.cells
        for metric in request.table["metrics"]
        if request.study["metrics"][metric]["benchmark"] == cell["benchmark"]
    }
    return tables.beside(printed, ours, KEYS, columns, reasons)

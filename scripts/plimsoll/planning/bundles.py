"""Bundles of runs: runs that the same figures and tables are made from. Pure functions.

Snakemake follows every pair of a record and a file made from it. A study has tens of thousands of runs, and each is
used by several figures and tables and by the observations. Each run is in one bundle, and there are only some tens of
bundles.
"""

from collections.abc import Iterable

Run = tuple[str, int]


def group(runs: Iterable[Run], made_from: dict[str, Iterable[Run]]) -> dict[tuple[str, ...], list[Run]]:
    """Group all `runs`, in their order, by the names of the files made from them.

    `made_from` has the runs of each figure and table.
    """
    names: dict[Run, list[str]] = {run: [] for run in runs}
    for name in sorted(made_from):
        for run in made_from[name]:
            names[run].append(name)
    bundles: dict[tuple[str, ...], list[Run]] = {}
    for run, by in names.items():
        bundles.setdefault(tuple(by), []).append(run)
    return bundles

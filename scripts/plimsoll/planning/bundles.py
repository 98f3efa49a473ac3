"""Bundles of runs: those that the same figures and tables are made from. Pure.

Snakemake follows every pair of a record and a file that is made from it. A run is in several figures and tables and in the
observations, and a study has tens of thousands of runs; it is in one bundle, and there are some tens of bundles.
"""

from collections.abc import Iterable

Run = tuple[str, int]


def of(runs: Iterable[Run], made_from: dict[str, Iterable[Run]]) -> dict[tuple[str, ...], list[Run]]:
    """All `runs`, in their order, by the names that are made from them; `made_from` has the runs of each figure and table."""
    names: dict[Run, list[str]] = {run: [] for run in runs}
    for name in sorted(made_from):
        for run in made_from[name]:
            names[run].append(name)
    bundles: dict[tuple[str, ...], list[Run]] = {}
    for run, by in names.items():
        bundles.setdefault(tuple(by), []).append(run)
    return bundles

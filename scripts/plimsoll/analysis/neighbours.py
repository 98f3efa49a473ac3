"""Runs that may have had neighbours that could not be seen, and the tests that were made from these runs."""

import pandas as pd

from plimsoll.analysis import cell_paths


def unobserved_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs whose own processor time could not be distinguished from that of others."""
    # Tables of earlier versions do not have this column. All times could be distinguished then.
    return runs[runs["neighbours_apart"].astype(str) == "False"] if "neighbours_apart" in runs else runs.head(0)


def cells(runs: pd.DataFrame, factors: list[str]) -> set[str]:
    """Return the cells of runs whose own time could not be distinguished from that of others."""
    found = unobserved_runs(runs)
    return set() if found.empty else set(cell_paths.of_table(found, factors))


def mark(tests: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the tests with a column `neighbours_apart`.

    It is False if the row's runtime, or the runtime of its reference, has runs that could not be distinguished from neighbours.
    """
    runtimes = set(unobserved_runs(runs)["runtime"]) if len(runs) else set()
    references = tests["reference"] if "reference" in tests else [""] * len(tests)
    told = (
        not runtimes & {runtime, *str(reference).split("/")}
        for runtime, reference in zip(tests.get("runtime", []), references, strict=True)
    )
    return tests.assign(neighbours_apart=list(told)) if len(tests) else tests

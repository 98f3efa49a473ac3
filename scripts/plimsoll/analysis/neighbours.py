"""Which runs may have had neighbours that nobody could see, and what was made from them."""

import pandas as pd

from plimsoll.analysis import cell_paths


def unseen(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs whose own time could not be told apart from others'."""
    # Written by an earlier version they do not say: then all could be.
    return runs[runs["neighbours_apart"].astype(str) == "False"] if "neighbours_apart" in runs else runs.head(0)


def cells(runs: pd.DataFrame, factors: list[str]) -> set[str]:
    """The cells of such runs."""
    found = unseen(runs)
    return set() if found.empty else set(cell_paths.of_table(found, factors))


def marked(tests: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """The tests with a column `neighbours_apart`: it is False where the row's runtime, or its reference's, has such runs."""
    runtimes = set(unseen(runs)["runtime"]) if len(runs) else set()
    references = tests["reference"] if "reference" in tests else [""] * len(tests)
    told = (
        not runtimes & {runtime, *str(reference).split("/")}
        for runtime, reference in zip(tests.get("runtime", []), references, strict=True)
    )
    return tests.assign(neighbours_apart=list(told)) if len(tests) else tests

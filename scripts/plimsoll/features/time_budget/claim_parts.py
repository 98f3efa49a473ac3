"""What must be shown for a claim: its parts, each in the arrangements of what the paper leaves open, with their comparisons."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pandas as pd

from plimsoll.claims import compare, verdicts
from plimsoll.claims.decision_cost import CELL_COLUMNS


class Part(NamedTuple):
    """What must be shown for a claim: one part of it, in one arrangement of what its paper leaves open.

    A claim without parts and arrangements has one Part. `name` is (claim, number of the part, arrangement in words),
    `result` is the measured result, and `rows` are its comparisons.
    """

    name: tuple[str, int, str]
    result: dict
    rows: list[dict]

    @property
    def metrics(self) -> int:
        """Number of metrics that are compared."""
        return len({row["metric"] for row in self.rows})

    @property
    def averaged(self) -> bool:
        """Whether the average of the comparisons is judged.

        It is false for an order, which has one average for each entry: each of these must be shown.
        """
        return self.result["holds"] == verdicts.AVERAGE and "order" not in self.result["asked"]

    @property
    def average(self) -> dict | None:
        """The measured average if there are enough blocks for it; None if each comparison is judged."""
        return self.result["whole"] if self.averaged else None

    @property
    def votes(self) -> list[list[int]]:
        """Votes of the comparisons, as the verdict counts them. A vote is a list of places in `rows`."""
        return compare.votes_of(self.rows, self.result["holds"])

    @property
    def judged(self) -> int:
        """Number of things that are judged: the votes, or 1 for the average."""
        return 1 if self.averaged else len(self.votes)

    @property
    def number(self) -> int:
        """How many of the things that are judged must be shown."""
        holds = self.result["holds"]
        return self.judged if holds == verdicts.AVERAGE else verdicts.required(holds, self.judged)


def parts_of(results: Iterable[dict], rows: pd.DataFrame, metrics: Mapping[str, Mapping]) -> dict[str, list[Part]]:
    """Return the parts of each testable claim in `results`, by claim. `rows` are the comparisons, `metrics` the study's."""
    benchmarks = rows["metric"].map(lambda name: compare.benchmark_of(metrics.get(name, {})))
    by_claim = {name: own.to_dict("records") for name, own in rows.assign(benchmark=benchmarks).groupby("claim")}
    testable = [one for one in results if one["verdict"] != verdicts.NOT_TESTABLE and one["id"] in by_claim]
    return {one["id"]: _parts(one, by_claim[one["id"]]) for one in testable}


def _parts(result: dict, rows: list[dict]) -> list[Part]:
    parts = []
    for number, part in enumerate(result["parts"] or [result], start=1):
        own = [row for row in rows if row["part"] == number]
        for words, arranged in (part["arrangements"] or {"": {}}).items():
            of_it = [row for row in own if not words or row["arrangement"] == words]
            parts.append(Part((result["id"], number, words), {**part, **arranged}, of_it))
    return [part for part in parts if part.rows and part.result["verdict"] != verdicts.NOT_TESTABLE]


def compared(row: Mapping) -> tuple:
    """Return a key for what a comparison compares: its metrics, its label and its cells."""
    cells = (row[column] for column in CELL_COLUMNS if isinstance(row[column], str))
    return (row["metric"], row["metric_b"], row["label"], *cells)

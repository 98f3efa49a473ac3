"""One study in two sets of results: its cells, averages over them, and findings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from plimsoll.analysis import cell_paths, two_sets
from plimsoll.analysis.two_sets import ALIKE, BETTER, UNDECIDED, WORSE, Terms
from plimsoll.claims.quantities.base import LEAST
from plimsoll.comparing import comparable, failing, findings
from plimsoll.comparing.comparable import Differing
from plimsoll.comparing.failing import CELL, DESCRIBED, FAILED, WATCHED
from plimsoll.comparing.sets import ResultSet
from plimsoll.config.studies import Study

ANSWERS = (WORSE, FAILED, BETTER, UNDECIDED, ALIKE)
CHANGED = (WORSE, FAILED, BETTER)
# What makes a comparison end with 1.
BAD = (WORSE, FAILED)
NOT_COMPARABLE = 2
# An average over cells of a runtime; beside it failing.CELL and failing.WATCHED.
AVERAGE = "average"
# Cells and averages are two tables of one comparison.
TABLES = 2
EVERY = "all"


@dataclass(frozen=True)
class Compared:
    """A study in two sets: `rows` have DESCRIBED and the columns of plimsoll.analysis.two_sets, for cells, averages and watched
    runs; `metrics` one row per metric, an average over all of its cells. `left_out` says why cells are not compared; `refusal`
    why nothing is."""

    study: Study
    a: ResultSet
    b: ResultSet
    differing: list[Differing]
    same: dict[str, str]
    bits: list[Differing]
    profiles: tuple[str, str]
    refusal: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    rows: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[*DESCRIBED, *two_sets.COLUMNS]))
    metrics: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[*DESCRIBED, *two_sets.COLUMNS]))
    findings: list[dict] = field(default_factory=list)

    @property
    def deciding(self) -> pd.DataFrame:
        """The rows that decide how a comparison ends."""
        return self.rows[self.rows["kind"] != WATCHED]

    def counts(self, kind: str = CELL) -> dict[str, int]:
        """How many rows of a kind have which answer."""
        answers = self.rows.loc[self.rows["kind"] == kind, "answer"]
        return {answer: int((answers == answer).sum()) for answer in ANSWERS}


def compare(study: Study, a: ResultSet, b: ResultSet, terms: Terms, force: bool) -> Compared:
    """A study in two sets. PlimsollError for a set that cannot be read."""
    observed = [_observed(one, study) for one in (a, b)]
    failed = failing.rows(study, observed, b.runs(study))
    reasons = comparable.cells(a, b, *observed, study.design)
    both = {cell for cell in observed[0]["cell"] if cell not in reasons}
    differing, same = comparable.facts(a, b)
    bits = comparable.bits(a, b)
    profiles = tuple(" and ".join(sorted(table["profile"].dropna().astype(str).unique())) for table in observed)
    left_out = {cell: reason for cell, reason in reasons.items() if cell not in set(failed["cell"])}
    begun = Compared(study, a, b, differing, same, bits, profiles, left_out=left_out)
    if refusal := comparable.refusal(reasons, bits, len(both) + len(failed), profiles, force):
        return replace(begun, refusal=refusal)
    rows, metrics = _judged(study, [table[table["cell"].isin(both)] for table in observed], terms)
    rows = pd.concat([one for one in (rows, failed) if len(one)] or [rows], ignore_index=True)
    return replace(begun, rows=rows, metrics=metrics, findings=findings.compare(a.verdicts, b.verdicts))


def _judged(study: Study, observed: list[pd.DataFrame], terms: Terms) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(rows, metrics) of what two sets have observed of the same cells."""
    plain = [study.design.readings.measuring(table) for table in observed]
    watched = [table.drop(own.index) for table, own in zip(observed, plain, strict=True)]
    rows = [
        _described(two_sets.compare(*plain, terms, TABLES), CELL, plain[1]),
        _described(two_sets.averages(*_grouped(plain, "runtime"), terms, TABLES), AVERAGE, plain[1]),
        _described(two_sets.compare(*watched, terms), WATCHED, watched[1]),
    ]
    metrics = _described(two_sets.averages(*_grouped(plain, None), terms, least=1), EVERY, plain[1])
    return pd.concat([one for one in rows if len(one)] or rows[:1], ignore_index=True), metrics


def _observed(one: ResultSet, study: Study) -> pd.DataFrame:
    """What a set has observed, with `cell` and `block`; half a count is added to counts, and no share is 0, as where claims are
    judged."""
    table = one.observations(study)
    values = table["value"].astype(float)
    values = values.where(table["unit"] != "count", values + 0.5)
    shares = table["unit"].astype(str).str.startswith("share")
    return table.assign(
        value=values.where(~shares, np.maximum(values, LEAST)),
        cell=cell_paths.of_table(table, study.design.factors.FACTORS) if len(table) else "",
        block=table["block"] if "block" in table else table["repetition"],
    )


def _grouped(pair: list[pd.DataFrame], by: str | None) -> list[pd.DataFrame]:
    """Tables with the `group` that averages are taken over: all cells, or those of each level."""
    return [table.assign(group=table[by] if by else EVERY) for table in pair]


def _described(rows: pd.DataFrame, kind: str, observed: pd.DataFrame) -> pd.DataFrame:
    """Rows with DESCRIBED."""
    metrics = observed.drop_duplicates("metric").set_index("metric")
    if kind in (CELL, WATCHED):
        runtimes = observed.drop_duplicates("cell").set_index("cell")["runtime"]
        runtime = rows["cell"].map(runtimes)
    else:
        runtime = rows["cell"]
    described = {name: rows["metric"].map(metrics[name]) for name in ("label", "unit")}
    return rows.assign(kind=kind, runtime=runtime, **described)[[*DESCRIBED, *two_sets.COLUMNS]]


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows by answer, of each the averages first, then the largest differences first."""
    kinds = (AVERAGE, CELL, WATCHED)
    ranked = rows.assign(
        by_answer=rows["answer"].map(ANSWERS.index),
        by_kind=rows["kind"].map(kinds.index),
        by_size=-np.log(rows["ratio"].astype(float)).abs(),
    )
    return ranked.sort_values(["by_answer", "by_kind", "by_size"], kind="stable")[list(rows)]


class Ended(NamedTuple):
    """How a comparison ends: its exit status, and what decided it, as a sentence without its stop."""

    status: int
    reason: str


def ended(compared: Mapping[str, Compared], strict: bool) -> Ended:
    """0 if nothing is worse, 1 if something is or, if `strict`, something is undecided, 2 if a study could not be compared."""
    for name, one in compared.items():
        if one.refusal:
            return Ended(NOT_COMPARABLE, f"{name}: {one.refusal}")
    rows = pd.concat([one.deciding for one in compared.values()], ignore_index=True)
    bad, undecided = (int(rows["answer"].isin(answers).sum()) for answers in (BAD, (UNDECIDED,)))
    of_all = f"of {len(rows)} comparisons"
    if bad:
        return Ended(1, f"{bad} {of_all} are worse in B")
    if strict and undecided:
        return Ended(1, f"nothing is worse in B, and {undecided} {of_all} are undecided (STRICT=1)")
    return Ended(0, f"nothing is worse in B; {undecided} {of_all} are undecided")

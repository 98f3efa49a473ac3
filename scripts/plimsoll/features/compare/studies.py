"""Compare one study in two sets of results: its cells, averages over them, and its claims with the effects behind them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from plimsoll.analysis import cell_paths
from plimsoll.claims.quantities.base import LEAST
from plimsoll.config.studies import Study
from plimsoll.features.compare import effects, missing_results, two_sets
from plimsoll.features.compare.comparison_options import ComparisonOptions
from plimsoll.features.compare.effects import NOTHING, Effects
from plimsoll.features.compare.missing_results import CELL, COLUMNS, FAILED, WATCHED
from plimsoll.features.compare.two_sets import ALIKE, BETTER, DIFFERENT, UNDECIDED, WORSE
from plimsoll.result_sets import comparable, findings
from plimsoll.result_sets.comparable import ONLY_A, OTHER_SIZES, Bits, Differing, Profiles
from plimsoll.result_sets.sets import ResultSet

ANSWERS = (WORSE, FAILED, BETTER, DIFFERENT, UNDECIDED, ALIKE)
CHANGED = (WORSE, FAILED, BETTER, DIFFERENT)
# Answers that make a comparison end with exit status 1.
BAD = (WORSE, FAILED)
NOTHING_WORSE, SOMETHING_WORSE, NOT_COMPARABLE = 0, 1, 2
# The kind of a row that is an average over cells of a runtime. The other kinds are failing.CELL and failing.WATCHED.
AVERAGE = "average"
# Two tables of a study decide how a comparison ends, cells and averages, so p is adjusted for both. Effects and watched
# runs decide nothing; each is adjusted as a single table.
TABLES = 2
EVERY = "all"
NO_CLAIMS = (
    "They are of two machines, so that claims are compared and not cells, and they have no verdicts on the same claims; "
    "--force compares cells."
)


@dataclass(frozen=True)
class ComparedStudy:
    """A study in two sets of results.

    `rows` (with failing.COLUMNS) are for cells, averages and watched runs. `metrics` has one row per metric, the
    average over all of its cells. `effects` are those that the claims in `findings` rest on. `left_out` says why cells
    are not compared, and `refusal` why nothing is.

    With `by_claims`, the sets are from two machines. Claims then decide how the comparison ends, and no cell is better
    or worse.
    """

    study: Study
    a: ResultSet
    b: ResultSet
    differing: list[Differing]
    same: dict[str, str]
    bits: Bits
    profiles: Profiles
    refusal: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    rows: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(COLUMNS)))
    metrics: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(COLUMNS)))
    findings: list[dict] = field(default_factory=list)
    effects: Effects = NOTHING
    by_claims: bool = False

    @property
    def deciding(self) -> pd.DataFrame:
        """Return the rows that decide how a comparison ends where claims do not."""
        return self.rows[self.rows["kind"] != WATCHED]

    @property
    def lacking(self) -> int:
        """Return the number of cells that A has observed and B merely lacks. B's results say nothing of them."""
        return list(self.left_out.values()).count(ONLY_A)

    def counts(self, kind: str = CELL) -> dict[str, int]:
        """Return how many rows of a kind have which answer."""
        answers = self.rows.loc[self.rows["kind"] == kind, "answer"]
        return {answer: int((answers == answer).sum()) for answer in ANSWERS}


def compare(study: Study, a: ResultSet, b: ResultSet, options: ComparisonOptions) -> ComparedStudy:
    """Compare a study in two sets of results. Raise PlimsollError for a set that cannot be read."""
    observed = [_observed(one, study) for one in (a, b)]
    failed = missing_results.rows(study, observed, b)
    reasons = comparable.cells(a, b, *observed, study.design)
    there = [set(table["cell"]) for table in observed]
    both = there[0] - reasons.keys()
    profiles = Profiles(*(" and ".join(sorted(table["profile"].dropna().astype(str).unique())) for table in observed))
    left_out = {cell: reason for cell, reason in reasons.items() if cell not in set(failed["cell"])}
    bits = comparable.bits(a, b, sorted(there[0] & there[1]), study)
    differing, same = comparable.facts(a, b)
    by_claims = bool(comparable.of_another_machine(differing)) and not options.force
    begun = ComparedStudy(study, a, b, differing, same, bits, profiles, left_out=left_out, by_claims=by_claims)
    shared = len(both) + len(failed)
    refusal = "" if by_claims else comparable.incomparable(reasons, shared, profiles)
    if not refusal and not options.force:
        refusal = comparable.refusal(reasons, bits, shared, profiles, options.strict, by_claims)
    if refusal:
        return replace(begun, refusal=refusal)
    told, of_findings = _findings(a, b, reasons, options)
    if by_claims and not told:
        return replace(begun, refusal=NO_CLAIMS)
    rows, metrics = _judged(study, [table[table["cell"].isin(both)] for table in observed], options)
    rows = pd.concat([one for one in (rows, failed) if len(one)] or [rows], ignore_index=True)
    if by_claims:
        rows, metrics = (
            table.assign(answer=table["answer"].replace({WORSE: DIFFERENT, BETTER: DIFFERENT})) for table in (rows, metrics)
        )
    return replace(begun, rows=rows, metrics=metrics, findings=told, effects=of_findings)


def _findings(a: ResultSet, b: ResultSet, reasons: Mapping[str, str], options: ComparisonOptions) -> tuple[list[dict], Effects]:
    """Return (claims, effects). Each claim has the number of its `effects` with each answer."""
    told = findings.compare(a.verdicts, b.verdicts)
    other = {cell for cell, reason in reasons.items() if reason == OTHER_SIZES}
    found = effects.compare(a.judged, b.judged, [one["id"] for one in told], other, options.terms, options.studies)
    counts = effects.counts(found.rows)
    return [{**one, "effects": counts.get(one["id"], {})} for one in told], found


def _judged(study: Study, observed: list[pd.DataFrame], options: ComparisonOptions) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return (rows, metrics): comparisons of what two sets have observed of the same cells, and one average per metric."""
    terms, tables = options.terms, TABLES * options.studies
    plain = [study.design.readings.measuring(table) for table in observed]
    watched = [table.drop(own.index) for table, own in zip(observed, plain, strict=True)]
    rows = [
        _described(two_sets.compare(*plain, terms, tables), CELL, plain[1]),
        _described(two_sets.averages(*_grouped(plain, "runtime"), terms, tables), AVERAGE, plain[1]),
        _described(two_sets.compare(*watched, terms, options.studies), WATCHED, watched[1]),
        pd.DataFrame(
            [*missing_results.missing(plain, CELL), *missing_results.missing(watched, WATCHED)], columns=list(COLUMNS)
        ),
    ]
    metrics = _described(two_sets.averages(*_grouped(plain, None), terms, least=1), EVERY, plain[1])
    return pd.concat([one for one in rows if len(one)] or rows[:1], ignore_index=True), metrics


def _observed(one: ResultSet, study: Study) -> pd.DataFrame:
    """Return a set's observations, with `cell` and `block`.

    As where claims are judged, half a count is added to counts, and shares are at least LEAST.
    """
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
    """Return the tables with the `group` that averages are taken over: one for all cells, or one per level of column `by`."""
    return [table.assign(group=table[by] if by else EVERY) for table in pair]


def _described(rows: pd.DataFrame, kind: str, observed: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the columns that a page shows."""
    metrics = observed.drop_duplicates("metric").set_index("metric")
    if kind in (CELL, WATCHED):
        runtimes = observed.drop_duplicates("cell").set_index("cell")["runtime"]
        runtime = rows["cell"].map(runtimes)
    else:
        runtime = rows["cell"]
    described = {name: rows["metric"].map(metrics[name]) for name in ("label", "unit")}
    return rows.assign(kind=kind, runtime=runtime, **described)[list(COLUMNS)]


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows sorted by answer, then averages before cells, then the largest difference first."""
    kinds = (AVERAGE, CELL, WATCHED)
    ranked = rows.assign(
        by_answer=rows["answer"].map(ANSWERS.index),
        by_kind=rows["kind"].map(kinds.index),
        by_size=-np.log(rows["ratio"].astype(float)).abs(),
    )
    return ranked.sort_values(["by_answer", "by_kind", "by_size"], kind="stable")[list(rows)]


class Outcome(NamedTuple):
    """How a comparison ends: its exit status, and what decided it, as a sentence without its full stop."""

    status: int
    reason: str


def ended(compared: Mapping[str, ComparedStudy], strict: bool, gone: Sequence[str] = ()) -> Outcome:
    """Return the exit status of a comparison with its reason:

    - 1 if something is worse or a claim is reversed, whatever else there is.
    - Otherwise 2 if a study could not be compared.
    - Otherwise 1 with `strict`, if something is undecided or missing in B.
    - Otherwise 0.

    `gone` are the studies that only A has.
    """
    refused = [f"not compared: {name}: {one.refusal.removesuffix('.')}" for name, one in compared.items() if one.refusal]
    ways = [(_by_cells, []), (_by_claims, [])]
    for one in compared.values():
        ways[one.by_claims][1].append(one)
    told = [judge([one for one in own if not one.refusal]) for judge, own in ways if any(not one.refusal for one in own)]
    cells = sum(one.lacking for one in compared.values() if not one.refusal)
    lacking = [*([f"{cells} cells of A"] if cells else []), *([f"all of {', '.join(gone)}"] if gone else [])]
    if bad := [one.bad for one in told if one.bad]:
        return Outcome(SOMETHING_WORSE, "; ".join([*bad, *refused]))
    if refused:
        return Outcome(NOT_COMPARABLE, "; ".join(refused))
    also = f", and B lacks {' and '.join(lacking)}" if lacking else ""
    words = f"{'; '.join(one.good for one in told)}{also}"
    if strict and (lacking or any(one.is_open for one in told)):
        return Outcome(SOMETHING_WORSE, f"{words} (--strict)")
    return Outcome(NOTHING_WORSE, words)


class _Told(NamedTuple):
    """What the studies show that are compared in one way.

    `bad` says what is worse; it is empty if nothing is. `good` describes the result if nothing is worse. `is_open` says
    whether something is undecided in B.
    """

    bad: str
    good: str
    is_open: bool


def _by_cells(studies: Sequence[ComparedStudy]) -> _Told:
    rows = pd.concat([one.deciding for one in studies], ignore_index=True)
    bad, undecided = (int(rows["answer"].isin(answers).sum()) for answers in (BAD, (UNDECIDED,)))
    of_all = f"of {len(rows)} comparisons"
    worse = f"{bad} {of_all} {'is' if bad == 1 else 'are'} worse in B" if bad else ""
    return _Told(worse, f"nothing is worse in B; {undecided} {of_all} are undecided", bool(undecided))


def _by_claims(studies: Sequence[ComparedStudy]) -> _Told:
    rows = [finding for one in studies for finding in one.findings]
    number = {standing: sum(row["standing"] == standing for row in rows) for standing in findings.STANDINGS}
    turned = findings.reversals(rows)
    counts = ", ".join(f"{number[standing]} {standing}" for standing in findings.STANDINGS if standing != findings.TURNED)
    of_all = f"of {len(rows)} claims"
    reversed_ = f"{turned} {of_all} {'is' if turned == 1 else 'are'} reversed in B ({counts})" if turned else ""
    only_a = bool(number[findings.ONLY_A] or number[findings.OPEN])
    return _Told(reversed_, f"{of_all} none is reversed in B: {counts}", only_a)

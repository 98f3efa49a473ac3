"""Verdicts as a library: a table of measurements and claims about it in, verdicts out.

>>> from plimsoll.verdicts import judge
>>> found = judge(table, [{"statement": "Level 9 takes longer.", "a": {"level": ["9"]}, "b": {"level": ["1"]},
...                        "expected": "higher"}], metrics={"time": {"unit": "s", "better": "lower"}})
>>> found.verdicts["table-c01"]
'reproduced'

Importing this module takes milliseconds. What `judge` needs (NumPy, SciPy, pandas) is imported at its first call. The
workflow is not: neither Snakemake nor anything that measures.

How claims are judged:

- Each row of side a is compared with the row of side b that has the same levels otherwise, within the same block. The
  differences are of logarithms, and a paired t test judges their mean (Student 1908). From 20 comparisons of a metric on,
  spreads are moderated (Smyth 2004, doi:10.2202/1544-6115.1027).
- Likeness is shown by two one-sided tests (Schuirmann 1987, doi:10.1007/BF01068419).
- A claim about each of several comparisons is an intersection-union test (Berger 1982, doi:10.1080/00401706.1982.10487790).
  One about most of them is a partial conjunction (Benjamini and Heller 2008, doi:10.1111/j.1541-0420.2007.00984.x).
- q is the false discovery rate over all claims (Benjamini and Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x).
- Means with standard deviations are compared by Welch's test of the logarithm of their ratio (Welch 1947). Rows that name
  neither a block nor three sessions are compared by Welch's test of their logarithms: nothing says which belong together.
- From 40 blocks on, consecutive blocks are averaged to 20 values (batch means), because noise lasts longer than a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # importing this module must not import pandas
    import pandas as pd

    from plimsoll.config.studies import Study
    from plimsoll.interchange import Plan


@dataclass(frozen=True)
class Verdicts:
    """What was judged.

    `results` has one dictionary per claim, in the order of the claims. Its keys are those of claims.json: `id`, `verdict`
    (`reproduced`, `contradicted`, `conditional`, `inconclusive` or `not testable here`), `in_part`, `size` (beside the
    printed one: `as large`, `smaller`, `larger`, `opposite` or `of unclear size`), `p` and `q` (probabilities), `comparisons`
    (their number), `effect_least` and `effect_most` (relative differences: 0.1 is 10 % more on side a), and `reason`, if the
    claim cannot be tested.

    `comparisons` has one row per comparison, with the columns of comparisons.csv: the sides, `n` (blocks), `effect` with its
    95 % interval (`low`, `high`), `test`, `p_supports`, `p_opposes` and `verdict`.

    `notes` are sentences that a reader of the verdicts must know, such as that two sessions were pooled. Mostly there are
    none.
    """

    results: list[dict]
    comparisons: pd.DataFrame
    notes: list[str] = field(default_factory=list)

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each claim by the claim's id."""
        return {result["id"]: result["verdict"] for result in self.results}


def judge(
    data: pd.DataFrame,
    claims: Sequence[Mapping[str, Any]],
    *,
    metrics: Mapping[str, Mapping[str, str]] | None = None,
    factors: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    printed: pd.DataFrame | None = None,
    alpha: float = 0.05,
    name: str = "table",
) -> Verdicts:
    """Return the verdicts on claims about a table of measurements.

    `data` has one row per run. In long form, `value` has the numbers and `metric` says what they are of. In wide form,
    there is a column for each of `metrics`. In place of `value`, a row may have the `mean`, the `sd` (standard deviation,
    n - 1) and `n` of several runs. The columns `block`, `session` and `machine` say which rows were measured together, if
    they are there. Without a block or three sessions, rows are independent runs in any order. All other columns are factors,
    unless `factors` names them. Levels are compared as texts.

    `claims` have the keys of config/schemas/claims.yaml. A claim needs a `statement`, and what it compares: `a`, `b` and
    `scope` (lists of levels by factor), or `along`, or `order`; and `expected`.

    `metrics` says of each metric its `unit` (a text, printed as it is; values of different units are refused), and whether
    `higher` or `lower` is `better`. `columns` names columns that are not called as their role is: {"block": "day"}.
    `printed` is the paper's own table: rows with the same factors and a `mean`, and `sd` and `n` if they are printed. Each
    result then says whether the paper's numbers support the claim (`paper_consistent`). `alpha` is the probability of a wrong
    decision on a claim. `name` begins the ids of claims.

    Raise PlimsollError for a column, metric, factor or level that is not there; the message names the nearest. Raise it
    also for a value that is no number or has no logarithm, two units or two better directions in one metric, or no cell with
    three runs. An argument of another form than is said here is refused, too.
    """
    from plimsoll.designs.table import claim_file, judged_study, study_file
    from plimsoll.designs.table.metrics import at_all
    from plimsoll.designs.table.rows import of_table

    document = {"id": name, "metrics": metrics or {}, "columns": columns or {}, "alpha": alpha}
    document |= {"factors": factors if isinstance(factors, str) else list(factors)} if factors is not None else {}
    study_file.check_keys(document, name)
    written = claim_file.of_list(claims)
    roles = study_file.columns_of(document, written.written)
    rows = of_table(study_file.lines_of(data, name), roles, name)
    of_paper = []
    if printed is not None:
        own = f"{name}, as printed"
        shared = replace(roles, factors=tuple(study_file.factors_of(document, rows)))
        of_paper = of_table(study_file.lines_of(printed, own), shared, own)
    found = judged_study.judge(study_file.assemble(document, rows, of_paper, at_all(name)), written)
    return Verdicts(found.results, found.comparisons, found.notes)


def judge_study(
    study: Study, plan: Plan, observations: pd.DataFrame, runs: pd.DataFrame, claims: Sequence[Mapping[str, Any]]
) -> Verdicts:
    """Return the verdicts on claims of a study that Plimsoll measures, from its tables, as the workflow judges them.

    `study` is one of config/studies (plimsoll.config.studies.load), `plan` that of its results, `observations` and `runs`
    the tables of its folder, with levels as texts (plimsoll.analysis.collect.table). `claims` are checked against the study.
    Raise PlimsollError if one of them names what the study does not know.
    """
    from plimsoll.claims import book, evaluate
    from plimsoll.claims.study_observations import StudyObservations

    book.check_against(study, [dict(claim) for claim in claims])
    measured = StudyObservations(study, plan, observations, runs)
    return Verdicts(*evaluate.evaluate([dict(claim) for claim in claims], measured, study["alpha"]))

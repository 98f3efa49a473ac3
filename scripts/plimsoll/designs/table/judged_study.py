"""From a study and its claims to verdicts: the stages of every study, in one process."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from plimsoll.claims import answer, evaluate, verdicts
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config.studies import Study
from plimsoll.designs.table import assumptions, claim_file, paper_consistency, row_observations, study_file
from plimsoll.designs.table.claim_file import WrittenClaims
from plimsoll.designs.table.study_file import Source


@dataclass(frozen=True)
class JudgedStudy:
    """A study that was judged: its `results` (one per claim), comparisons, and answer.

    `claims_file` has its claims, if a file has them.
    """

    source: Source
    claims: list[dict]
    questions: dict[str, str]
    measured: StudyObservations
    results: list[dict]
    comparisons: pd.DataFrame
    answer: pd.DataFrame | None
    claims_file: Path | None

    @property
    def study(self) -> Study:
        """The study."""
        return self.source.study

    @property
    def notes(self) -> list[str]:
        """Sentences that a reader of the verdicts must know."""
        return assumptions.notes(self.source.rows)

    @property
    def summarised(self) -> bool:
        """Whether the rows are means, and no single values."""
        return any(row.summarised for row in self.source.rows)


def of_file(path: Path, name: str | None = None) -> JudgedStudy:
    """Return the study of a YAML file, judged. PlimsollError, with file and line, for what does not fit.

    `name` is that of a study whose file does not say it.
    """
    claims = claim_file.read(path)
    return judge(study_file.read(path, claims.written, name), claims)


def of_files(
    data: list[Path],
    claims: Path,
    name: str | None = None,
    printed: list[Path] | None = None,
    factors: Sequence[str] | None = None,
) -> JudgedStudy:
    """Return data judged by a file of claims. The columns of the data say the rest. `printed` is the paper's own table.

    `factors` are the columns that are factors; None stands for all that have no role.
    """
    found = claim_file.read(claims)
    return judge(study_file.of_files(data, found.written, name or claims.stem, printed or [], factors), found)


def judge(source: Source, claims: WrittenClaims) -> JudgedStudy:
    """Return a study judged by its claims."""
    study = source.study
    whole = claim_file.complete(claims, study)
    if any(row.summarised for row in source.rows):
        whole = [row_observations.without_single_runs(claim) for claim in whole]
    measured = row_observations.of_source(source)
    results, comparisons = evaluate.evaluate(whole, measured, study["alpha"])
    results = [_told(result) for result in results]
    if source.printed or any(row.summarised for row in source.rows):
        results = paper_consistency.noted(whole, results, comparisons, source)
    ratios = answer.table(measured, study["alpha"]) if study["answer"] else None
    questions = claims.questions or {claim_file.QUESTION: study["question"]}
    return JudgedStudy(source, whole, questions, measured, results, comparisons, ratios, claims.file)


def _told(result: dict) -> dict:
    """Return a result without what `precise` would repeat. It says how many runs should decide an open claim."""
    needed = result.get("needed") if result["verdict"] == verdicts.INCONCLUSIVE else None
    return {**result, "decide": None, "runs_needed": needed}

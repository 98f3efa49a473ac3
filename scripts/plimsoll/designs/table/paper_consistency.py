"""Whether a paper's own table supports the paper's statements (`paper_consistent`), by the rules for all data."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from plimsoll.claims import evaluate, verdicts
from plimsoll.designs.table import row_observations
from plimsoll.designs.table.study_file import Source
from plimsoll.errors import many

YES, NO, PARTLY, OPEN = "yes", "no", "partly", "not decided by its numbers"
# What is added where the table has means without spreads.
BY_MEANS = ", by the means alone"


def noted(claims: Sequence[dict], results: Sequence[dict], comparisons: pd.DataFrame, source: Source) -> list[dict]:
    """Return results with `paper_consistent`: what the printed rows say of each claim.

    Without printed rows, these are the rows themselves. It is empty for a claim about cells that are not in the table.
    """
    if source.printed:
        measured = row_observations.of_summaries(source.study, source.printed)
        own = [row_observations.without_single_runs(claim) for claim in claims]
        of_paper, compared = evaluate.evaluate(own, measured, source.study["alpha"])
    else:
        of_paper, compared = results, comparisons
    rows = {name: group.to_dict("records") for name, group in compared.groupby("claim")} if len(compared) else {}
    return [
        {**result, "paper_consistent": _said(printed, rows.get(printed["id"], []))}
        for result, printed in zip(results, of_paper, strict=True)
    ]


def summary(results: Sequence[Mapping]) -> list[str]:
    """Return in a sentence what the paper's own numbers say of how many claims; empty without a paper's table."""
    told = [result["paper_consistent"] for result in results if "paper_consistent" in result]
    if not told:
        return []
    words = {YES: "support", NO: "contradict", PARTLY: "support in part", OPEN: "do not decide"}
    counts = {said: sum(one in (said, said + BY_MEANS) for one in told) for said in words}
    tested = [f"{words[said]} {number}" for said, number in counts.items() if number]
    if not tested:
        return [f"The paper's own numbers test none of {many(len(told), 'claim')}."]
    unknown = told.count("")
    return [
        f"The paper's own numbers {', '.join(tested)} of {many(len(told), 'claim')}"
        f"{f', and cannot test {unknown}' if unknown else ''}."
    ]


def _said(result: Mapping, rows: Sequence[Mapping]) -> str:
    known = {verdicts.REPRODUCED: YES, verdicts.CONTRADICTED: NO, verdicts.CONDITIONAL: PARTLY}
    if result["verdict"] in known:
        return PARTLY if result["in_part"] else known[result["verdict"]]
    if result["verdict"] != verdicts.INCONCLUSIVE:
        return ""
    if any(not math.isnan(row["low"]) for row in rows):
        return OPEN
    agree = [_agrees(row) for row in rows if not math.isnan(row["effect"])]
    if not agree:
        return ""
    return (YES if all(agree) else PARTLY if any(agree) else NO) + BY_MEANS


def _agrees(row: Mapping) -> bool:
    """Return whether a difference of means is what the claim says, without a test."""
    effect, margin = row["effect"], row["margin"]
    said = {
        "higher": effect > 0,
        "lower": effect < 0,
        "no_difference": abs(effect) <= margin,
        "not_lower": effect >= -margin,
        "not_higher": effect <= margin,
    }
    return bool(said[row["expected"]])

"""Describe two sets of results in words: what a row is, how much it changed, what would decide it. All functions are pure."""

from collections.abc import Iterable, Mapping

import pandas as pd

from plimsoll.config.studies import Study
from plimsoll.features.compare import effects
from plimsoll.features.compare.studies import AVERAGE, CELL, FAILED, WATCHED, ComparedStudy
from plimsoll.features.compare.two_sets import ALIKE, BETTER, DIFFERENT, MOST_SESSIONS, UNDECIDED, WORSE, Terms
from plimsoll.pages import comparison_rows, wording
from plimsoll.pages.formats import interval, missing, percent, significant, unit
from plimsoll.result_sets import findings
from plimsoll.result_sets.comparable import of_another_machine

NOTHING_KNOWN = "nothing is known"
# Only these facts are listed if they are the same on both machines.
SAME = ("processor", "sockets, cores, hardware threads", "memory", "kernel", "distribution")
# Classes of the answers in the style sheet.
MARKS = {
    **{WORSE: "contradicted", FAILED: "contradicted", BETTER: "reproduced"},
    **{UNDECIDED: "inconclusive", ALIKE: "untested", DIFFERENT: "conditional"},
}


def metric(row: Mapping) -> str:
    """Return a row's metric with its unit; empty for a cell as a whole."""
    return f"{row['label']}, {unit(row['unit'])}" if row["label"] else ""


def cell(row: Mapping, study: Study) -> str:
    """Return what a row is about, for people: a cell, or an average."""
    report = study.design.report
    if row["kind"] == AVERAGE:
        return f"average of {int(row['cells'])} cells, {report.level('runtime', row['runtime'])}"
    return report.cell_label(row["cell"], study["metrics"].get(row["metric"], {}))


def name(row: Mapping, study: Study) -> str:
    """Return the name of a row for people: its metric and its cell."""
    return ": ".join(filter(None, (row["label"], cell(row, study))))


def change(row: Mapping) -> str:
    """Return how much B differs from A, with the 95 % interval if there is one; empty if nothing is known."""
    if missing(row["ratio"]):
        return ""
    effect, low, high = (row[key] - 1 for key in ("ratio", "low", "high"))
    return interval(effect, low, high, wording.one_scale(percent, {"effect": effect, "low": low, "high": high}))


def mean(row: Mapping, side: str, with_half: bool = True) -> str:
    """Return the mean of side `a` or `b`.

    If it is known and asked for (`with_half`), half its interval follows, in percent.
    """
    value, half = row[f"mean_{side}"], row[f"half_{side}"]
    return f"{significant(value)} ± {100 * half:.2g} %" if with_half and not missing(half) else significant(value)


def decision_hint(row: Mapping) -> str:
    """Return what would decide an undecided row, or why nothing can be said of it.

    For any other row, return what is unusual about it.
    """
    if row["answer"] != UNDECIDED or row["note"]:
        return row["note"]
    if not missing(row["blocks_needed"]):
        return f"{int(row['blocks_needed'])} blocks of each set would decide"
    if not missing(row["sessions_needed"]):
        return f"{int(row['sessions_needed'])} sessions of each set would decide, more blocks would not"
    return f"neither more blocks nor {MOST_SESSIONS} sessions would decide"


def of_set(compared: ComparedStudy, side: str) -> str:
    """Return how much was measured in a set: its profile, sessions and blocks."""
    one = getattr(compared, side)
    rows = compared.rows
    numbers = rows.loc[rows[f"blocks_{side}"] > 0, f"blocks_{side}"]
    sessions = len(one.folders)
    told = [f"profile {compared.profiles[side == 'b']}"]
    told += [f"{sessions} sessions"] if sessions > 1 else []
    told += [f"{_range(numbers)} blocks"] if len(numbers) else []
    return ", ".join(told)


def _range(numbers: pd.Series) -> str:
    least, most = int(numbers.min()), int(numbers.max())
    return str(least) if least == most else f"{least} to {most}"


def machines(compared: ComparedStudy) -> list[str]:
    """Return sentences on what is the same on the machines of both sets, and what differs."""
    silent = [side.upper() for side in ("a", "b") if not getattr(compared, side).facts]
    if silent:
        return [f"The machine of {' and '.join(silent)}: {NOTHING_KNOWN}, as there is no host.txt."]
    same = [f"{fact} {compared.same[fact]}" for fact in SAME if fact in compared.same]
    differing = [f"{one.name}: {one.a} in A, {one.b} in B" for one in compared.differing]
    first = f"The same: {'; '.join(same)}." if same else ""
    return [*filter(None, [first]), *(f"Differs: {words}." for words in differing), *bits(compared), *by_claims(compared)]


def by_claims(compared: ComparedStudy) -> list[str]:
    """Return a sentence on what is compared between two machines; empty if both sets are of one machine."""
    if not compared.by_claims:
        return []
    names = ", ".join(fact.name for fact in of_another_machine(compared.differing))
    return [
        f"A and B are of two machines, which differ in {names}. So the answer is about claims: which are decided alike, "
        "and which are reversed. Cells and effects are shown, and decide nothing: no cell is better or worse for being on "
        "another machine. --force judges them as if it were one machine."
    ]


def bits(compared: ComparedStudy) -> list[str]:
    """Return sentences on the programs and libraries that both sets ran."""
    other, same, silent, versions = compared.bits
    if silent:
        return [f"Whether both ran the same bits is not known: there are no records of {' and '.join(silent)}."]
    told = [f"Another version of {one.name}: {one.a} in A, {one.b} in B." for one in versions or []]
    if other:
        names = ", ".join(one.name for one in other)
        return [
            *told,
            f"Other builds of {len(other)} programs and libraries: {names}. A change may be theirs; compare.json has what each "
            "was in A and B.",
        ]
    return [f"Both ran the same bits ({same} programs and libraries)."]


def left_out(reasons: Mapping[str, str]) -> str:
    """Return how many cells are not compared, and why; empty if all are compared."""
    counts = {reason: list(reasons.values()).count(reason) for reason in dict.fromkeys(reasons.values())}
    return f"Not compared: {', '.join(f'{number} cells {reason}' for reason, number in counts.items())}." if counts else ""


def sentence(answers: Mapping[str, int], what: str) -> str:
    """Return how many rows have which answer: 84 cells: 3 better, 1 worse, 61 alike, 19 undecided."""
    told = [f"{number} {answer}" for answer, number in answers.items() if number]
    return f"{sum(answers.values())} {what}: {', '.join(told) or 'none'}."


def sums(compared: ComparedStudy) -> list[str]:
    """Return sentences on how many comparisons, claims and effects have which result."""
    kinds = {
        CELL: "cells and metrics",
        AVERAGE: "averages over the cells of a runtime",
        WATCHED: "comparisons of watched runs, which decide nothing",
    }
    told = [sentence(compared.counts(kind), what) for kind, what in kinds.items() if (compared.rows["kind"] == kind).any()]
    standings = [finding["standing"] for finding in compared.findings]
    if not standings:
        return [*told, "Claims are not compared: a set has no verdicts."]
    told.append(sentence({name: standings.count(name) for name in findings.STANDINGS}, "claims"))
    return [*told, *_effects(compared.effects), *filter(None, [encoded(compared.findings)])]


def _effects(found: effects.Effects) -> list[str]:
    """Return sentences on the effects that claims rest on."""
    answers = found.rows["answer"].tolist()
    told = [sentence({name: answers.count(name) for name in effects.ANSWERS}, "effects behind claims, which decide nothing")]
    alone = f"{found.alone} other effects are in one set only, or are averages over other comparisons there."
    return [*(told if answers else []), *([alone] if found.alone else [])]


def effect(row: Mapping, study: Study) -> str:
    """Return what an effect is of, for people, with the claims that rest on it."""
    return f"{', '.join(row['claims'].split())}: {comparison(row, study)}"


def comparison(row: Mapping, study: Study) -> str:
    """Return what an effect is of: a comparison, or the average of several."""
    if row["cells"] > 1:
        return f"{row['label']}: average of {int(row['cells'])} comparisons"
    return comparison_rows.name(row, study, study.design.report.cell_label)


def of_effect(row: Mapping, side: str) -> str:
    """Return an effect of set `a` or `b` as text."""
    return wording.shower(row)(row[f"effect_{side}"])


def effect_changed(row: Mapping) -> str:
    """Return how much an effect in B differs from that in A, with its 95 % interval.

    Without an interval it is the difference alone. If nothing is known, the text is empty.
    """
    if missing(row["change"]):
        return ""
    ends = {"effect": row["change"], "low": row["change_low"], "high": row["change_high"]}
    told = interval(*ends.values(), wording.one_scale(wording.SHOWN[row["change_as"]], ends))
    return f"{told} in odds" if row["change_as"] == "odds" else told


def of_finding(finding: Mapping) -> str:
    """Return both verdicts on a claim, and how the effects that it rests on compare, in words."""
    behind = f" (effects: {told})" if (told := of_effects(finding)) else ""
    return f"{finding['a']} in A, {finding['b']} in B{behind}"


def of_effects(finding: Mapping) -> str:
    """Return how many of the effects that a claim rests on have which answer; empty if none was compared."""
    counted = finding["effects"]
    return ", ".join(f"{counted[answer]} {answer}" for answer in effects.ANSWERS if counted.get(answer))


def days(terms: Terms) -> str:
    """Return a sentence on what was allowed for differences between days."""
    if terms.session_blocks == float("inf"):
        return "Nothing is allowed for what differs between days: intervals and answers are of these sessions only."
    return (
        f"A session tells no more than {terms.session_blocks:g} blocks of as many days would: so much is allowed for what "
        "differs between days (docs/reports/compare.md)."
    )


def encoded(compared: Iterable[Mapping]) -> str:
    """Return a sentence on claims that the two sets tested differently, or may have; empty if all were tested alike."""
    told = [one["encoded_alike"] for one in compared]
    other = told.count(False)
    if other:
        what = "1 claim was" if other == 1 else f"{other} claims were"
        return f"{what} tested differently in A than in B, so that verdicts may differ for that alone."
    return (
        "How claims were tested is not known of both sets, so that verdicts may differ for that alone." if None in told else ""
    )

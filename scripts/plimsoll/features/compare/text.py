"""Show two sets of results on the terminal.

It shows how the machines differ, the claims with another verdict, a line per metric, what changed, and what decided the
exit status.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from plimsoll.features.compare import effects
from plimsoll.features.compare import words as words
from plimsoll.features.compare.studies import ANSWERS, CELL, CHANGED, NOT_COMPARABLE, WATCHED, ComparedStudy, Outcome, in_order
from plimsoll.features.compare.two_sets import DIFFERENT, Terms
from plimsoll.pages.formats import capital, p_value, prose
from plimsoll.result_sets import findings
from plimsoll.terminal.listing import Section, wrapped
from plimsoll.terminal.listing import text as aligned

# With fewer columns there is no room for the intervals of the means.
WIDE = 110


def text(
    compared: Mapping[str, ComparedStudy],
    paths: tuple[Path, Path],
    terms: Terms,
    everything: bool,
    written: Sequence[Path],
    ended: Outcome,
    width: int,
) -> str:
    """Return the comparison of two sets as text, in lines of at most `width`.

    It lists the rows that changed, or with `everything` all rows. It ends with the page, one of the files that were
    `written`, and with what decided the exit status.
    """
    parts = [_study(name, one, paths, everything, width) for name, one in compared.items()]
    alike = f"Alike is a difference shown to be within {100 * terms.margin:g} %."
    how = f"{alike} p is adjusted by Holm's method. {words.days(terms)}"
    page = next(path for path in written if path.suffix == ".html")
    last = [wrapped(how, width), f"Read on: {page}"]
    # The caller prints a refusal as an error, and once is enough.
    if ended.status != NOT_COMPARABLE:
        last.append(wrapped(f"{capital(ended.reason)} (exit {ended.status})", width))
    return "\n\n".join([*parts, *last])


def _study(name: str, one: ComparedStudy, paths: tuple[Path, Path], everything: bool, width: int) -> str:
    head = [f"{name}", *(f"{side.upper()}  {path} ({words.of_set(one, side)})" for side, path in zip("ab", paths, strict=True))]
    told = [*map(prose, words.machines(one)), words.left_out(one.left_out)]
    parts = ["\n".join([*head, *(wrapped(line, width) for line in told if line)])]
    if one.refusal:
        return parts[0]
    sections = [*_findings(one), _metrics(one), _rows(one, everything, width >= WIDE), _effects(one, everything)]
    parts += [aligned([section], width) for section in sections if section.rows]
    parts.append(wrapped(" ".join(words.sums(one)), width))
    return "\n\n".join(parts)


def _metrics(one: ComparedStudy) -> Section:
    """Return one line per metric: the geometric mean over its cells, and how many cells have which answer."""
    cells = one.rows[one.rows["kind"] == CELL]
    rows = []
    for row in one.metrics.to_dict("records"):
        answers = cells.loc[cells["metric"] == row["metric"], "answer"].value_counts()
        told = ", ".join(f"{answers[answer]} {answer}" for answer in ANSWERS if answer in answers)
        rows.append((words.metric(row), words.change(row), told))
    return Section(("geometric means", "change (95 %)", "cells"), rows)


def _rows(one: ComparedStudy, everything: bool, intervals: bool) -> Section:
    """Return one line per comparison, with or without the `intervals` of the means."""
    shown = one.rows if everything else one.deciding[one.deciding["answer"].isin(CHANGED)]
    told = [
        (
            row["answer"],
            *(words.mean(row, side, intervals) for side in "ab"),
            words.change(row),
            p_value(row["p_holm"]),
            _what(row, one),
        )
        for row in in_order(shown).to_dict("records")
    ]
    return Section(("answer", "A", "B", "change (95 %)", "p", "of what"), told)


def _what(row: Mapping, one: ComparedStudy) -> str:
    name = words.name(row, one.study)
    watched = " (watched)" if row["kind"] == WATCHED else ""
    more = words.decision_hint(row)
    return f"{name}{watched}; {more}" if more else f"{name}{watched}"


def _effects(one: ComparedStudy, everything: bool) -> Section:
    """Return one line per effect that claims rest on: those that differ, or with `everything` all of them."""
    rows = effects.in_order(one.effects.rows)
    shown = rows if everything else rows[rows["answer"] == DIFFERENT]
    told = [
        (
            row["answer"],
            *(words.of_effect(row, side) for side in "ab"),
            words.effect_changed(row),
            p_value(row["p_holm"]),
            "; ".join(filter(None, (words.effect(row, one.study), words.decision_hint(row)))),
        )
        for row in shown.to_dict("records")
    ]
    return Section(("effect", "A", "B", "difference (95 %)", "p", "behind which claim"), told)


def _findings(one: ComparedStudy) -> list[Section]:
    """Return one section for each way in which verdicts changed, with one line per claim."""
    sections = []
    for standing in findings.CHANGES:
        rows = [
            (finding["id"], f"{words.of_finding(finding)}: {prose(finding['statement'])}")
            for finding in one.findings
            if finding["standing"] == standing
        ]
        sections.append(Section((standing, "claims"), rows))
    return sections

"""Summarise results on the terminal: answers, counts of verdicts, the most telling claims, and where to read on.

At most TOLD claims of a study are shown: decided ones, then conditional and open ones. Contradicted ones come first, as
they are news to a reader who knows the paper. Among claims with the same verdict, claims about the metrics of the answer
come first, and then those whose interval lies furthest from no effect, in widths of the interval. A comparison that
shows two sides to be alike is ranked by how far its interval lies inside the margin. Claims that are not robust to the
number of claims come last. The page of claims has this rule for readers (`chosen` in templates/verdicts.html.j2).
"""

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from plimsoll import spelling
from plimsoll.claims import findings, quantities, result_counts, verdicts
from plimsoll.claims.quantities.base import RATIO, SHARE, Quantity
from plimsoll.config import answers
from plimsoll.config.studies import Study
from plimsoll.errors import many
from plimsoll.pages import wording
from plimsoll.pages.formats import interval
from plimsoll.planning import forecasts

# At most this many claims of a study are shown, and this many contradicted ones if others are reproduced.
TOLD, CONTRADICTED = 3, 2
POINTS = " points"


def telling(row: dict) -> float:
    """Return how far a comparison's interval lies from no effect, in widths of the interval.

    If the sides are alike, return how far it lies inside the margin. `row` has `low` and `high` (fractions), `margin`
    and `scale`. Ratios are taken as logarithms: half as much is as far as twice as much. Return -1 for a share of runs,
    and for a row without an interval of an effect.
    """
    if not (ends := _ends(row)):
        return -1.0
    (low, high), margin = ends, math.log1p(row["margin"]) if _is_ratio(row) else row["margin"]
    width = max(high - low, 1e-9)
    away = max(low, -high)
    return away / width if away > 0 else max(0.0, margin - max(-low, high)) / width


def _ends(row: dict) -> tuple[float, float] | None:
    """Return the ends of a comparison's interval, of ratios as logarithms; None without an interval of an effect."""
    low, high = row["low"], row["high"]
    if row["scale"] == SHARE or not (math.isfinite(low) and math.isfinite(high)):
        return None
    return (math.log1p(low), math.log1p(high)) if _is_ratio(row) else (low, high)


def _is_ratio(row: dict) -> bool:
    return row["scale"] == RATIO and row["low"] > -1


def choose(
    results: list[dict], comparisons: list[dict], number: int = TOLD, answering: Iterable[str] = ()
) -> list[tuple[dict, dict]]:
    """Return the most telling claims as pairs (result, row), at most `number`.

    Claims about metrics of the study's answer (`answering`) come first.

    The row is the average of a claim that is judged by it, and otherwise the comparison that shows the claim best.
    `results` are verdicts on claims (plimsoll.claims.findings), and `comparisons` the rows that they rest on. Only
    reproduced and contradicted claims are returned. Claims that repeat others are left out.
    """
    ranked, metrics = {}, set(answering)
    to_the_question = {row["claim"] for row in comparisons if row["metric"] in metrics}
    for verdict in (verdicts.CONTRADICTED, verdicts.REPRODUCED):
        rows = {}
        for row in comparisons:
            if row["verdict"] == verdict:
                rows.setdefault(row["claim"], []).append(row)
        of_verdict = [result for result in result_counts.without_repeats(results) if result["verdict"] == verdict]
        pairs = [(result, row) for result in of_verdict if (row := _shows(result, rows.get(result["id"], [])))]
        # The sort is stable: claims that are equally telling stay in the paper's order.
        ranked[verdict] = sorted(
            pairs, key=lambda pair: (result_counts.is_fragile(pair[0]), pair[0]["id"] not in to_the_question, -telling(pair[1]))
        )
    contradicted, reproduced = ranked[verdicts.CONTRADICTED], ranked[verdicts.REPRODUCED]
    first = contradicted[: max(CONTRADICTED, number - len(reproduced))][:number]
    return sorted([*first, *reproduced[: number - len(first)]], key=lambda pair: result_counts.is_fragile(pair[0]))


def _shows(result: dict, rows: list[dict]) -> dict | None:
    """Return the average, as a row, of a claim that is judged by it; otherwise the most telling of `rows`, if any."""
    if average := _average(result):
        return average
    told = [
        # The margin of a printed value is in odds, and its interval is not. So only the distance from no effect counts.
        {**row, "margin": 0.0} if quantities.find(wording.quantity_of(result, row)).printed else row
        for row in rows
    ]
    return max(told, key=telling, default=None)


def undecided(
    results: list[dict], comparisons: list[dict], number: int, answering: Iterable[str] = ()
) -> list[tuple[dict, dict]]:
    """Return open claims as pairs (result, row), at most `number`: those of which most is known.

    Claims about metrics of the study's answer (`answering`) come first. The row is the claim's average, or its open
    comparison with the narrowest interval.
    """
    metrics, pairs = set(answering), []
    for result in result_counts.without_repeats(results):
        if result["verdict"] != verdicts.INCONCLUSIVE:
            continue
        own = [row for row in comparisons if row["claim"] == result["id"] and row["verdict"] == verdicts.INCONCLUSIVE]
        if rows := [row for row in own if math.isfinite(_width(row))]:
            shown = _average(result) or min(rows, key=_width)
            pairs.append((all(row["metric"] not in metrics for row in rows), (result, shown)))
    return [pair for _, pair in sorted(pairs, key=lambda one: (one[0], _width(one[1][1])))][:number]


def _width(row: dict) -> float:
    """Return the width of a comparison's interval; infinite without an interval of an effect."""
    ends = _ends(row)
    return ends[1] - ends[0] if ends else math.inf


def _average(result: dict) -> dict | None:
    """Return the average, as a row, of a claim that is judged by it."""
    if result["holds"] == verdicts.AVERAGE and wording.on_the_whole(result):
        return {**result["whole"], "scale": quantities.find(result["quantity"]).scale}
    return None


def effect(result: dict, row: dict) -> str:
    """Return the effect of one of a claim's comparisons with its 95 % interval, as text.

    The kind of effect follows if it is not a difference.
    """
    of_row = {**result, "quantity": wording.quantity_of(result, row)}
    show = wording.one_scale(wording.shower(of_row), row)
    number, bracket, rest = interval(row["effect"], row["low"], row["high"], show).partition(" [")
    return f"{number}{bracket}{rest.replace(POINTS, '')}{_kind(of_row)}"


def _kind(result: dict) -> str:
    """Return what the effects of a claim are, in brackets; empty if they are simply differences."""
    words = wording.kind(result)
    return "" if words == Quantity.effect_in_words else f" ({words})"


def text(
    study: str,
    results: list[dict],
    comparisons: list[dict],
    short: Callable[[str, str], str],
    width: int = 80,
    answers: Iterable[str] = (),
    answering: Iterable[str] = (),
    labels: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the summary of a study: counts of verdicts, the `answers` to its question, and the most telling claims.

    Lines have at most `width` characters. `short(cell, metric)` names a cell for people. `answering` are the metrics of
    the answers, and `labels` the labels of all metrics.
    """
    counted = result_counts.without_repeats(results)
    numbers = [f"{sum(result['verdict'] == verdict for result in counted)} {verdict}" for verdict in verdicts.ON_CLAIM]
    sizes = result_counts.sizes(counted)
    beside = [f"{sizes['as_large']} of the {sizes['sized']} with a printed size as large as that"] if sizes["sized"] else []
    beside += [f"{sizes['in_part']} in part"] if sizes["in_part"] else []
    numbers[0] += f" ({'; '.join(beside)})" if beside else ""
    fragile = result_counts.fragile(counted)
    numbers += [f"{fragile} of the decided {wording.FRAGILE}"] if fragile else []
    lines = _wrapped(f"{study}: {many(len(counted), 'claim')}: {', '.join(numbers)}", "", width)
    for answer in answers:
        lines += ["", *_wrapped(answer, "  ", width)]
    if not any(result["verdict"] in verdicts.DECIDED for result in counted):
        lines += ["", "  None of them is decided here."]
    conditional = [result for result in counted if result["verdict"] == verdicts.CONDITIONAL]
    told = [(result, _here(result, row, short, labels)) for result, row in choose(results, comparisons, answering=answering)]
    told += [(result, wording.by_arrangement(result)) for result in conditional[: TOLD - len(told)]]
    left = undecided(results, comparisons, TOLD - len(told), answering)
    for result, here in [*told, *((result, _here(result, row, short, labels)) for result, row in left)]:
        lines += ["", *_wrapped(f"{findings.verdict_of(result)} ({result['id']}): {result['statement']}", "  ", width)]
        lines += _wrapped(wording.asked_in_part(result), "    ", width)
        lines += _wrapped(here, "    ", width)
        lines += _wrapped(_printed_size(result), "    ", width)
        lines += _wrapped(wording.fragile(result) if result_counts.is_fragile(result) else "", "    ", width)
        lines += _wrapped(wording.unobserved_neighbours(result), "    ", width)
    return "\n".join(lines)


def _here(result: dict, row: dict, short: Callable[[str, str], str], labels: Mapping[str, str]) -> str:
    """Return what was measured here: the average of a claim that is judged by it, or otherwise a comparison.

    An average has no cells of its own.
    """
    if "cell_a" not in row:
        return wording.on_the_whole(result) + _kind(result)
    return f"Here: {effect(result, row)}; {_what(row, short, labels)}{_share(result)}"


def _printed_size(result: dict) -> str:
    """Return how our effect compares with the size that the paper prints, for the claim or for its parts; empty without one."""
    return " ".join(dict.fromkeys(filter(None, map(wording.size, [result, *result.get("parts", [])]))))


def _what(row: dict, short: Callable[[str, str], str], labels: Mapping[str, str]) -> str:
    """Return what is compared: the metric and both cells. Of two metrics each stands beside its cell."""
    a, b = (row[f"cell_{side}"] for side in ("a", "b"))
    metrics = row["metric"], row["metric_b"] or row["metric"]
    named = short(a, metrics[0])
    if b and b != "the paper":
        other = second(b, metrics, short, labels)
        named += f" against {_other(named, other) if metrics[0] == metrics[1] else other}"
    return f"{row['label']}, {named}" if row["scale"] != SHARE else named


def second(cell: str, metrics: tuple[str, str], short: Callable[[str, str], str], labels: Mapping[str, str]) -> str:
    """Return the name of a comparison's second cell, after the label of its metric if that is not the first one's."""
    named = short(cell, metrics[1])
    return named if metrics[0] == metrics[1] else f"{labels.get(metrics[1], metrics[1])}, {named}"


def _other(name: str, other: str) -> str:
    """Return the words of another cell's name that the first cell's name does not have.

    Return the whole name if the names have different numbers of words, or do not differ.
    """
    words = other.split()
    differing = [word for word, first in zip(words, name.split(), strict=False) if word != first]
    return " ".join(differing).rstrip(",") if differing and len(words) == len(name.split()) else other


def _share(result: dict) -> str:
    number, agreeing = result["comparisons"], result["comparisons_" + result["verdict"]]
    return f" ({agreeing} of {number} comparisons)" if number > 1 else ""


def _wrapped(words: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        words, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def naming(short: Callable[[str, dict], str], metrics: dict[str, dict]) -> Callable[[str, str], str]:
    """Return a function that names a cell for people, in a comparison of a metric.

    A name that is not a cell's stays as it is.
    """
    return lambda cell, metric: short(cell, metrics[metric]) if metric in metrics and "/" in cell else cell


def labels_of(study: Study) -> dict[str, str]:
    """Return the labels of a study's metrics, by name."""
    return {name: metric["label"] for name, metric in study["metrics"].items()}


def of_studies(folder: Path, studies: Mapping[str, Study], width: int = 80) -> str:
    """Return the summary that is printed at the end: each study, from its results in `folder`, and where to read on.

    `studies` are the studies by name.
    """
    from plimsoll.pages import verdict_page

    told, pages = [], [folder / "index.html", folder / "claims.html"]
    for name, study in studies.items():
        verdicts_of, compared = (folder / name / file for file in verdict_page.FILES[:2])
        if not verdicts_of.is_file():
            told.append(f"{name}: no verdicts yet; {spelling.command('reproduce', name)} makes them.")
            continue
        results, comparisons = verdict_page.read(verdicts_of, compared)
        rows = comparisons.to_dict("records")
        for row in rows:
            row.update({key: "" for key in ("metric_b", "cell_b", "label") if row[key] != row[key]})
        short = naming(study.design.report.cell_label, study["metrics"])
        answering = {metric for named in answers.of_study(study) for metric in named["metrics"]}
        said = [line for one in answers_of(folder / name / "answer.csv", study) for line in lines(one)]
        told.append(text(name, results, rows, short, width, said, answering, labels_of(study)))
        pages.append(folder / name / "report.html")
    there = [str(page) for page in pages if page.is_file()]
    last = _wrapped(f"Shown are the clearest claims, by the rule in {folder / 'claims.html'}#chosen.", "", width)
    last += _wrapped(f"Read on: {', '.join(there)}", "", width) if there else []
    return "\n\n".join([*told, "\n".join(last)])


def answers_of(path: Path, study: Study) -> list[dict[str, str]]:
    """Return each answer to the question of a study as the pages word it: its `name`, `recommendation`, and what is `said`.

    They follow from the file that the stage `claims` left. Return nothing without that file.
    """
    from plimsoll.claims import answer
    from plimsoll.pages import answer as answer_page

    if not path.is_file():
        return []
    shown = answer_page.for_template(answer.read(path), study, forecasts.given_time(study["id"], path.parent))
    return [{key: one[key] for key in ("name", "recommendation", "said")} for one in shown]


def lines(answer: Mapping[str, str]) -> list[str]:
    """Return the recommendation if there is one, and the answer that it follows from."""
    named = " ".join(filter(None, ["The answer", answer["name"]]))
    return [*filter(None, [answer["recommendation"]]), f"{named}: {answer['said']}"]

"""The metrics of a table: what a study's file says of them, and what the rows say themselves."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from plimsoll.designs.table.rows import Row, better_by
from plimsoll.errors import PlimsollError, quote
from plimsoll.spelling import hint

BETTER = ("higher", "lower")
# Where a key of a study's file stands (file and line), from the keys that lead to it.
At = Callable[..., str]


def at_all(source: str) -> At:
    """Return a function that says `source` of every key, for a study that is in no file."""
    return lambda *_: source


def merge(named: Mapping, rows: Sequence[Row], printed: Sequence[Row], at: At) -> dict[str, dict]:
    """Return the metrics, each with label, unit and better, from a study's file and from rows.

    PlimsollError if a metric has no rows, has two units, or has two directions. It is raised also if the paper's table
    (`printed`) has none of the metrics.
    """
    by_metric: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_metric[row.metric].append(row)
    if unknown := next((name for name in named if name not in by_metric), None):
        known = ", ".join(by_metric)
        raise PlimsollError(
            f"{at('metrics', unknown)}: metrics: no row has the metric {quote(unknown)}{hint(unknown, by_metric)}: its data "
            f"have {known}."
        )
    found = {name: _metric(name, named.get(name, {}), by_metric[name], printed, at) for name in named or by_metric}
    if printed and not any(row.metric in found for row in printed):
        first = printed[0]
        raise PlimsollError(
            f"{first.where}: no row of the data has the metric {quote(first.metric)}{hint(first.metric, found)}: these have "
            f"{', '.join(found)}."
        )
    return found


def _metric(name: str, about: Mapping, rows: Sequence[Row], printed: Sequence[Row], at: At) -> dict:
    unit = _one(name, "unit", rows)
    of_paper = [row for row in printed if row.metric == name]
    # A paper may print another unit than was measured: its means are compared with each other only.
    _one(name, "unit", of_paper)
    if unit and unit != about.get("unit", unit):
        first = next(row for row in rows if row.unit)
        raise PlimsollError(
            f"{first.where}: {name} has the unit {quote(unit)} there, and {quote(about['unit'])} in "
            f"{at('metrics', name, 'unit')}. Rows are not converted. Write the rows' unit in the study, or "
            "leave it out."
        )
    unit = unit or about.get("unit", "")
    better = _better(name, about, [*rows, *of_paper], at) or better_by(unit)
    # Claims that say better or worse are refused without it (claim_file.py).
    return {
        **{"label": about.get("label", name.replace("_", " ")), "unit": unit},
        **{"better": better or "higher", "known": bool(better)},
    }


def _better(name: str, about: Mapping, rows: Sequence[Row], at: At) -> str:
    """Return which direction is better by a study or by its rows; empty if neither says it.

    PlimsollError if they disagree: every verdict that says better or worse would be reversed.
    """
    of_rows, said = _one(name, "better", rows), about.get("better", "")
    first = next((row for row in rows if row.better), None)
    if first and of_rows not in BETTER:
        raise PlimsollError(f"{first.where}: better is {quote(of_rows)}. Write higher or lower.")
    if first and said and said != of_rows:
        raise PlimsollError(
            f"{first.where}: a {of_rows} {name} is better there, and a {said} one in "
            f"{at('metrics', name, 'better')}. Leave `better` out of the study, or correct the data."
        )
    return said or of_rows


def _one(name: str, key: str, rows: Sequence[Row]) -> str:
    """Return the unit, or the direction, that all rows of a metric have. PlimsollError if there are two."""
    first = next((row for row in rows if getattr(row, key)), None)
    for row in rows:
        if first and getattr(row, key) != getattr(first, key):
            raise PlimsollError(
                f"{row.where}: {name} has the {key} {quote(getattr(row, key))} there, and "
                f"{quote(getattr(first, key))} in {first.where}. Give both rows the same {key}, or make two "
                "metrics of them."
            )
    return getattr(first, key) if first else ""

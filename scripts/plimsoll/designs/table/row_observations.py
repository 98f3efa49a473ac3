"""From rows to what was observed: cells, blocks, and the observations that claims are judged by."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from zlib import crc32

import numpy as np
import pandas as pd

from plimsoll.analysis import blocks, cell_paths
from plimsoll.analysis.independence import SESSION
from plimsoll.analysis.summaries import OfValues, Summary
from plimsoll.claims.sides import Side
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config.studies import Study
from plimsoll.designs.table.rows import Row
from plimsoll.designs.table.study_file import Source, cell_in_words, cell_levels
from plimsoll.errors import PlimsollError
from plimsoll.interchange import Plan
from plimsoll.planning.availability import SMALLEST

# Units whose values may be 0: of others, ratios are compared.
WITH_ZERO = ("count", "share")


def of_source(source: Source) -> StudyObservations:
    """Return what the rows of a study say, as claims use it.

    PlimsollError if a value cannot be compared as a ratio, or if no cell has enough runs.
    """
    values = [row for row in source.rows if not row.summarised]
    summarised = [row for row in source.rows if row.summarised]
    if values and summarised:
        raise PlimsollError(
            f"{summarised[0].where} is a mean, and {values[0].where} is a single value. They are judged by "
            "different tests. Make two studies of them."
        )
    return of_summaries(source.study, summarised) if summarised else _of_values(source.study, values)


def of_summaries(study: Study, rows: Sequence[Row]) -> StudyObservations:
    """Return what rows of means, standard deviations and numbers say."""
    for row in rows:
        _refuse_summary(row)
    return Summaries(study, rows)


def _refuse_summary(row: Row) -> None:
    """Raise PlimsollError for a mean without a logarithm, or a standard deviation or number that no runs have."""
    if row.mean <= 0:
        raise PlimsollError(
            f"{row.where}: {row.metric} has the mean {row.mean:g}. Sides are compared by the ratio of their "
            "means, which needs means above 0."
        )
    if row.sd < 0:
        raise PlimsollError(f"{row.where}: {row.metric} has the standard deviation {row.sd:g}, which is never below 0.")
    if row.n < 1 or row.n % 1 > 0:
        raise PlimsollError(f"{row.where}: {row.metric} has n = {row.n:g}, and a number of runs is whole and at least 1.")


def without_single_runs(claim: dict) -> dict:
    """Return a claim that is judged by means: it is untestable, with its parts, if it is about what only single runs show."""
    if "untestable" in claim:
        return claim
    own = {**claim, "parts": [without_single_runs(part) for part in claim["parts"]]} if "parts" in claim else claim
    if "along" in claim:
        return {**own, "untestable": "a trend is tested by single runs, and these are means"}
    if claim.get("quantity"):
        return {**own, "untestable": f"the quantity {claim['quantity']} is tested by single runs, and these are means"}
    return own


class Summaries(StudyObservations):
    """What was observed of a study whose rows are means."""

    def __init__(self, study: Study, rows: Sequence[Row]):
        factors = study.design.factors.FACTORS
        columns = ["metric", *factors, "value", "censored", "repetition", "block"]
        super().__init__(study, plan(study, rows), pd.DataFrame(columns=columns), pd.DataFrame(), brief=True)
        paths = [cell_paths.of_row(cell_levels(row, factors), factors) for row in rows]
        self._summaries = {}
        for row, path in zip(rows, paths, strict=True):
            if (row.metric, path) in self._summaries:
                raise PlimsollError(
                    f"{row.where}: there is another mean of {row.metric} for the same cell. Keep one row for each cell."
                )
            self._summaries[row.metric, path] = Summary(row.mean, row.sd, row.n)

    def summary(self, metric: str, cell: str) -> Summary | None:
        """Return the mean of a metric in a cell, with its spread; None for a cell without one."""
        return self._summaries.get((metric, cell))


class Unpaired(StudyObservations):
    """What was observed of a study whose rows name no block: nothing says which runs of two cells belong together."""

    def summary(self, metric: str, cell: str) -> Summary | None:
        """Return the mean of all rows of a metric in a cell, with the spread of their logarithms; None without rows."""
        values = self.sample(Side(metric, cell)).values
        return OfValues.of(values) if len(values) else None


def _of_values(study: Study, rows: Sequence[Row]) -> StudyObservations:
    for row in rows:
        _refuse(row, row.value, study)
    _refuse_partly_named(rows)
    table = observations(study, rows)
    _refuse_single(rows, study)
    kind = StudyObservations if paired(rows) else Unpaired
    return kind(study, plan(study, rows), table, runs(table, study))


def paired(rows: Sequence[Row]) -> bool:
    """Return whether rows say which of them belong together: by a block, or by enough sessions."""
    return bool(rows[0].block) or len({row.session for row in rows}) >= SMALLEST


def _refuse_partly_named(rows: Sequence[Row]) -> None:
    """Raise PlimsollError if some rows name a block, a session or a machine, and others do not."""
    for role in ("block", "session", "machine"):
        named, without = (next((row for row in rows if bool(getattr(row, role)) is has), None) for has in (True, False))
        if named and without:
            raise PlimsollError(
                f"{without.where} names no {role}, and {named.where} does. Give all rows a {role}, or none of them."
            )


def _refuse(row: Row, value: float, study: Study) -> None:
    unit = study["metrics"][row.metric]["unit"]
    if value < 0 or (value == 0 and not unit.startswith(WITH_ZERO)):
        raise PlimsollError(
            f"{row.where}: {row.metric} is {value:g}, and sides are compared by their ratio, which needs values above 0"
            f"{' (the unit count or share allows 0)' if value == 0 else ''}."
        )


def _refuse_single(rows: Sequence[Row], study: Study) -> None:
    """Raise PlimsollError if every cell has fewer rows than a verdict needs: a column is then no factor, mostly."""
    factors = study.design.factors.FACTORS
    counts = Counter((row.metric, *cell_levels(row, factors).values()) for row in rows)
    if max(counts.values()) < SMALLEST:
        first = rows[0]
        raise PlimsollError(
            f"{first.where}: its cell ({cell_in_words(cell_levels(first, factors))}) has one run, and no cell has {SMALLEST}: "
            f"a verdict needs {SMALLEST} runs of both sides. If one of {', '.join(factors)} numbers the runs, call it `block` "
            "(measured in turns) or `run`; or name the factors (--factors)."
        )


def plan(study: Study, rows: Sequence[Row]) -> Plan:
    """Return the cells that rows belong to, as a plan. Nothing of it is measured.

    PlimsollError if two cells have the same path, as they may if factors have no level in some rows.
    """
    factors, cells, order = study.design.factors.FACTORS, {}, []
    for row in rows:
        levels = cell_levels(row, factors)
        path = cell_paths.of_row(levels, factors)
        cell = cells.setdefault(path, {**_cell(path), **levels})
        if any(cell[factor] != levels[factor] for factor in factors):
            raise PlimsollError(f"{row.where}: its levels cannot be told apart from another row's. Fill the empty ones.")
        cell["metrics"].setdefault(row.metric, 0)
        cell["metrics"][row.metric] += 1
    for cell in cells.values():
        cell["repetitions"] = max(cell["metrics"].values())
    told = {"study": study["id"], "design": study["design"], "factors": list(factors), "image": "", "seed": 0}
    most = max((cell["repetitions"] for cell in cells.values()), default=0)
    return {**told, "repetitions": most, "profile": "", "limits": {}, "cells": cells, "order": order}


def _cell(path: str) -> dict:
    about = {"path": path, "runtime": "", "experiments": [], "host": [], "reason": None, "useful": True}
    return {**about, "repetitions": 0, "parameters": {}, "expected_seconds": 0.0, "fingerprint": "", "metrics": {}}


def observations(study: Study, rows: Sequence[Row]) -> pd.DataFrame:
    """Return one observation per row, in the order of the rows.

    `block` is that of the row's block, session and place in its cell (`numbered`). `where` is the file and line.
    """
    factors, metrics = study.design.factors.FACTORS, study["metrics"]
    made = [
        {
            **{"study": study["id"], **cell_levels(row, factors), "metric": row.metric},
            **{key: metrics[row.metric][key] for key in ("label", "unit", "better")},
            **{"value": row.value, "censored": False, "repetition": place, "block": block, "where": row.where},
        }
        for row, (place, block) in zip(rows, block_numbers(rows, factors), strict=True)
    ]
    return pd.DataFrame(made)


def block_numbers(rows: Sequence[Row], factors: Sequence[str]) -> list[tuple[int, int]]:
    """Return (place in its cell, block) for each row.

    A block is the row's block within its session. Without one, it is the row's place within cell and session, and without
    enough sessions it is by chance (`_by_chance`): rows that were sorted would otherwise pair the like. From SMALLEST
    sessions on, blocks are numbered by session (independence.SESSION), and the session is the unit; the blocks of fewer follow
    each other.
    """
    sessions = list(dict.fromkeys(row.session for row in rows))
    by_session = len(sessions) >= blocks.SMALLEST
    places, of_cell, in_session = {}, defaultdict(int), defaultdict(int)
    found = []
    for row in rows:
        key = (row.metric, *cell_levels(row, factors).values())
        of_cell[key] += 1
        in_session[key, row.session] += 1
        block = (row.session, row.block or in_session[key, row.session])
        number = places.setdefault(block, len(places) + 1)
        found.append((of_cell[key], number + (1 + sessions.index(row.session)) * SESSION if by_session else number))
    return found if paired(rows) else _by_chance(rows, factors, [place for place, _ in found])


def _by_chance(rows: Sequence[Row], factors: Sequence[str], places: Sequence[int]) -> list[tuple[int, int]]:
    """Return (place, block) for each row: the blocks of a cell are its places in an order that chance and its name give.

    The same table always has the same blocks. Metrics of one line stay together.
    """
    together = len({row.where for row in rows}) < len(rows)
    cells = ["/".join(("" if together else row.metric, *cell_levels(row, factors).values())) for row in rows]
    most = Counter()
    for cell, place in zip(cells, places, strict=True):
        most[cell] = max(most[cell], place)
    orders = {cell: np.random.default_rng(crc32(cell.encode())).permutation(n) + 1 for cell, n in most.items()}
    return [(place, int(orders[cell][place - 1])) for cell, place in zip(cells, places, strict=True)]


def runs(table: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Return one row per run, which is a row of the data here. All of them are valid."""
    columns = ["metric", *study.design.factors.FACTORS, "repetition", "block", "where"]
    return table[columns].assign(status="valid", reason="", attempts=1)

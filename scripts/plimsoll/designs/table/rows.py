"""Rows of somebody's measurements, before they are a study: what a reader makes of a file."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

from plimsoll.errors import PlimsollError, shown
from plimsoll.spelling import hint

# Units of time, of which less is better, and ends of units of rates, of which more is.
TIMES = ("s", "ms", "us", "µs", "ns", "min", "h", "seconds")
RATES = ("/s", "bit/s", "flops", "flop/s")


@dataclass(frozen=True)
class Row:
    """One value of a metric, or the `mean`, `sd` and number (`n`) of several values that nobody has any more.

    `levels` are its levels by factor. `where` is the file and line (or place in the file) that it comes from. `block`,
    `session` and `machine` are empty if the file has none.
    """

    levels: dict[str, str]
    metric: str
    where: str
    value: float = math.nan
    mean: float = math.nan
    sd: float = math.nan
    n: float = math.nan
    unit: str = ""
    better: str = ""
    block: str = ""
    session: str = ""
    machine: str = ""

    @property
    def summarised(self) -> bool:
        """Return whether the row is a mean of values."""
        return math.isfinite(self.mean)

    def with_levels(self, levels: dict[str, str]) -> "Row":
        """Return the row with further levels, such as those of its file."""
        return replace(self, levels={**self.levels, **levels})


@dataclass(frozen=True)
class Columns:
    """Which column of a table has which role. Each has the role's own name, unless a study names another one.

    `metrics` are the columns of a table in wide form, by metric; without them, the form is long. `factors` are the columns
    that are factors; None stands for all others.
    """

    metric: str = "metric"
    value: str = "value"
    unit: str = "unit"
    better: str = "better"
    block: str = "block"
    session: str = "session"
    machine: str = "machine"
    run: str = "run"
    mean: str = "mean"
    sd: str = "sd"
    n: str = "n"
    metrics: dict[str, str] = field(default_factory=dict)
    factors: tuple[str, ...] | None = None

    @property
    def roles(self) -> dict[str, str]:
        """Return the column of each role, by the role's name."""
        return {name: column for name, column in vars(self).items() if isinstance(column, str)}


def better_by(unit: str) -> str:
    """Return which direction is better by a unit: `lower` for times, `higher` for rates, and empty for all others."""
    small = unit.strip().lower()
    return "lower" if small in TIMES else "higher" if small.endswith(RATES) or small.startswith("1/") else ""


def number(text: object, what: str, where: str) -> float:
    """Return a text as a number. PlimsollError, with its place, for what is none, or is not finite."""
    try:
        value = float(str(text).strip())
    except ValueError:
        raise PlimsollError(f"{where}: {what} is {shown(text)}, which is no number.") from None
    if not math.isfinite(value):
        raise PlimsollError(f"{where}: {what} is {shown(text)}, which cannot have been measured.")
    return value


def of_table(lines: list[tuple[str, dict[str, str]]], columns: Columns, path: Path) -> list[Row]:
    """Return the rows of a table in long or wide form, from its lines: (place, text by column).

    PlimsollError if a column is missing that a study names, or if a value is no number.
    """
    if not lines:
        raise PlimsollError(f"{path}: it has no rows below its heads.")
    known = list(lines[0][1])
    wanted = [*columns.metrics.values(), *(columns.factors or ())]
    wanted += [column for name, column in columns.roles.items() if column != name]
    for column in wanted:
        if column not in known:
            raise PlimsollError(
                f"{path}, line 1: there is no column {shown(column)}{hint(column, known)}: it has {', '.join(known)}."
            )
    if not columns.metrics and not {columns.value, columns.mean} & set(known):
        raise PlimsollError(
            f"{path}, line 1: there is no column {shown(columns.value)}{hint(columns.value, known)}, and no metric is named "
            f"that is a column: it has {', '.join(known)}."
        )
    roles = {*columns.roles.values(), *columns.metrics.values()}
    factors = columns.factors if columns.factors is not None else tuple(name for name in known if name not in roles)
    return [row for where, line in lines for row in _of_line(where, line, columns, factors)]


def _of_line(where: str, line: dict[str, str], columns: Columns, factors: tuple[str, ...]) -> list[Row]:
    shared = {
        "levels": {factor: line[factor].strip() for factor in factors},
        "where": where,
        **{role: (line.get(columns.roles[role]) or "").strip() for role in ("block", "session", "machine")},
    }
    if columns.metrics:
        filled = {name: line[column] for name, column in columns.metrics.items() if line[column].strip()}
        return [Row(**shared, metric=name, value=number(text, name, where)) for name, text in filled.items()]
    metric = (line.get(columns.metric) or "").strip() or "value"
    said = {role: (line.get(columns.roles[role]) or "").strip() for role in ("unit", "better")}
    if (line.get(columns.mean) or "").strip():
        summary = {role: number(line.get(columns.roles[role]) or "", role, where) for role in ("mean", "sd", "n")}
        return [Row(**shared, **said, metric=metric, **summary)]
    return [Row(**shared, **said, metric=metric, value=number(line.get(columns.value) or "", metric, where))]

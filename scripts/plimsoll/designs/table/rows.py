"""Rows of measurements, as a reader makes them from a file."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

from plimsoll.errors import PlimsollError, quote
from plimsoll.spelling import hint

# Units of time, of which less is better, and ends of units of rates, of which more is.
TIMES = ("s", "ms", "us", "µs", "ns", "min", "h", "seconds")
RATES = ("/s", "bit/s", "flops", "flop/s")
# Columns that number the runs of a cell: with whole numbers they are factors only if a claim names them.
RUNS = ("repetition", "rep", "replicate", "iteration", "trial", "run_id")
NUMBERS = "The column {} numbers the runs, so it is no factor. If equal numbers were measured together, call it `block`."
MEASURED = (
    "The column {} has measured numbers, and no claim names it as a metric, so it was left out: rows that differ only in it "
    "are runs of one cell. If it is a factor, name the factors (`factors` of a study, --factors)."
)
LEVELS = (
    "The column {} has decimal numbers that come again and again, so it is a factor: rows with other numbers are other cells. "
    "If it is a measurement, name the factors without it (`factors` of a study, --factors)."
)


@dataclass(frozen=True)
class Row:
    """One value of a metric, or the `mean`, `sd` and number (`n`) of several values that are not known.

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
    notes: tuple[str, ...] = ()  # what was concluded about columns that are not named, in sentences

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

    `metrics` are the columns of a table in wide form, by metric. The form is `wide` if a study says which columns, or if
    there is no column of values. `factors` are the columns that are factors; None stands for all others. A column
    that no claim names (`claimed`) is then left out if it numbers the runs, or if it has measured numbers in wide form. `notes`
    says so.
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
    wide: bool = False
    only: str = "value"  # the metric of a table in long form that has no column of metrics
    factors: tuple[str, ...] | None = None
    claimed: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    @property
    def roles(self) -> dict[str, str]:
        """Return the column of each role, by the role's name."""
        return {name: column for name, column in vars(self).items() if isinstance(column, str) and name != "only"}


def better_by(unit: str) -> str:
    """Return which direction is better by a unit: `lower` for times, `higher` for rates, and empty for all others."""
    small = unit.strip().lower()
    return "lower" if small in TIMES else "higher" if small.endswith(RATES) or small.startswith("1/") else ""


def number(text: object, what: str, where: str) -> float:
    """Return a text as a number. PlimsollError, with its place, for a text that is no finite number."""
    try:
        value = float(str(text).strip())
    except ValueError:
        raise PlimsollError(f"{where}: {what} is {quote(text)}, which is not a number.") from None
    if not math.isfinite(value):
        raise PlimsollError(f"{where}: {what} is {quote(text)}, which cannot have been measured.")
    return value


def of_table(lines: list[tuple[str, dict[str, str]]], columns: Columns, path: Path | str) -> list[Row]:
    """Return the rows of a table in long or wide form, from its lines: (place, text by column).

    PlimsollError if a column is missing that a study names, or if a value is no number.
    """
    if not lines:
        raise PlimsollError(f"{path}: it has no rows below the names of its columns.")
    known = list(lines[0][1])
    columns = _in_form(columns, known)
    _check(columns, known, path)
    if columns.factors is None:
        columns = _with_factors(columns, known, lines)
    return [row for where, line in lines for row in _of_line(where, line, columns)]


def _with_factors(columns: Columns, known: list[str], lines: list[tuple[str, dict[str, str]]]) -> Columns:
    """Return the roles of columns with the factors that follow, and with notes on what is not obvious of it."""
    roles = {*columns.roles.values(), *columns.metrics.values()}
    # Without means and deviations, a column `n` may be the size of a problem.
    if not {columns.mean, columns.sd} & {*known} and columns.n == "n":
        roles.discard("n")
    others = [name for name in known if name not in roles]
    unnamed = [name for name in others if name not in columns.claimed]
    numbers = [name for name in unnamed if name.lower() in RUNS and _are_whole(name, lines)]
    decimal = [name for name in unnamed if columns.wide and name not in numbers and _are_decimal(name, lines)]
    measured = [name for name in decimal if _hardly_repeats(name, lines)]
    notes = (
        *(NUMBERS.format(name) for name in numbers),
        *(MEASURED.format(name) for name in measured),
        *(LEVELS.format(name) for name in decimal if name not in measured),
    )
    left = tuple(name for name in others if name not in (*numbers, *measured))
    return replace(columns, factors=left, notes=notes)


def _in_form(columns: Columns, known: list[str]) -> Columns:
    """Return the roles of columns for a table in long form, without `metrics`, or for one in wide form."""
    wide = columns.wide or not {columns.value, columns.mean} & set(known)
    only = next(iter(columns.metrics)) if len(columns.metrics) == 1 else columns.only
    return replace(columns, wide=wide) if wide else replace(columns, metrics={}, only=only)


def _check(columns: Columns, known: list[str], path: Path | str) -> None:
    """Raise PlimsollError if a column that is named is not there, or if no column has values."""
    has = f"it has {', '.join(known)}"
    if columns.wide and not columns.metrics:
        raise PlimsollError(
            f"{path}, line 1: there is no column {columns.value!r}{hint(columns.value, known)}, and no metric is named that "
            f"is a column: {has}."
        )
    wanted = [*columns.metrics.values(), *(columns.factors or ())]
    wanted += [column for role, column in columns.roles.items() if column != role]
    for column in wanted:
        if column not in known:
            raise PlimsollError(f"{path}, line 1: there is no column {quote(column)}{hint(column, known)}: {has}.")


def _texts(column: str, lines: list[tuple[str, dict[str, str]]]) -> list[str]:
    return [line[column].strip() for _, line in lines if line[column].strip()]


def _are_whole(column: str, lines: list[tuple[str, dict[str, str]]]) -> bool:
    """Return whether a column has whole numbers alone."""
    return all(text.lstrip("-").isdecimal() for text in _texts(column, lines))


def _are_decimal(column: str, lines: list[tuple[str, dict[str, str]]]) -> bool:
    """Return whether a column has numbers that are not all whole."""
    try:
        return not all(float(text).is_integer() for text in _texts(column, lines))
    except ValueError:
        return False


def _hardly_repeats(column: str, lines: list[tuple[str, dict[str, str]]]) -> bool:
    """Return whether most numbers of a column are there once, as those of a metric are."""
    texts = _texts(column, lines)
    return 2 * len(set(texts)) > len(texts)


def _of_line(where: str, line: dict[str, str], columns: Columns) -> list[Row]:
    shared = {
        "levels": {factor: line[factor].strip() for factor in columns.factors or ()},
        "where": where,
        "notes": columns.notes,
        **{role: (line.get(columns.roles[role]) or "").strip() for role in ("block", "session", "machine")},
    }
    if columns.metrics:
        filled = {name: line[column] for name, column in columns.metrics.items() if line[column].strip()}
        return [Row(**shared, metric=name, value=number(text, name, where)) for name, text in filled.items()]
    metric = (line.get(columns.metric) or "").strip() or columns.only
    said = {role: (line.get(columns.roles[role]) or "").strip() for role in ("unit", "better")}
    if (line.get(columns.mean) or "").strip():
        known = {role: line.get(columns.roles[role]) or "" for role in ("mean", "sd", "n")}
        summary = {role: number(text, role, where) for role, text in known.items() if text.strip()}
        return [Row(**shared, **said, metric=metric, **summary)]
    return [Row(**shared, **said, metric=metric, value=number(line.get(columns.value) or "", metric, where))]

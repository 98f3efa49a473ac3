"""Recommend what to do, from the ratios of an answer to a study's question.

A recommendation rests on what is shown only: a loss or a gain beyond the margin, or that such a loss is excluded. What
is unknown is named at most as an alternative to a loss, with the loss that is possible. A study's file has the verbs
(`recommend` in docs/reference/meanings.yaml). All functions are pure.
"""

import math
from collections.abc import Iterable, Mapping
from statistics import median
from typing import NamedTuple

from plimsoll import spelling
from plimsoll.claims.quantities.base import MARGIN
from plimsoll.config.answers import STEPS
from plimsoll.pages.answer_words import GAIN, LOSS, NO_LOSS, PERCENT, capital, join_names, not_in, size
from plimsoll.pages.formats import missing
from plimsoll.planning.availability import TOO_SHORT
from plimsoll.planning.forecasts import GivenTime

# What is known of a row that shows no difference: too little for a recommendation, or nothing at all.
OPEN, MISSING = "open", "missing"
# Keys of the phrases by what is shown.
PHRASES = {LOSS: "loss", GAIN: "gain", NO_LOSS: "no_loss"}
# Longest sentence (words). Most that are named in one: metrics, metrics that do not lose, deployments, unavailable ones.
WORDS, METRICS, SPARED, ROWS, UNAVAILABLE = 25, 2, 3, 3, 2
# A number of repetitions is rounded up to a multiple of this.
ROUNDED = 10


class Row(NamedTuple):
    """One deployment in one part of an answer, with its ratios (`cells`) and what they show together (`kind`)."""

    name: str
    part: str
    levels: Mapping[str, str]
    cells: list[dict]
    kind: str


class Unit(NamedTuple):
    """Rows that show the same and are named by one name."""

    name: str
    rows: list[Row]


class Advice(NamedTuple):
    """What to do (`recommendation`), what is `unknown`, and whether one of them says how large a loss is possible."""

    recommendation: str
    unknown: str
    bounded: bool


def recommend(parts: list[dict], named: Mapping, study: str | None, given: GivenTime | None) -> Advice:
    """Return what to do and what is unknown, each in sentences.

    `parts` are those of an answer (plimsoll.pages.answer), and `named` is the answer in the file of the `study`, which is
    None if no command measures more of it. `given` is the time that it was measured for. The recommendation says where it
    holds. If there is none, it says what is missing and what to type. All texts are empty if the study's file has no
    `recommend`, or if the table is older than the answer.
    """
    if not (rules := named.get("recommend")) or not parts:
        return Advice("", "", False)
    rows = [row for part in parts for row in _rows(part, rules)]
    known = [row for row in rows if row.kind != MISSING]
    units = list(_units(known, rules.get("groups", {})))
    if chosen := _chosen(units, rules):
        rests_on = [row for of_kind in chosen.values() for unit in of_kind for row in unit.rows]
        instead = _instead(units, rules)
        said = [_what(chosen, rules), _alternative(instead, rules), _holds(rests_on, rules)]
        recommendation = " ".join(filter(None, said))
        unknown = [_unknown(known, instead), _unavailable(rows, known), _command(known, study, given)]
    else:
        recommendation = _nothing(rows, known, rules, parts, study, given)
        unknown = [_unavailable(rows, known)]
    return Advice(recommendation, " ".join(filter(None, unknown)), bool(_open(known)))


def _rows(part: dict, rules: Mapping) -> Iterable[Row]:
    """Yield the rows of a part that a recommendation is about. Rows that are set apart (`lacks`) are not."""
    wanted = rules.get("rows", {})
    for row in part["compared"]:
        if row["lacks"] or not _has(row["levels"], wanted):
            continue
        yield Row(row["name"], part["name"], row["levels"], row["cells"], _kind(row["cells"]))


def _has(levels: Mapping[str, str], wanted: Mapping[str, list[str]]) -> bool:
    return all(levels[factor] in of_factor for factor, of_factor in wanted.items())


def _kind(cells: list[dict]) -> str:
    """Return what a row's known ratios show: LOSS or GAIN if any does, NO_LOSS if all do, otherwise OPEN or MISSING."""
    if not (known := _known(cells)):
        return MISSING
    marks = {cell["mark"] for cell in known}
    return next((mark for mark in (LOSS, GAIN) if mark in marks), NO_LOSS if marks == {NO_LOSS} else OPEN)


def _known(cells: Iterable[dict]) -> list[dict]:
    return [cell for cell in cells if not missing(cell["ratio"])]


def _units(rows: list[Row], groups: Mapping[str, Mapping]) -> Iterable[Unit]:
    """Yield rows by group. A row without a group is a group of its own, in all parts of the answer.

    Where rows of a group show different things, they are units of their own, with their parts or their number.
    """
    own = {id(row): next((name for name, levels in groups.items() if _has(row.levels, levels)), row.name) for row in rows}
    for name in dict.fromkeys(own.values()):
        of_name = [row for row in rows if own[id(row)] == name]
        for kind in dict.fromkeys(row.kind for row in of_name):
            alike = [row for row in of_name if row.kind == kind]
            yield Unit(name if len(alike) == len(of_name) else f"{name} ({_which(alike, of_name)})", alike)


def _which(rows: list[Row], of_all: list[Row]) -> str:
    """Return the parts of a row that these are, or how many of the rows of a group."""
    if len({row.name for row in of_all}) == 1:
        return join_names([row.part for row in rows])
    return f"{len(rows)} of {len(of_all)} deployments"


def _chosen(units: list[Unit], rules: Mapping) -> dict[str, list[Unit]]:
    """Return the units that something is recommended about, by what is shown of them.

    If no unit shows anything as a whole, those are chosen of which some metrics exclude a loss.
    """
    by_kind = {kind: [unit for unit in units if unit.rows[0].kind == kind] for kind in PHRASES}
    if not any(by_kind[kind] for kind in by_kind if PHRASES[kind] in rules):
        by_kind = {OPEN: [unit for unit in units if all(_labels(row.cells, NO_LOSS) for row in unit.rows)]}
    return {kind: of_kind for kind, of_kind in by_kind.items() if of_kind and PHRASES.get(kind, "no_loss") in rules}


def _what(chosen: dict[str, list[Unit]], rules: Mapping) -> str:
    """Return what to do, in as few sentences as WORDS allows."""
    sentences: list[str] = []
    for clause in _clauses(chosen, rules):
        together = f"{sentences[-1]}; {clause}" if sentences else ""
        if together and len(together.split()) <= WORDS:
            sentences[-1] = together
        else:
            sentences.append(clause)
    return ". ".join(map(capital, sentences)) + "."


def _clauses(chosen: dict[str, list[Unit]], rules: Mapping) -> Iterable[str]:
    """Yield what to do about each kind of unit, and after a loss which metrics do not lose."""
    for kind, units in chosen.items():
        yield _clause(kind, units, rules)
        if kind == LOSS:
            yield from _spared([row for unit in units for row in unit.rows])


def _clause(kind: str, units: list[Unit], rules: Mapping) -> str:
    phrase = rules[PHRASES.get(kind, "no_loss")].format(rows=_names([unit.name for unit in units]))
    rows = [row for unit in units for row in unit.rows]
    labels = {cell["label"] for row in rows for cell in row.cells}
    if kind == LOSS:
        # The first level of steps is recommended because the last one is worse.
        otherwise = "otherwise " if rules["compare"] == STEPS else ""
        return f"{phrase} ({otherwise}{_metrics(rows, LOSS)} worse{_gained(rows)})"
    if kind == NO_LOSS and all(len(_known(row.cells)) == len(row.cells) for row in rows):
        return f"{phrase} ({'no metric' if len(labels) > 1 else f'{labels.pop()} not'} worse)"
    mark, word = (GAIN, "better") if kind == GAIN else (NO_LOSS, "not worse")
    return f"{phrase} for {_metrics(rows, mark)} ({word})"


def _names(names: list[str]) -> str:
    return join_names(names) if len(names) <= ROWS + 1 else f"{join_names(names[:ROWS])} and {len(names) - ROWS} more"


def _labels(cells: list[dict], *marks: str) -> list[str]:
    return [cell["label"] for cell in cells if cell["mark"] in marks]


def _metrics(rows: list[Row], mark: str) -> str:
    """Return the metrics with a mark if they are few and the same in all rows; otherwise their numbers."""
    marked = [_labels(row.cells, mark) for row in rows]
    if len({frozenset(labels) for labels in marked}) == 1 and len(marked[0]) <= METRICS:
        return join_names(marked[0])
    numbers = {len(labels) for labels in marked}
    of_all = max(len(row.cells) for row in rows)
    return "every metric" if numbers == {of_all} else f"{_range(numbers)} of {of_all} metrics"


def _spared(rows: list[Row]) -> list[str]:
    """Return clauses on the metrics that lose in none of these rows, if they are few.

    First come metrics that exclude a loss in each row, and then those that show none, and do not exclude it everywhere.
    """
    marks: dict[str, set[str]] = {}
    for row in rows:
        for cell in row.cells:
            marks.setdefault(cell["label"], set()).add(MISSING if missing(cell["ratio"]) else cell["mark"])
    excluded = [label for label, found in marks.items() if found == {NO_LOSS}]
    not_shown = [label for label, found in marks.items() if "" in found and found <= {"", NO_LOSS}]
    said = (("for {} it makes no difference", excluded), (f"no loss of more than {PERCENT} is shown for {{}}", not_shown))
    return [words.format(join_names(labels)) for words, labels in said if 0 < len(labels) <= SPARED]


def _gained(rows: list[Row]) -> str:
    """Return the metrics that gain in rows with a loss: what is lost by a recommendation against them."""
    gaining = [row for row in rows if _labels(row.cells, GAIN)]
    return f", {_metrics(gaining, GAIN)} better" if gaining else ""


def _instead(units: list[Unit], rules: Mapping) -> list[Unit]:
    """Return the units that are an alternative to those with a loss: no loss of theirs is shown, and none is excluded.

    Empty without a unit with a loss, without words for an alternative (`instead`), or if the units are too many to name.
    """
    found = [unit for unit in units if unit.rows[0].kind == OPEN]
    loses = any(unit.rows[0].kind == LOSS for unit in units)
    return found if loses and "instead" in rules and len(found) <= ROWS else []


def _alternative(units: list[Unit], rules: Mapping) -> str:
    """Return the sentence on what may be done instead, with the largest loss that is possible; empty without units."""
    if not units:
        return ""
    most = _most_open([row for unit in units for row in unit.rows])
    phrase = rules["instead"].format(rows=join_names([unit.name for unit in units], "or"))
    return f"Or {phrase}: no loss is shown, up to {size(most['open_loss'])} ({most['label']}) is possible."


def _together(parts: list[str]) -> str:
    """Return the names of parts as one: UMA and NUMA, exactly subscribed."""
    words = [part.split(", ") for part in parts]
    if len(set(map(len, words))) > 1:
        return join_names(parts)
    return ", ".join(join_names(list(dict.fromkeys(of_each))) for of_each in zip(*words, strict=True))


def _holds(rows: list[Row], rules: Mapping) -> str:
    """Return the sentence on where a recommendation holds: parts, arrangement, margin, metrics and blocks."""
    cells = [cell for row in rows for cell in row.cells if cell["mark"]]
    parts = _together(list(dict.fromkeys(row.part for row in rows)))
    arranged = " or ".join(dict.fromkeys(cell["arrangement"] for cell in cells if not missing(cell["arrangement"])))
    begun = f"Holds here{f' for {parts}' if parts else ''}"
    where = filter(None, [begun, f"with {arranged}" if arranged else "", rules.get("holds")])
    labels = list(dict.fromkeys(cell["label"] for cell in cells))
    basis = [f"margin {PERCENT}", labels[0] if len(labels) == 1 else f"{len(labels)} metrics"]
    basis.append(f"{_range({int(cell['n']) for cell in cells})} blocks")
    if (most := max(cell["comparisons"] for cell in cells)) > 1:
        basis.append(f"averages of {most} comparisons")
    return f"{', '.join(where)} ({', '.join(basis)})."


def _range(numbers: Iterable[int]) -> str:
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"


def _open(rows: list[Row]) -> list[dict]:
    return [cell for row in rows for cell in _known(row.cells) if not cell["mark"]]


def _most_open(rows: list[Row]) -> dict:
    """Return the ratio with the largest loss that is neither shown nor excluded."""
    return max(_open(rows), key=lambda cell: cell["open_loss"])


def _unknown(rows: list[Row], instead: list[Unit]) -> str:
    """Return the sentence on ratios of which nothing is shown.

    It says how large a loss is possible, unless the sentence on the alternative (`instead`) says so.
    """
    if not (unknown := _open(rows)):
        return ""
    which = f"{len(unknown)} of {_number(rows)} ratios {'is' if len(unknown) == 1 else 'are'} open"
    most = _most_open(rows)
    if any(cell is most for unit in instead for row in unit.rows for cell in row.cells):
        return f"{which}: no loss of more than {PERCENT} is shown or ruled out."
    return f"{which}: no loss is shown, up to {size(most['open_loss'])} ({most['label']}) is possible."


def _number(rows: list[Row]) -> int:
    return sum(len(_known(row.cells)) for row in rows)


def _unavailable(rows: list[Row], known: list[Row]) -> str:
    """Return the sentence on deployments without a ratio beside others that have one; empty if they are many."""
    there = {row.name for row in known}
    names = list(dict.fromkeys(row.name for row in rows if row.name not in there and not _in_time(row)))
    return f"Without a ratio here: {join_names(names)}." if known and 0 < len(names) <= UNAVAILABLE else ""


def _in_time(row: Row) -> bool:
    """Return whether a row has no ratio because the time was too short; the answer counts those."""
    return any(cell["reason"] == TOO_SHORT for cell in row.cells)


def _command(rows: list[Row], study: str | None, given: GivenTime | None) -> str:
    """Return the sentence on the command that should decide half of the ratios that show nothing; empty without such ratios.

    A ratio without a difference needs as many blocks as show that a loss of MARGIN is excluded, with the spread as
    estimated. If the study was measured for a `given` time, the command names the time: it grows as the blocks do.
    """
    if not (unknown := _open(rows)) or study is None:
        return ""
    target = -math.log1p(-MARGIN)
    needed = [cell["n"] * (math.log1p(cell["detectable"]) / target) ** 2 for cell in unknown if not missing(cell["detectable"])]
    if not needed:
        return f"`{spelling.command('precise', study)}` measures more."
    if given:
        hours = given.hours * max(1.0, median(needed) / median(cell["n"] for cell in unknown))
        return f"`{spelling.command('reproduce', study, hours=_rounded_up(hours))}` should decide half."
    number = max(ROUNDED, ROUNDED * math.ceil(median(needed) / ROUNDED))
    return f"`{spelling.command('precise', study, maximum=number)}` should decide half."


def _rounded_up(hours: float) -> float:
    """Return at least so many hours: a multiple of a tenth below one hour, and whole hours above."""
    return round(math.ceil(10 * hours) / 10, 1) if hours < 1 else float(math.ceil(hours))


def _nothing(
    rows: list[Row], known: list[Row], rules: Mapping, parts: list[dict], study: str | None, given: GivenTime | None
) -> str:
    """Return sentences for an answer that recommends nothing: which comparison is missing, and what to type."""
    begun = f"Nothing can be recommended about {rules['about']}"
    if known:
        worst = max((cell["open_loss"] for cell in _open(known)), default=0.0)
        left = f", and {len(_open(known))} leave a loss of {size(worst)} possible" if _open(known) else ""
        said = f"{begun}: none of {_number(known)} ratios shows a difference above {PERCENT}{left}."
        return " ".join(filter(None, [said, _command(known, study, given)]))
    which = parts[0]["comparison"]
    if study is None:
        return f"{begun}: {which} has too few runs."
    if any(map(_in_time, rows)):
        command = given.command if given else spelling.command("reproduce", study)
        return f"{begun}: {which} is {not_in(given)}. `{command}` measures it."
    if any(cell["comparisons"] for row in rows for cell in row.cells):
        return f"{begun}: {which} has too few runs. `{spelling.command('precise', study)}` measures more."
    return f"{begun}: {which} cannot be measured on this host. `{spelling.command('list', study)}` says why."

"""Word the answer to a study's question.

Each sentence says what is shown. Where no loss is shown, it says how large a loss is possible: the far end of the 95 %
interval. All functions are pure.
"""

from plimsoll.claims.quantities.base import MARGIN
from plimsoll.config.answers import BASELINE, STEPS
from plimsoll.errors import hours_in_words
from plimsoll.pages.formats import TIMES, capital, interval, missing, percent, ratio
from plimsoll.planning.forecasts import GivenTime

# Marks of ratios: a loss or a gain beyond the margin is shown, or such a loss is excluded.
LOSS, GAIN, NO_LOSS = "loss", "gain", "no-loss"
# Most deployments that a sentence names.
NAMED = 4
PERCENT = percent(MARGIN).removeprefix("+").replace(".0 ", " ")


def steps(rows: list[dict]) -> list[dict]:
    """Return the rows of what steps cost, such as splitting, each with a `text`; rows with a loss come first."""
    ordered = sorted(rows, key=lambda row: not _has(row, LOSS))
    return [{**row, "text": of_row(row["cells"])} for row in ordered]


def set_apart(rows: list[dict]) -> list[str]:
    """Return sentences on the rows that are set apart: why, and what is shown of each.

    A row is set apart if claims of the paper about it need something that is unavailable here (`lacks`). Rows that lack
    the same share one text.
    """
    apart = [row for row in _known(rows) if row["lacks"]]
    return [
        f"Set apart, as {lacking(lacks)} "
        + " ".join(f"{capital(row['name'])}: {of_row(row['cells'])}" for row in apart if row["lacks"] == lacks)
        for lacks in dict.fromkeys(row["lacks"] for row in apart)
    ]


def lacking(lacks: str) -> str:
    """Return words on what the paper's claims about a row need that is unavailable here; empty if nothing is."""
    return f"the paper's statements about this need {lacks}." if lacks else ""


def in_sentences(answer: dict, given: GivenTime | None = None, bounded: bool = False) -> str:
    """Return an answer (plimsoll.pages.answer.for_template) in a few sentences, the same for pages and the terminal.

    They say what is shown of steps, and of the ratios to the baseline. They also say for how many of these ratios the
    `given` time was too short. Rows that are set apart do not count. With `bounded`, another sentence says how large a
    loss is possible among the ratios that a recommendation rests on.
    """
    parts = answer["parts"]
    to_baseline = [cell for part in parts for cell in _cells(part["rows"], part, parts)]
    of_steps = [cell for part in parts if part["steps"] for cell in _cells(part["steps"]["items"], part, parts)]
    said = []
    if of_steps:
        lead = next(part["steps"]["lead"] for part in parts if part["steps"])
        said.append(f"{lead}: {_ratios(of_steps, '', answer['compare'] == STEPS, bounded)}")
    if to_baseline:
        said.append(_ratios(to_baseline, f" to {parts[0]['baseline']}", answer["compare"] == BASELINE, bounded))
        said.append(_before_steps(to_baseline, answer["first"]) if of_steps else "")
        said.append(_transports(parts))
    elif said and not answer["no_time"]:
        said.append(f"nothing was measured that could be set against {parts[0]['baseline']}.")
    if answer["no_time"]:
        said.append(_no_time(answer["no_time"], bool(to_baseline), given))
    return " ".join(map(capital, filter(None, said or ["nothing that was measured answers it."])))


def _cells(rows: list[dict], part: dict, parts: list[dict]) -> list[dict]:
    """Return the known ratios of rows that are not set apart, each with the `levels` of its row and words for it (`where`)."""
    of_part = [part["name"]] if len(parts) > 1 and part["name"] else []
    return [
        {**cell, "levels": row["levels"], "where": ", ".join(filter(None, [row["name"], *of_part]))}
        for row in rows
        for cell in row["cells"]
        if not row["lacks"] and not missing(cell["ratio"])
    ]


def not_in(given: GivenTime | None) -> str:
    """Return the words for a cell of a table that was not planned because the time was too short."""
    return f"not in the {hours_in_words(given.hours)}" if given else "not in the given time"


def _no_time(number: int, some: bool, given: GivenTime | None) -> str:
    """Return a sentence on how many ratios the time was too short for, and the command that measures them.

    `some` says whether other ratios are known.
    """
    one = number == 1
    which = f"{number}{' more' if some else ''} ratio{'' if one else 's'} {'is' if one else 'are'}"
    goes_on = f" (`{given.command}` measures {'it' if one else 'them'})" if given else ""
    return f"{which} {not_in(given)}{goes_on}."


def _ratios(known: list[dict], to: str, first: bool, bounded: bool) -> str:
    """Return sentences on how many of these ratios `to` something are losses.

    If none is, they say how large a loss is possible. The `first` comparison is the one that a recommendation rests on:
    its largest loss is shown. How large a loss is possible in it is left out if another sentence says so (`bounded`).
    """
    of_all = f"{len(known)} ratio{'s' if len(known) > 1 else ''}{to}"
    if losing := [cell for cell in known if cell["mark"] == LOSS]:
        most = _largest(losing)
        several = len(losing) > 1
        said = f"{len(losing)} of {of_all} {'lose' if several else 'loses'} more than {PERCENT}"
        if not first:
            return f"{said}."
        return f"{said}. The largest: {_place(most)}{_value(most)}." if several else f"{said}: {_place(most)}{_value(most)}."
    if _excluded(known):
        return f"a loss of more than {PERCENT} is ruled out in {'all ' if len(known) > 1 else ''}{of_all}."
    said = f"none of {of_all} is shown to lose more than {PERCENT}"
    left = "" if first and bounded else f"; a loss of {size(max(cell['open_loss'] for cell in known))} is possible"
    return f"{said}{left}."


def _before_steps(to_baseline: list[dict], first: dict) -> str:
    """Return a sentence on ratios to the baseline that lose before any step, such as splitting; empty if none does.

    `first` has the `levels` of a row before any step, and the `words` for such rows.
    """
    losing = [cell for cell in to_baseline if cell["mark"] == LOSS and first["levels"].items() <= cell["levels"].items()]
    if not losing:
        return ""
    most = _largest(losing)
    number = "1 of these is" if len(losing) == 1 else f"{len(losing)} of these are"
    place = "" if most["where"] == first["words"] else _place(most)
    return f"{number} of {first['words']} already: {'the largest ' if len(losing) > 1 else ''}{place}{_value(most)}."


def _transports(parts: list[dict]) -> str:
    """Return a sentence on rows whose messages another transport carried than those of the baseline; empty without any."""
    rows = [row for part in parts for row in _known(part["rows"]) if not row["lacks"]]
    usual = _carried(rows, "transport_b")
    names: dict[str, list[str]] = {}
    for row in rows:
        carried = _carried([row], "transport_a")
        if len(usual) == len(carried) == 1 and carried != usual:
            names.setdefault(carried.pop(), []).append(row["name"])
    if not names:
        return ""
    others = [f"by {carried} in {_few(list(dict.fromkeys(of_it)))}" for carried, of_it in names.items()]
    return f"messages go {', '.join(others)}, and by {usual.pop()} on {parts[0]['baseline']}."


def _carried(rows: list[dict], column: str) -> set[str]:
    """Return what carried the messages of these rows' cells (`transport_a`), or of the baseline's (`transport_b`)."""
    return {cell[column] for row in rows for cell in row["cells"] if not missing(cell.get(column))}


def _few(names: list[str]) -> str:
    return join_names(names) if len(names) <= NAMED else f"{len(names)} deployments"


def _largest(cells: list[dict]) -> dict:
    """Return the ratio that lies furthest from 1."""
    return max(cells, key=lambda cell: abs(cell["size"]))


def _place(cell: dict) -> str:
    return f"{cell['where']}, " if cell["where"] else ""


def _known(rows: list[dict]) -> list[dict]:
    """Return the rows of which at least one ratio is known."""
    return [row for row in rows if any(not missing(cell["ratio"]) for cell in row["cells"])]


def _excluded(cells: list[dict]) -> bool:
    """Return whether a loss of more than the margin is excluded for all ratios of these cells that are known."""
    return all(cell["mark"] in (GAIN, NO_LOSS) for cell in cells if not missing(cell["ratio"]))


def sure(cells: list[dict], alpha: float) -> str:
    """Return how sure the ratios are: blocks, adjustment of p, and what so many blocks can detect; empty without ratios."""
    known = [cell for cell in cells if not missing(cell["ratio"])]
    if not known:
        return ""
    blocks = sorted({int(cell["n"]) for cell in known})
    number = str(blocks[0]) if len(blocks) == 1 else f"{blocks[0]} to {blocks[-1]}"
    found = f"{number} blocks. They find {_detectable(known)} with a probability of 80 %"
    bound = "What is called possible is the far end of a 95 % interval."
    if len(known) == 1:
        return f"How sure: the ratio is of {found}. {bound}"
    before = sum(cell["p_beyond"] < alpha for cell in known)
    after = sum(cell["p_beyond_holm"] < alpha for cell in known)
    none = sum(cell["p_no_loss_holm"] < alpha for cell in known)
    return (
        f"How sure: each ratio is of {found}. p is adjusted (Holm) for the {len(known)} ratios: {after} "
        f"{'lies' if after == 1 else 'lie'} beyond {PERCENT} either way ({before} before that). For {none} a loss of more "
        f"than {PERCENT} is ruled out. {bound}"
    )


def _detectable(cells: list[dict]) -> str:
    """Return the losses that so many blocks can detect: the smallest and the largest over the ratios, with their metrics."""
    ends = [choose(cells, key=lambda cell: cell["detectable"]) for choose in (min, max)]
    several = len({cell["label"] for cell in cells}) > 1
    told = [size(1 - 1 / (1 + cell["detectable"])) + (f" ({cell['label']})" if several else "") for cell in ends]
    return f"losses of {' to '.join(dict.fromkeys(told))}"


def of_row(cells: list[dict]) -> str:
    """Return what is shown of one row: losses and gains. Without a loss, it says how large a loss is not excluded."""
    known = [cell for cell in cells if not missing(cell["ratio"])]
    said = [
        f"{word} by more than {PERCENT} in {_shown(cells, mark)}"
        for mark, word in ((LOSS, "slower"), (GAIN, "faster"))
        if any(cell["mark"] == mark for cell in known)
    ]
    if not any(cell["mark"] == LOSS for cell in known):
        said.append(
            f"a loss of more than {PERCENT} is ruled out{' in every metric' if len(known) > 1 else ''}"
            if _excluded(known)
            else f"no loss of more than {PERCENT} is shown, and {_open(cells)}"
        )
    return "; ".join(said) + "."


def join_names(names: list[str], last: str = "and") -> str:
    """Return names as text: A, B and C. The word before the last one is `last`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def _has(row: dict, mark: str) -> bool:
    return any(cell["mark"] == mark for cell in row["cells"])


def _shown(cells: list[dict], mark: str) -> str:
    """Return how many metrics have this mark, and the one where it is largest.

    For a row with one metric, return that metric.
    """
    marked = [cell for cell in cells if cell["mark"] == mark]
    known = sum(not missing(cell["ratio"]) for cell in cells)
    most = _largest(marked)
    if len(cells) == 1:
        return _value(most)
    return f"{len(marked)} of {known} metrics ({'most in ' if len(marked) > 1 else ''}{_value(most)})"


def _value(cell: dict) -> str:
    """Return a ratio with its interval and the label of its metric."""
    less = "" if cell["better"] == "higher" else ", where less is better"
    return f"{cell['label']}: {TIMES}{interval(cell['ratio'], cell['low'], cell['high'], ratio)}{less}"


def _most_open(cells: list[dict]) -> tuple[float, str]:
    return max((cell["open_loss"], cell["label"]) for cell in cells if cell["open_loss"] is not None)


def _open(cells: list[dict]) -> str:
    loss, label = _most_open(cells)
    return f"a loss of up to {size(loss)} ({label}) is possible"


def size(loss: float) -> str:
    """Return a loss in percent. A loss that would print as 0 is printed as the smallest loss that is not 0."""
    return f"{100 * loss:.0f} %" if loss >= 0.0995 else f"{100 * max(loss, 0.001):.1f} %"

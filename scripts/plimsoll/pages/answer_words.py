"""Word the answer to a study's question.

Each sentence says what is shown. Where no loss is shown, it says how large a loss the intervals do not exclude. All
functions are pure.
"""

from plimsoll.claims.quantities.base import MARGIN
from plimsoll.pages.formats import TIMES, capital, interval, missing, percent, ratio
from plimsoll.planning.forecasts import Given

# Marks of ratios: a loss or a gain beyond the margin is shown, or such a loss is excluded.
LOSS, GAIN, NO_LOSS = "loss", "gain", "no-loss"
PERCENT = percent(MARGIN).removeprefix("+").replace(".0 ", " ")


def steps(rows: list[dict]) -> dict:
    """Return what steps cost, such as splitting: `items` with a text per row, and a `headline` if rows have names."""
    losing, others = ([row["name"] for row in rows if _has(row, LOSS) is lost] for lost in (True, False))
    headline = ""
    if rows[0]["name"]:
        headline = (
            f"is shown to cost more than {PERCENT} with {listed(losing)}"
            if losing
            else f"is not shown to cost more than {PERCENT} anywhere"
        )
        headline += f"; no such cost is shown with {listed(others)}." if losing and others else "."
    ordered = sorted(rows, key=lambda row: not _has(row, LOSS))
    return {"headline": headline, "items": [{**row, "text": of_row(row["cells"])} for row in ordered]}


def against(baseline: str, rows: list[dict]) -> list[str]:
    """Return sentences on which rows are slower than the baseline, which faster, and how large a loss the others may have.

    Rows that are set apart are left out. If all rows are, there is no sentence.
    """
    if not (known := _known(rows)):
        return [f"Nothing was measured that could be set against {baseline}."]
    if not (known := [row for row in known if not row["lacks"]]):
        return []
    losing, gaining = ([row for row in known if _has(row, mark)] for mark in (LOSS, GAIN))
    said = [
        _compared("Slower", baseline, losing, LOSS)
        if losing
        else f"Nothing is shown to be slower than {baseline} by more than {PERCENT}."
    ]
    if gaining:
        said.append(_compared("Faster", baseline, gaining, GAIN))
    others = [row for row in known if not _has(row, LOSS)]
    if excluded := [row for row in others if _excluded(row["cells"])]:
        said.append(_at_most(excluded))
    if undecided := [row for row in others if row not in excluded]:
        said.append(_left_open(undecided))
    return said


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


def told(answer: dict, given: Given | None = None) -> str:
    """Return an answer (plimsoll.pages.answer.shown) in a few sentences, the same for pages and the terminal.

    They say which steps cost something, and what is shown of the ratios to the baseline. They also say for how many of
    these ratios the `given` time was too short. Rows that are set apart do not count.
    """
    known = [
        {**cell, "baseline": part["baseline"], "where": _where(row, part, answer["parts"])}
        for part in answer["parts"]
        for row in part["rows"]
        for cell in row["cells"]
        if not row["lacks"] and not missing(cell["ratio"])
    ]
    said = [step for part in answer["parts"] if (step := _step(part, answer["parts"], bool(known)))]
    if known:
        said.append(_ratios(known))
    elif said and not answer["no_time"]:
        said.append(f"nothing was measured that could be set against {answer['parts'][0]['baseline']}.")
    if answer["no_time"]:
        said.append(_no_time(answer["no_time"], bool(known), given))
    return " ".join(map(capital, said or ["nothing that was measured answers it."]))


def not_in(given: Given | None) -> str:
    """Return the words for a cell of a table that was not planned because the time was too short."""
    return f"not in the {given.hours:g} h" if given else "not in the given time"


def _step(part: dict, parts: list[dict], beside: bool) -> str:
    """Return words on what the steps of a part cost: their headline.

    If the headline is empty, the steps have one row. Its text is used if there is nothing `beside` it; otherwise
    nothing is said.
    """
    steps = part["steps"]
    if not steps or not (steps["headline"] or not beside):
        return ""
    where = f"{part['name']}: " if len(parts) > 1 else ""
    return where + steps["lead"] + (f" {steps['headline']}" if steps["headline"] else f": {steps['items'][0]['text']}")


def _no_time(number: int, some: bool, given: Given | None) -> str:
    """Return a sentence on how many ratios the time was too short for, and the command that measures them.

    `some` says whether other ratios are known.
    """
    one = number == 1
    which = f"{number}{' more' if some else ''} ratio{'' if one else 's'} {'is' if one else 'are'}"
    goes_on = f" ({given.command} measures {'it' if one else 'them'})" if given else ""
    return f"{which} {not_in(given)}{goes_on}."


def _ratios(known: list[dict]) -> str:
    """Return words on how many of these ratios are losses, and the largest loss.

    If none is a loss, they say how large a loss the intervals do not exclude.
    """
    losing = [cell for cell in known if cell["mark"] == LOSS]
    of_all = f"{len(known)} ratio{'s' if len(known) > 1 else ''} to {known[0]['baseline']}"
    if not losing:
        most = max(known, key=lambda cell: cell["open_loss"])
        where = f"{most['where']}: {most['label']}"
        if _excluded(known):
            every = f"a loss of more than {PERCENT} is ruled out in {'all ' if len(known) > 1 else ''}{of_all}"
            return f"{every}; {_reach(most['open_loss'], where)}."
        left = f"one of up to {_size(most['open_loss'])} ({where}) cannot be ruled out"
        return f"none of {of_all} is shown to be a loss of more than {PERCENT}, and {left}."
    most = max(losing, key=lambda cell: abs(cell["size"]))
    number = f"{len(losing)} of {of_all} {'are' if len(losing) > 1 else 'is'} shown to be a loss of more than {PERCENT}"
    return f"{number}{'; the largest is' if len(losing) > 1 else ':'} that of {most['where']} ({_value(most)})."


def _where(row: dict, part: dict, parts: list[dict]) -> str:
    """Return the name of a row, and that of its part if the answer has several."""
    return f"{row['name']}, {part['name']}" if len(parts) > 1 else row["name"]


def _known(rows: list[dict]) -> list[dict]:
    """Return the rows of which at least one ratio is known."""
    return [row for row in rows if any(not missing(cell["ratio"]) for cell in row["cells"])]


def _compared(word: str, baseline: str, rows: list[dict], mark: str) -> str:
    which = "; ".join(f"{row['name']}: {_shown(row['cells'], mark)}" for row in rows)
    return f"{word} than {baseline} by more than {PERCENT}: {which}."


def _excluded(cells: list[dict]) -> bool:
    """Return whether a loss of more than the margin is excluded for all ratios of these cells that are known."""
    return all(cell["mark"] in (GAIN, NO_LOSS) for cell in cells if not missing(cell["ratio"]))


def _at_most(rows: list[dict]) -> str:
    """Return a sentence on rows for which a loss beyond the margin is excluded: how large a loss their intervals reach."""
    most = max(rows, key=lambda row: _most_open(row["cells"]))
    loss, label = _most_open(most["cells"])
    where = f"{label}; {most['name']}" if len(rows) > 1 else label
    names = listed([row["name"] for row in rows])
    return f"A loss of more than {PERCENT} is ruled out for {names}; {_reach(loss, where)}."


def _reach(loss: float, where: str) -> str:
    """Return how far intervals reach where a loss of more than the margin is excluded.

    The interval may reach beyond the margin, as it is two-sided and the test is one-sided.
    """
    sided = "95 % intervals" if loss <= MARGIN else "95 % intervals, which unlike the test are two-sided,"
    return f"{sided} end at one of {_size(loss)} ({where}) at most"


def _left_open(rows: list[dict]) -> str:
    """Return a sentence on rows without a shown loss: whose intervals leave the least room for a loss, and whose the most."""
    least, most = (choose(rows, key=lambda row: _most_open(row["cells"])) for choose in (min, max))
    names = listed([row["name"] for row in rows])
    if least is most:
        return f"No such loss is shown for {names}, which does not mean that there is none: {_open(least['cells'])}."
    return (
        f"No such loss is shown for {names}, which does not mean that there is none. There is least room for one with "
        f"{least['name']}: {_open(least['cells'])}. There is most with {most['name']}: {_open(most['cells'])}."
    )


def sure(cells: list[dict], alpha: float) -> str:
    """Return how sure the ratios are: blocks, adjustment of p, and what so many blocks can detect; empty without ratios."""
    known = [cell for cell in cells if not missing(cell["ratio"])]
    if not known:
        return ""
    blocks = sorted({int(cell["n"]) for cell in known})
    number = str(blocks[0]) if len(blocks) == 1 else f"{blocks[0]} to {blocks[-1]}"
    found = f"{number} blocks, which can find {_detectable(known)} with a probability of 80 %"
    if len(known) == 1:
        return f"How sure: the ratio is of {found}. What cannot be ruled out is the far end of its 95 % interval."
    before = sum(cell["p_beyond"] < alpha for cell in known)
    after = sum(cell["p_beyond_holm"] < alpha for cell in known)
    none = sum(cell["p_no_loss_holm"] < alpha for cell in known)
    return (
        f"How sure: each ratio is of {found}. "
        f"Of the {len(known)} ratios {after} {'lies' if after == 1 else 'lie'} beyond {PERCENT} either way when p is adjusted "
        f"for their number (Holm), {before} before that; for {none} a loss of more than {PERCENT} is ruled out. What cannot be "
        "ruled out is the far end of a 95 % interval, each taken by itself."
    )


def _detectable(cells: list[dict]) -> str:
    """Return the losses that so many blocks can detect: the smallest and the largest over the ratios, with their metrics."""
    ends = [choose(cells, key=lambda cell: cell["detectable"]) for choose in (min, max)]
    several = len({cell["label"] for cell in cells}) > 1
    told = [_size(1 - 1 / (1 + cell["detectable"])) + (f" ({cell['label']})" if several else "") for cell in ends]
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


def listed(names: list[str]) -> str:
    """Return names as text: A, B and C."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _has(row: dict, mark: str) -> bool:
    return any(cell["mark"] == mark for cell in row["cells"])


def _shown(cells: list[dict], mark: str) -> str:
    """Return how many metrics have this mark, and the one where it is largest.

    For a row with one metric, return that metric.
    """
    marked = [cell for cell in cells if cell["mark"] == mark]
    known = sum(not missing(cell["ratio"]) for cell in cells)
    most = max(marked, key=lambda cell: abs(cell["size"]))
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
    return f"a loss of up to {_size(loss)} ({label}) cannot be ruled out"


def _size(loss: float) -> str:
    """Return a loss in percent. A loss that would print as 0 is printed as the smallest loss that is not 0."""
    return f"{100 * loss:.0f} %" if loss >= 0.0995 else f"{100 * max(loss, 0.001):.1f} %"

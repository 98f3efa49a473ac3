"""Sentences of a study's answer. Each says what is shown, and how large a loss the intervals leave open where none is. Pure."""

from plimsoll.claims.quantities.base import MARGIN
from plimsoll.pages.formats import TIMES, capital, interval, missing, percent, ratio
from plimsoll.planning.forecasts import Given

# Marks of ratios: a loss or a gain beyond the margin is shown, or that there is no such loss.
LOSS, GAIN, NO_LOSS = "loss", "gain", "no-loss"
PERCENT = percent(MARGIN).removeprefix("+").replace(".0 ", " ")


def steps(rows: list[dict]) -> dict:
    """`rows` are what splits (or is separated): a `headline` where they have names, and `items`."""
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
    """Which rows are slower than the baseline, which are faster, and how large a loss is left open for the others. Nothing of
    rows that are set apart, nor where all are."""
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
    """Rows about which statements of the paper need what is not here (`lacks`): why, and what is shown of each. One text for
    all that lack the same."""
    apart = [row for row in _known(rows) if row["lacks"]]
    return [
        f"Set apart, as {lacking(lacks)} "
        + " ".join(f"{capital(row['name'])}: {of_row(row['cells'])}" for row in apart if row["lacks"] == lacks)
        for lacks in dict.fromkeys(row["lacks"] for row in apart)
    ]


def lacking(lacks: str) -> str:
    """That statements of the paper about a row need what is not here; nothing if they need nothing else."""
    return f"the paper's statements about this need {lacks}." if lacks else ""


def told(answer: dict, given: Given | None = None) -> str:
    """Return an answer (plimsoll.pages.answer.shown) in a few sentences, the same for pages and the terminal.

    They say which steps cost something, what is shown of the ratios to the baseline, and how many of these the `given` time was
    too short for. Rows that are set apart do not count.
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
    """Return that something was not planned for want of time, for a cell of a table."""
    return f"not in the {given.hours:g} h" if given else "not in the given time"


def _step(part: dict, parts: list[dict], beside: bool) -> str:
    """What the steps of a part cost: their headline, or that of the only row where there is nothing `beside` it."""
    steps = part["steps"]
    if not steps or not (steps["headline"] or not beside):
        return ""
    where = f"{part['name']}: " if len(parts) > 1 else ""
    return where + steps["lead"] + (f" {steps['headline']}" if steps["headline"] else f": {steps['items'][0]['text']}")


def _no_time(number: int, some: bool, given: Given | None) -> str:
    """How many ratios the time was too short for, whether `some` are known or not, and the command that measures them."""
    one = number == 1
    which = f"{number}{' more' if some else ''} ratio{'' if one else 's'} {'is' if one else 'are'}"
    goes_on = f" ({given.command} measures {'it' if one else 'them'})" if given else ""
    return f"{which} {not_in(given)}{goes_on}."


def _ratios(known: list[dict]) -> str:
    """How many of these ratios are losses and the largest of these, or how large a loss is left open if none is."""
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
    """Which row it is; of several parts, of which."""
    return f"{row['name']}, {part['name']}" if len(parts) > 1 else row["name"]


def _known(rows: list[dict]) -> list[dict]:
    """Rows of which at least one ratio is known."""
    return [row for row in rows if any(not missing(cell["ratio"]) for cell in row["cells"])]


def _compared(word: str, baseline: str, rows: list[dict], mark: str) -> str:
    which = "; ".join(f"{row['name']}: {_shown(row['cells'], mark)}" for row in rows)
    return f"{word} than {baseline} by more than {PERCENT}: {which}."


def _excluded(cells: list[dict]) -> bool:
    """Whether a loss of more than the margin is ruled out for all of these that are known."""
    return all(cell["mark"] in (GAIN, NO_LOSS) for cell in cells if not missing(cell["ratio"]))


def _at_most(rows: list[dict]) -> str:
    """For rows for which a loss of more than the margin is ruled out: how large a one their intervals leave open."""
    most = max(rows, key=lambda row: _most_open(row["cells"]))
    loss, label = _most_open(most["cells"])
    where = f"{label}; {most['name']}" if len(rows) > 1 else label
    names = listed([row["name"] for row in rows])
    return f"A loss of more than {PERCENT} is ruled out for {names}; {_reach(loss, where)}."


def _reach(loss: float, where: str) -> str:
    """How far intervals reach where a loss of more than the margin is ruled out. The test is one-sided, the interval is not."""
    sided = "95 % intervals" if loss <= MARGIN else "95 % intervals, which unlike the test are two-sided,"
    return f"{sided} end at one of {_size(loss)} ({where}) at most"


def _left_open(rows: list[dict]) -> str:
    """For rows without a shown loss: with which of them the intervals leave least room for one, and with which most."""
    least, most = (choose(rows, key=lambda row: _most_open(row["cells"])) for choose in (min, max))
    names = listed([row["name"] for row in rows])
    if least is most:
        return f"No such loss is shown for {names}, which does not mean that there is none: {_open(least['cells'])}."
    return (
        f"No such loss is shown for {names}, which does not mean that there is none. There is least room for one with "
        f"{least['name']}: {_open(least['cells'])}. There is most with {most['name']}: {_open(most['cells'])}."
    )


def sure(cells: list[dict], alpha: float) -> str:
    """How sure the ratios are: blocks, adjustment, and what so many blocks can find; empty if there are none."""
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
    """The losses that so many blocks can find: the smallest and the largest of these ratios, with what these are of."""
    ends = [choose(cells, key=lambda cell: cell["detectable"]) for choose in (min, max)]
    several = len({cell["label"] for cell in cells}) > 1
    told = [_size(1 - 1 / (1 + cell["detectable"])) + (f" ({cell['label']})" if several else "") for cell in ends]
    return f"losses of {' to '.join(dict.fromkeys(told))}"


def of_row(cells: list[dict]) -> str:
    """What is shown of one row: losses, gains, and otherwise how large a loss is left open."""
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
    """A, B and C."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _has(row: dict, mark: str) -> bool:
    return any(cell["mark"] == mark for cell in row["cells"])


def _shown(cells: list[dict], mark: str) -> str:
    """How many metrics have this mark, and the one that has it most; of a row with one metric, that."""
    marked = [cell for cell in cells if cell["mark"] == mark]
    known = sum(not missing(cell["ratio"]) for cell in cells)
    most = max(marked, key=lambda cell: abs(cell["size"]))
    if len(cells) == 1:
        return _value(most)
    return f"{len(marked)} of {known} metrics ({'most in ' if len(marked) > 1 else ''}{_value(most)})"


def _value(cell: dict) -> str:
    """A ratio with its interval, and what it is of."""
    less = "" if cell["better"] == "higher" else ", where less is better"
    return f"{cell['label']}: {TIMES}{interval(cell['ratio'], cell['low'], cell['high'], ratio)}{less}"


def _most_open(cells: list[dict]) -> tuple[float, str]:
    return max((cell["open_loss"], cell["label"]) for cell in cells if cell["open_loss"] is not None)


def _open(cells: list[dict]) -> str:
    loss, label = _most_open(cells)
    return f"a loss of up to {_size(loss)} ({label}) cannot be ruled out"


def _size(loss: float) -> str:
    """A loss in percent; one that would be shown as none is the smallest that is shown."""
    return f"{100 * loss:.0f} %" if loss >= 0.0995 else f"{100 * max(loss, 0.001):.1f} %"

"""Sentences of a study's answer. Each says what is shown, and how large a loss the intervals leave open where none is. Pure."""

from plimsoll.claims.quantities.base import MARGIN
from plimsoll.pages.formats import TIMES, interval, missing, percent, ratio

# Marks of ratios: a loss or a gain beyond the margin is shown, or that there is no such loss.
LOSS, GAIN, NO_LOSS = "loss", "gain", "no-loss"
PERCENT = percent(MARGIN).removeprefix("+").replace(".0 ", " ")


def steps(rows: list[dict]) -> dict:
    """`rows` are what splits (or is separated): a `headline` that counts them where there are several, and `items`."""
    losing, others = ([row["name"] for row in rows if _has(row, LOSS) is lost] for lost in (True, False))
    headline = ""
    if len(rows) > 1:
        headline = (
            f"is shown to cost more than {PERCENT} with {listed(losing)}"
            if losing
            else f"is not shown to cost more than {PERCENT} anywhere"
        )
        headline += f"; no such cost is shown with {listed(others)}." if losing and others else "."
    ordered = sorted(rows, key=lambda row: not _has(row, LOSS))
    return {"headline": headline, "items": [{**row, "text": of_row(row["cells"])} for row in ordered]}


def against(baseline: str, rows: list[dict]) -> list[str]:
    """Which rows are slower than the baseline, which are faster, and how large a loss is left open for the others."""
    known = [row for row in rows if any(not missing(cell["ratio"]) for cell in row["cells"])]
    if not known:
        return [f"Nothing was measured that could be set against {baseline}."]
    losing, gaining = ([row for row in known if _has(row, mark)] for mark in (LOSS, GAIN))
    said = [
        _compared("Slower", baseline, losing, LOSS)
        if losing
        else f"Nothing is shown to be slower than {baseline} by more than {PERCENT}."
    ]
    if gaining:
        said.append(_compared("Faster", baseline, gaining, GAIN))
    if others := [row for row in known if not _has(row, LOSS)]:
        said.append(_left_open(others))
    return said


def _compared(word: str, baseline: str, rows: list[dict], mark: str) -> str:
    which = "; ".join(f"{row['name']}: {_shown(row['cells'], mark)}" for row in rows)
    return f"{word} than {baseline} by more than {PERCENT}: {which}."


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
    before = sum(cell["p_beyond"] < alpha for cell in known)
    after = sum(cell["p_beyond_holm"] < alpha for cell in known)
    none = sum(cell["p_no_loss_holm"] < alpha for cell in known)
    fine, coarse = (choose(known, key=lambda cell: cell["detectable"]) for choose in (min, max))
    least, most = (f"{_size(1 - 1 / (1 + cell['detectable']))} ({cell['label']})" for cell in (fine, coarse))
    return (
        f"How sure: each ratio is of {number} blocks, which can find losses of {least} to {most} with a probability of 80 %. "
        f"Of the {len(known)} ratios {after} {'lies' if after == 1 else 'lie'} beyond {PERCENT} either way when p is adjusted "
        f"for their number (Holm), {before} before that; for {none} a loss of more than {PERCENT} is ruled out. What cannot be "
        "ruled out is the far end of a 95 % interval, each taken by itself."
    )


def of_row(cells: list[dict]) -> str:
    """What is shown of one row: losses, gains, and otherwise how large a loss is left open."""
    known = [cell for cell in cells if not missing(cell["ratio"])]
    said = [
        f"{word} by more than {PERCENT} in {_shown(cells, mark)}"
        for mark, word in ((LOSS, "slower"), (GAIN, "faster"))
        if any(cell["mark"] == mark for cell in known)
    ]
    if not any(cell["mark"] == LOSS for cell in known):
        ruled_out = all(cell["mark"] in (GAIN, NO_LOSS) for cell in known)
        said.append(
            f"a loss of more than {PERCENT} is ruled out in every benchmark"
            if ruled_out
            else f"no loss of more than {PERCENT} is shown, and {_open(cells)}"
        )
    return "; ".join(said) + "."


def listed(names: list[str]) -> str:
    """A, B and C."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _has(row: dict, mark: str) -> bool:
    return any(cell["mark"] == mark for cell in row["cells"])


def _shown(cells: list[dict], mark: str) -> str:
    """How many metrics have this mark, and the one that has it most."""
    marked = [cell for cell in cells if cell["mark"] == mark]
    known = sum(not missing(cell["ratio"]) for cell in cells)
    most = max(marked, key=lambda cell: abs(cell["size"]))
    less = "" if most["better"] == "higher" else ", where less is better"
    word = "most in " if len(marked) > 1 else ""
    size = interval(most["ratio"], most["low"], most["high"], ratio)
    return f"{len(marked)} of {known} metrics ({word}{most['label']}: {TIMES}{size}{less})"


def _most_open(cells: list[dict]) -> tuple[float, str]:
    return max((cell["open_loss"], cell["label"]) for cell in cells if cell["open_loss"] is not None)


def _open(cells: list[dict]) -> str:
    loss, label = _most_open(cells)
    return f"a loss of up to {_size(loss)} ({label}) cannot be ruled out"


def _size(loss: float) -> str:
    return f"{100 * loss:.0f} %" if loss >= 0.0995 else f"{100 * loss:.1f} %"

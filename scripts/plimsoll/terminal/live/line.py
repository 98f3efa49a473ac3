"""The one line that says what is going on."""

from typing import NamedTuple

from rich.text import Text

from plimsoll.measuring.progress import clock

BETWEEN = "  "
# If less than this is left for the words (columns), the total time is left out; below FEWEST, the words are.
FEW, FEWEST = 44, 12


class Now(NamedTuple):
    """What is going on.

    `done` and `all` count the steps of all workflows of this command. `left` and `elapsed` are in seconds. `left` is
    None if nothing is known about it. With `estimated`, a later workflow decides how many steps there will be.
    """

    phase: str
    what: str
    done: int
    all: int
    estimated: bool
    left: float | None
    elapsed: float
    repeated: int


def text(now: Now, width: int) -> Text:
    """Return the line within `width` columns. If it is too long, the end of what is being done is cut first."""
    counted = f" {now.done}/{'~' if now.estimated else ''}{now.all}" if now.all else ""
    spans = [(now.phase, "bold cyan"), (counted, "bold")]
    after = _times(now, True)
    room = _room(width, spans, after)
    if room < min(FEW, len(now.what)):
        after = _times(now, False)
        room = _room(width, spans, after)
    what = _begun(now.what, room) if room >= FEWEST else ""
    for words, style in ((what, ""), *after):
        if words:
            spans += [(BETWEEN, ""), (words, style)]
    line = Text.assemble(*spans, no_wrap=True, overflow="crop", end="")
    line.truncate(width)
    return line


def _times(now: Now, total: bool) -> list[tuple[str, str]]:
    if now.left is None:
        times = clock(now.elapsed)
    else:
        times = f"{clock(now.left)} left" + (f" (total {clock(now.elapsed + now.left)})" if total else "")
    return [(times, "green"), (f"{now.repeated} repeated" if now.repeated else "", "yellow")]


def _room(width: int, spans: list[tuple[str, str]], after: list[tuple[str, str]]) -> int:
    """Return the columns that are left for the words between these spans."""
    used = sum(len(words) for words, _ in spans)
    return width - used - sum(len(BETWEEN) + len(words) for words, _ in after if words) - len(BETWEEN)


def _begun(words: str, room: int) -> str:
    return words if len(words) <= room else f"{words[: room - 1].rstrip(' ,')}…"

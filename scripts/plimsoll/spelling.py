"""What users type: spell a command for a message, and find the known name that a mistyped one is nearest to."""

from collections.abc import Iterable

# The user's command in a clone of the project.
PROGRAM = "./plimsoll"


def command(*words: str, **options: object) -> str:
    """Return a command to type: `command("reproduce", "liu2020", hours=2)` is `./plimsoll reproduce liu2020 --hours 2`.

    An option that is True is only named. One that is None, False or empty is left out.
    """
    told = [PROGRAM, *map(str, words)]
    for name, value in options.items():
        if value is None or value is False or value == "":
            continue
        told += [f"--{name.strip('_').replace('_', '-')}", *([] if value is True else [_word(value)])]
    return " ".join(told)


def typed(words: Iterable[str]) -> str:
    """Return the command that was typed with these words, quoted for a shell."""
    import shlex

    return " ".join([PROGRAM, *map(shlex.quote, words)])


def near(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest to a word, whatever its case; None if no name is like it."""
    # A mistyped name is rare, and every run would pay for this import.
    from difflib import get_close_matches

    names = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), names, 1)
    return names[found[0]] if found else None


def hint(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean X?)` for a mistyped word, or nothing if no known name is like it."""
    found = near(word, known)
    return f" (did you mean {found}?)" if found else ""


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

"""How a command ends: its exit statuses, and the sentence about a mistyped command line."""

from enum import IntEnum

from plimsoll import spelling
from plimsoll.errors import PlimsollError


class Status(IntEnum):
    """An exit status of `plimsoll`, and its `meaning` in words."""

    meaning: str

    DONE = 0, "all that the command names is there, and nothing is worse"
    INCOMPLETE = 1, "something is worse, or not all that the command names is there. What was measured is kept"
    USAGE = 2, "the command cannot be carried out as it was typed, and nothing was done. `compare`: the sets cannot be compared"
    SET_UP = 3, "set-up could not install what is needed, and nothing was measured"
    INTERRUPTED = 130, "Ctrl-C or SIGTERM. What was measured is kept, and the same command goes on"

    def __new__(cls, number: int, meaning: str):
        """Return a status that is a number with a meaning."""
        status = int.__new__(cls, number)
        status._value_, status.meaning = number, meaning
        return status


class Mistyped(PlimsollError):
    """A command line that cannot be read: the reason, and the command whose help says how it is written."""

    def __init__(self, problem: Exception):
        context = getattr(problem, "ctx", None)
        words = context.command_path.split()[1:] if context else []
        told = _of_option(problem, context) or problem.format_message().rstrip(".")
        super().__init__(f"{told}: {spelling.command(*words, help=True)} shows how it is used. Nothing was done.")


def _of_option(problem: Exception, context) -> str | None:
    """Return the sentence about an option that the command does not have; None for other problems."""
    if not (context and hasattr(problem, "possibilities")):
        return None
    known = [word for parameter in context.command.get_params(context) for word in parameter.opts if word.startswith("--")]
    name = context.command.name or "plimsoll"
    return f"{name} has no option {problem.option_name}{spelling.hint(problem.option_name, known)}"

"""Exit statuses of the command (docs/reference/command.md)."""

from enum import IntEnum


class Status(IntEnum):
    """What an exit status of `plimsoll` means."""

    DONE = 0  # everything that the user named is there
    INCOMPLETE = 1  # something is worse, or something that the user named is missing
    USAGE = 2  # the command cannot be carried out as it was typed, and nothing was done
    SET_UP = 3  # set-up could not install what is needed, and nothing was measured
    INTERRUPTED = 130  # Ctrl-C or SIGTERM; what is measured stays

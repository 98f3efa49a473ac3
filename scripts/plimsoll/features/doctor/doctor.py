"""`plimsoll doctor`: look at this machine before measuring, and make it quiet."""

from typing import Annotated

import typer

from plimsoll.cli import options


def doctor(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND", help="Run on the quiet machine.", show_default=False)
    ] = None,
    quiet_machine: Annotated[
        bool, typer.Option("--quiet-machine", help="Set governor, turbo, NUMA balancing and swap for measuring. Needs root.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back what --quiet-machine has changed.")] = False,
    directory: options.Directory = None,
    json: options.AsJson = False,
) -> int:
    """Look at this machine before measuring: what each finding means for verdicts, and what to type.

    The exit status is 1 if a finding stops measuring or warns. With --quiet-machine, settings are changed for as long as
    the command after -- runs, or until --undo. After a kill the next start of plimsoll takes them back.

    Examples:
      plimsoll doctor                                                  # look
      plimsoll doctor --quiet-machine -- plimsoll reproduce --hours 1  # measure on a quiet machine
      plimsoll doctor --quiet-machine                                  # quiet until ...
      plimsoll doctor --undo                                           # ... this is typed
    """
    from plimsoll import paths
    from plimsoll.errors import PlimsollError
    from plimsoll.features.doctor import examination, quieting, readings

    if undo and (quiet_machine or command):
        raise PlimsollError("--undo takes no command, and does not go with --quiet-machine. Nothing was changed.")
    if command and not quiet_machine:
        raise PlimsollError(
            "A command needs --quiet-machine. Nothing was done. Type: ./plimsoll doctor --quiet-machine -- COMMAND"
        )
    if undo:
        return quieting.undo()
    if quiet_machine:
        return quieting.during(command) if command else quieting.keep_quiet()
    return examination.show(readings.look([], directory or paths.PROJECT), json)

"""The user's command, `plimsoll`. The workflow's stages have their own command line, `python -m plimsoll`.

A command is a function of its name, in a module that is imported when the command is called (plimsoll.cli.groups). The
function imports what it needs.
"""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from plimsoll import spelling, tasks
from plimsoll.cli.groups import WIDTH, Commands, help_of
from plimsoll.cli.statuses import Mistyped, Status
from plimsoll.errors import run_guarded

# Environment variable with the command that the user typed (plimsoll.terminal.interruption).
TYPED = "PLIMSOLL_COMMAND"

app = typer.Typer(cls=Commands, rich_markup_mode=None, context_settings={"max_content_width": WIDTH})


def _version(wanted: bool) -> None:
    if wanted:
        from plimsoll.cli.machine import version

        version()
        raise typer.Exit


def plimsoll(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version, and end.")
    ] = False,
) -> None:
    """Reproduce published studies of container performance on this machine, and say which of their claims hold here.

    Examples:
      plimsoll reproduce --minutes 12         # the default study, in twelve minutes from set-up to the pages
      plimsoll list                           # what is measured, and what can be
      plimsoll reproduce jha2021 --hours 1    # another study
      plimsoll show liu2020-c26               # a claim with its verdict, numbers and runs
      plimsoll COMMAND --help                 # options and examples of a command
    """
    if context.invoked_subcommand is None:
        print(context.get_help())
        return
    # Imported here, because a help text and a completion need no machine.
    from plimsoll.measuring import lock

    lock.undo_left()


app.callback(invoke_without_command=True, help=help_of(plimsoll))(plimsoll)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command that was typed, and return its exit status (plimsoll.cli.statuses)."""
    # The name `list` is that of a command in this module.
    words = [*(sys.argv[1:] if words is None else words)]
    os.environ.setdefault(TYPED, spelling.typed(words))
    return run_guarded(lambda: _run(words), Status.USAGE)


def _run(words: Sequence[str]) -> int | None:
    try:
        return typer.main.get_command(app)(words, prog_name="plimsoll", standalone_mode=False)
    except typer.TyperException as problem:
        raise Mistyped(problem) from problem
    except OSError as problem:
        if not (refused := tasks.refused(problem)):
            raise
        raise refused from problem

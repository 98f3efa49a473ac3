"""The commands by what they are for, and a group that imports a command's module when the command is needed."""

import builtins
import importlib
import inspect
import keyword
from collections.abc import Callable

import typer
from typer.core import TyperArgument, TyperGroup

from plimsoll import features, spelling
from plimsoll.errors import PlimsollError

# Names of the commands, under the headings of the help. A command is a function in a module of its name, here or in a feature.
# Those about this machine are in machine.py.
COMMANDS = {
    features.MEASURE: ("reproduce", "plan", "precise"),
    features.READ: ("list", "show", "notebooks"),
    features.HAND_ON: (),
    features.BEGIN: (),
    features.MACHINE: ("setup", "add", "drop", "new-system", "clean-up", "version"),
}
EXAMPLES = "Examples:"
# Columns of a help, in a terminal that has them.
WIDTH = 100


def names() -> list[str]:
    """Return the names of the commands that are there, in the order of the help."""
    return [name for heading in COMMANDS for name in _below(heading)]


def _below(heading: str) -> tuple[str, ...]:
    """Return the commands under a heading: those that are always there, and those of features."""
    return (*COMMANDS[heading], *features.below(heading))


def function(name: str) -> Callable[..., int | None]:
    """Return the function of a command: the one of its module that has its name."""
    return getattr(importlib.import_module(_module(name)), _identifier(name))


def _module(name: str) -> str:
    module = "machine" if name in COMMANDS[features.MACHINE] else name.replace("-", "_")
    return features.modules().get(name) or f"plimsoll.cli.{module}"


def _identifier(name: str) -> str:
    """Return the name of a command's function. It ends in an underscore where Python has the name already."""
    word = name.replace("-", "_")
    return f"{word}_" if keyword.iskeyword(word) or hasattr(builtins, word) else word


def help_of(work: Callable) -> str:
    """Return the help of a command, which is its docstring. The lines of its examples stay as they are."""
    return inspect.getdoc(work).replace(f"\n{EXAMPLES}\n", f"\n\b\n{EXAMPLES}\n")


class Commands(TyperGroup):
    """Group of the commands. A command is made when it is called, completed or listed."""

    def list_commands(self, ctx: typer.Context) -> list[str]:
        """Return the names of all commands."""
        return names()

    def get_command(self, ctx: typer.Context, cmd_name: str):
        """Return a command; None if no command has the name."""
        if cmd_name not in names():
            return None
        if cmd_name not in self.commands:
            alone, work = typer.Typer(add_completion=False, rich_markup_mode=None), function(cmd_name)
            alone.command(cmd_name, help=help_of(work), context_settings={"max_content_width": WIDTH})(work)
            self.commands[cmd_name] = command = typer.main.get_command(alone)
            for parameter in command.params:
                if isinstance(parameter, TyperArgument):
                    # A type of Python's says nothing to a user.
                    parameter.display_type_rich = lambda ctx: ""
        return self.commands[cmd_name]

    def resolve_command(self, ctx: typer.Context, args: list[str]):
        """Return (name, command, rest of the words). Raise PlimsollError if there is no such command."""
        if not self.get_command(ctx, args[0]) and not args[0].startswith("-"):
            raise PlimsollError(
                f"There is no command {args[0]}{spelling.hint(args[0], names())}: {spelling.command(help=True)} lists them."
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: typer.Context, formatter) -> None:
        """Write the commands under their headings, each with the first line of its help."""
        for heading in COMMANDS:
            if rows := [(name, self.get_command(ctx, name).get_short_help_str(200)) for name in _below(heading)]:
                with formatter.section(heading):
                    formatter.write_dl(rows)

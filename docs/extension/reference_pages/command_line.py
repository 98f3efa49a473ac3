"""The page of the command line, from the parser of `plimsoll`."""

import textwrap
from pathlib import Path

from reference_pages.markdown import code, page, table


def pages(project: Path) -> dict[str, str]:
    """Return the page of all commands and their options."""
    import typer
    from plimsoll import cli
    from plimsoll.cli import groups

    app = typer.main.get_command(cli.app)
    commands = [app.get_command(None, name) for name in groups.names()]
    return {"command-line": page("Command line", "```sh\n./plimsoll COMMAND [OPTIONS]\n```", *map(_command, commands))}


def _command(command) -> str:
    rows = [_parameter(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
    text, _, examples = (command.help or "").replace("\b", "").partition("Examples:\n")
    block = f"```sh\n{textwrap.dedent(examples).strip()}\n```" if examples else ""
    parts = [f"## {command.name}", text.strip(), block, table(["argument or option", "meaning"], rows) if rows else ""]
    return "\n\n".join(filter(None, parts))


def _parameter(parameter) -> tuple[str, str]:
    is_option = parameter.param_type_name == "option"
    named = [*parameter.opts, *parameter.secondary_opts] if is_option else [parameter.metavar or parameter.name.upper()]
    return ", ".join(map(code, named)), getattr(parameter, "help", "") or ""

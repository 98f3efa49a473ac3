"""The page of the command line, from the parser of `plimsoll`."""

from pathlib import Path

from reference_pages.markdown import code, page, table


def pages(project: Path) -> dict[str, str]:
    """Return the page of all commands and their options."""
    import typer
    from plimsoll import cli

    app = typer.main.get_command(cli.app)
    commands = [app.commands[name] for name in sorted(app.commands) if not app.commands[name].hidden]
    return {"command-line": page("Command line", "```sh\n./plimsoll COMMAND [OPTIONS]\n```", *map(_command, commands))}


def _command(command) -> str:
    rows = [_parameter(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
    text = (command.help or "").replace("\b", "").strip()
    return "\n\n".join([f"## {command.name}", text, table(["option", "meaning"], rows) if rows else ""])


def _parameter(parameter) -> tuple[str, str]:
    named = parameter.opts if parameter.param_type_name == "option" else [parameter.human_readable_name]
    return ", ".join(map(code, named)), getattr(parameter, "help", "") or ""

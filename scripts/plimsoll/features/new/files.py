"""Write files from templates, and turn a name into those that code has."""

import re
from collections.abc import Mapping
from pathlib import Path

import jinja2

from plimsoll.errors import PlimsollError, quote

TEMPLATES = Path(__file__).with_name("templates")
NAME = re.compile(r"[a-z][a-z0-9-]*")


def checked(name: str) -> str:
    """Return a name for files, commands and paths. PlimsollError if it has other signs than these take."""
    if not NAME.fullmatch(name):
        raise PlimsollError(
            f"{quote(name)} cannot be the name. Take lower-case letters, digits and dashes, and begin with a "
            "letter. Nothing was written."
        )
    return name


def identifier(name: str) -> str:
    """Return a name as that of a module."""
    return name.replace("-", "_")


def class_name(name: str) -> str:
    """Return a name as that of a class."""
    return "".join(part.capitalize() for part in name.split("-"))


def write(files: Mapping[Path, str], **values: object) -> list[Path]:
    """Write files from templates, and return their paths. `files` has the template of each.

    PlimsollError if one of them is there already: nothing is written then.
    """
    if there := next((path for path in files if path.exists()), None):
        raise PlimsollError(f"{there} exists already. Nothing was written. Take another name, or move it.")
    loader = jinja2.FileSystemLoader(TEMPLATES)
    templates = jinja2.Environment(
        loader=loader, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    # Names are written into YAML in quotes (tojson), in their own letters.
    templates.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    for path, template in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(templates.get_template(template).render(**values))
    return list(files)

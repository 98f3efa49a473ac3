"""The configuration as the stages of the command line read it: config/config.yaml and `key=value` settings over it."""

from collections.abc import Mapping
from pathlib import Path

import yaml

from plimsoll import paths
from plimsoll.config import yaml_files
from plimsoll.errors import PlimsollError

FILE = paths.PROJECT / "config/config.yaml"
SCHEMA, SOURCE = "config", "config/config.yaml or --config"


def read(settings: list[str], file: Path = FILE) -> dict:
    """The configuration of a file with settings (`profile=paper`, `runtimes={docker: off}`) over it, checked.

    As Snakemake reads the same words after --config: a mapping is merged into the file's, anything else replaces its value.
    Raises PlimsollError for something that is no file or no setting, and for a key or a value that the schema does not know.
    """
    content = yaml_files.keys_of(file)
    for word in settings:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise PlimsollError(f"{word!r} is not a setting: settings are key=value, such as profile=paper.")
        _merge(content, {key: _value(text)})
    settle(content)
    return content


def settle(settings: dict) -> None:
    """Read a runtime's `off` as the word, which YAML takes for false. PlimsollError for a key or a value that is not known."""
    runtimes = settings.get("runtimes")
    if isinstance(runtimes, dict):
        runtimes.update({name: "off" for name, wish in runtimes.items() if wish is False})
    yaml_files.check(dict(settings), SCHEMA, SOURCE)


def _value(text: str) -> object:
    """A setting's value: a number, true or false, or YAML of texts."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    try:
        # Texts alone, so that `off` is a word and not false.
        value = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError:
        return text
    return {"true": True, "false": False, "": None}.get(text.lower(), value)


def _merge(settings: dict, other: Mapping) -> None:
    for key, value in other.items():
        if isinstance(value, Mapping) and isinstance(settings.get(key), dict):
            _merge(settings[key], value)
        else:
            settings[key] = value

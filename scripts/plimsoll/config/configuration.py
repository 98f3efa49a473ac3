"""The configuration as the stages of the command line read it.

It is config/config.yaml. config/local.yaml, if it is there, overrides it, and `key=value` settings override both.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from plimsoll import paths
from plimsoll.config import yaml_files
from plimsoll.errors import PlimsollError, quote

FILE = paths.CONFIG / "config.yaml"
# What is true of one machine or user alone. It is not part of the project.
LOCAL = paths.CONFIG / "local.yaml"
SCHEMA = "config"
LOCAL_BEGINS = "# Settings of this machine, in place of those of config.yaml. Delete the file to take them back.\n"


def read(settings: list[str], file: Path = FILE, local: Path = LOCAL) -> dict:
    """Return the checked configuration of `file`.

    The file `local`, if it is there, overrides it, and settings override both. Settings are words such as
    `profile=paper` or `runtimes={docker: off}`. A mapping is merged; anything else replaces its value. Snakemake reads
    the same files and words in this way.

    Raise PlimsollError for a file that cannot be read, a word that is no setting, and a key or value that the schema
    does not know.
    """
    content = _of_files(file, local)
    for word in settings:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise PlimsollError(f"{quote(word)} is not a setting. Write it as key=value, such as profile=paper.")
        _merge(content, {key: _value(text)})
    validate(content)
    return content


def complete(given: Mapping) -> dict:
    """Return the configuration of the files, overridden by what is `given`. Raise PlimsollError for a file that cannot
    be read."""
    content = _of_files(FILE, LOCAL)
    _merge(content, given)
    return content


def files(file: Path = FILE, local: Path = LOCAL) -> list[Path]:
    """Return the files that the configuration is read from. Each overrides the one before it."""
    return [file, *([local] if local.is_file() else [])]


def wish(runtimes: Iterable[str], wanted: str, local: Path = LOCAL) -> None:
    """Note what is wanted of runtimes on this machine: `required`, `optional` or `off`.

    Raise PlimsollError for any other word, and if what was noted before does not fit the schema.
    """
    names = list(runtimes)
    read([f"runtimes={{{name}: {wanted}}}" for name in names], local=local)
    content = yaml_files.keys_of(local) if local.is_file() else {}
    _merge(content, {"runtimes": dict.fromkeys(names, wanted)})
    temporary = local.with_name(f".{local.name}")
    temporary.write_text(LOCAL_BEGINS + yaml.safe_dump(content, sort_keys=False))
    temporary.rename(local)


def validate(settings: dict) -> None:
    """Read a runtime's `off` as the word, which YAML takes for false, and check the settings.

    Raise PlimsollError for a key or a value that is not known.
    """
    runtimes = settings.get("runtimes")
    if isinstance(runtimes, dict):
        runtimes.update({name: "off" for name, wish in runtimes.items() if wish is False})
    named = ", ".join(yaml_files.short(each) for each in files())
    yaml_files.check(dict(settings), SCHEMA, f"{named} or --config")


def _of_files(file: Path, local: Path) -> dict:
    content: dict = {}
    for each in files(file, local):
        _merge(content, yaml_files.keys_of(each))
    return content


def _value(text: str) -> object:
    """Return a setting's value: a number, true or false, null, or YAML of texts."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    try:
        # This loader reads texts alone, so that `off` is a word and not false.
        value = yaml.load(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        return text
    return {"true": True, "false": False, "": None}.get(text.lower(), value)


def _merge(settings: dict, other: Mapping) -> None:
    for key, value in other.items():
        if isinstance(value, Mapping) and isinstance(settings.get(key), dict):
            _merge(settings[key], value)
        else:
            settings[key] = value

"""YAML documents that a person writes: read, checked against a JSON Schema, refused with file and line."""

import sys
from pathlib import Path

import yaml

from plimsoll import paths
from plimsoll.errors import PlimsollError

SCHEMAS = paths.PROJECT / "config/schemas"
# JSON Schema's types for people.
TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "array": "a list",
    "object": "a mapping of keys to values",
    "boolean": "true or false",
    "null": "null",
}
# jsonschema's check of internationalised addresses builds a grammar whenever it is imported: a second in every process. No
# schema of ours has such an address, and jsonschema does without where the module is missing.
sys.modules.setdefault("rfc3987_syntax", None)


def load(path: Path, schema: str) -> dict:
    """Contents of a YAML file that fits config/schemas/<schema>.yaml.

    Raises PlimsollError with the file, the line and the key for a file that is missing, no YAML, or does not fit.
    """
    document, text = read(path)
    check(document, schema, short(path), text)
    return document


def read(path: Path) -> tuple[object, str]:
    """(document, text) of a YAML file. Raises PlimsollError with the file and the line if it is missing or no YAML."""
    try:
        text = path.read_text()
        return yaml.load(text, Loader=_Loader), text
    except OSError as error:
        raise PlimsollError(f"{short(path)} cannot be read: {error.strerror}.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        problem = getattr(error, "problem", None) or str(error)
        raise PlimsollError(f"{short(path)}, line {line}: not valid YAML: {problem}.") from error


def keys_of(path: Path) -> dict:
    """The keys and values of a YAML file, of any schema. Raises PlimsollError if it is missing, no YAML, or holds no keys."""
    document, _ = read(path)
    if not isinstance(document, dict):
        raise PlimsollError(f"{short(path)}: it is not {TYPES['object']}.")
    return document


def check(document: object, schema: str, source: str, text: str | None = None) -> None:
    """Raise PlimsollError, naming `source`, the key and, if its `text` is given, the line, if a document does not fit."""
    import jsonschema  # here, because it is slow to import and the measuring path has no use for it

    rules = yaml.load((SCHEMAS / f"{schema}.yaml").read_text(), Loader=_Loader)
    errors = sorted(jsonschema.Draft202012Validator(rules).iter_errors(document), key=_depth)
    if not errors:
        return
    error = errors[0]
    keys = list(error.absolute_path)
    where = source if text is None else f"{source}, line {_line(yaml.compose(text, Loader=_Loader), keys)}"
    key = ".".join(str(part) for part in keys)
    raise PlimsollError(f"{where}: {f'{key}: ' if key else ''}{_sentence(error)}.")


class _Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):
    """Safe loader that refuses a key given twice, which YAML itself would let the second win."""


def _mapping(loader: yaml.Loader, node: yaml.MappingNode) -> dict:
    seen = set()
    for key, _ in node.value:
        if key.value in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} is given twice", key.start_mark)
        seen.add(key.value)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def short(path: Path) -> str:
    """A path for people: from the project's folder, if it is in it."""
    return str(path.relative_to(paths.PROJECT)) if path.is_relative_to(paths.PROJECT) else str(path)


def _depth(error) -> tuple:
    # An unknown key before a missing one: it is mostly the same key, mistyped.
    return (-len(error.absolute_path), error.validator != "additionalProperties", str(error.message))


def _sentence(error) -> str:
    if error.validator == "additionalProperties":
        known = ", ".join(sorted(error.schema.get("properties", {})))
        unknown = sorted(set(error.instance) - set(error.schema.get("properties", {})))
        return f"unknown key {', '.join(map(repr, unknown))}; known keys are {known}"
    if error.validator == "type":
        wanted = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
        return f"{error.instance!r} is not {' or '.join(TYPES[name] for name in wanted)}"
    if error.validator == "enum":
        return f"{error.instance!r} is not one of {', '.join(map(str, error.validator_value))}"
    return error.message.rstrip(".")


def _line(node: yaml.Node, keys: list) -> int:
    """Line of the deepest node on a path of keys and indexes."""
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            child = next((value for name, value in node.value if name.value == str(key)), None)
        elif isinstance(node, yaml.SequenceNode):
            child = node.value[key] if key < len(node.value) else None
        else:
            child = None
        if child is None:
            break
        node = child
    return node.start_mark.line + 1

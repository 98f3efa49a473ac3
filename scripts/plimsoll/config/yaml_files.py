"""YAML documents that a person writes: read, checked against a JSON Schema, and refused with file and line."""

import math
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import yaml

from plimsoll import paths, spelling
from plimsoll.errors import PlimsollError, quote
from plimsoll.remembered import remembered

SCHEMAS = paths.PROJECT / "config/schemas"
# JSON Schema's types in words for people.
TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "array": "a list",
    "object": "a mapping of keys to values",
    "boolean": "true or false",
    "null": "null",
}
# What a document may consist of: tags by kind of node, depth, and number of parts.
STANDARD = "tag:yaml.org,2002:"
KINDS = {
    yaml.MappingNode: {"map"},
    yaml.SequenceNode: {"seq"},
    yaml.ScalarNode: {"str", "int", "float", "bool", "null"},
}
DEEPEST, MOST = 32, 200_000
# A text that is nested less deeply than this can be parsed.
DEEP = 1000
# Longest sentence (characters).
LONGEST = 300
# When jsonschema is imported, its check of internationalised addresses builds a grammar: a second in every process. No
# schema of ours has such an address, and jsonschema works without this module.
sys.modules.setdefault("rfc3987_syntax", None)


def load(path: Path, schema: str) -> dict:
    """Return the content of a YAML file that fits config/schemas/<schema>.yaml.

    Raise PlimsollError with the file, the line and the key if the file is missing, is not YAML, or does not fit.
    """
    if path.is_relative_to(paths.PROJECT / "config") and path.is_file():
        # To check a study's claims takes a tenth of a second, and every start of the workflow reads those of all studies.
        inputs = (file.read_bytes() for file in (path, SCHEMAS / f"{schema}.yaml", Path(__file__)))
        return remembered(f"{schema}-{path.stem}", inputs, lambda: _checked(path, schema))
    return _checked(path, schema)


def _checked(path: Path, schema: str) -> dict:
    document, text = read(path)
    check(document, schema, short(path), text)
    return document


def read(path: Path) -> tuple[object, str]:
    """Return (document, text) of a YAML file.

    Raise PlimsollError with the file and the line if it is missing or is not YAML. Raise it also for tags, dates, and
    keys that are not texts, which no file of ours needs.
    """
    try:
        text = path.read_text()
    except OSError as error:
        raise PlimsollError(f"{short(path)} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise PlimsollError(f"{short(path)} is not text in UTF-8. Save it in that encoding.") from error
    try:
        return _document(text), text
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        problem = getattr(error, "problem", None) or str(error)
        raise PlimsollError(f"{short(path)}, line {line}: not valid YAML: {problem.splitlines()[0]}.") from error


def _document(text: str) -> object:
    """Return the document of a YAML text. Raise YAMLError if it is not YAML, or has what is not read here."""
    _refuse_deep(text)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _refuse_odd(node)
        return loader.construct_document(node)
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        # A number of thousands of digits, or a value that does not fit its tag (!!bool x).
        raise _odd(f"it has what cannot be read: {error}") from error
    finally:
        loader.dispose()


def _refuse_deep(text: str) -> None:
    """Raise YAMLError for a text that may be nested so deeply that the parser, which is in C, would end this process."""
    opened = 0
    for line in text.split("\n"):
        opens = line.count("[") + line.count("{")
        indented = len(line) - len(line.lstrip(" ")) + line.count("- ") + line.count("? ")
        if opened + opens + indented > DEEP:
            raise _odd("it is nested too deeply")
        opened = max(0, opened + opens - line.count("]") - line.count("}"))


def _refuse_odd(document: yaml.Node) -> None:
    """Raise YAMLError for content that the rest of the project cannot handle.

    Examples are a file that aliases (*) make endless, a date, and a key that is a number: it is a text without its
    quotes.
    """
    waiting, looked_at = [(document, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        looked_at += 1
        if depth > DEEPEST:
            raise _odd("it is nested too deeply", node)
        if looked_at > MOST:
            raise _odd(f"it has more than {MOST} parts, each alias counted as what it stands for", node)
        kind = node.tag.removeprefix(STANDARD)
        if kind not in KINDS[type(node)]:
            told = "a date: put it into quotes" if kind == "timestamp" else "not read here"
            raise _odd(f"what has the tag {node.tag} is {told}", node)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.tag != f"{STANDARD}str":
                    what = repr(key.value) if isinstance(key, yaml.ScalarNode) else "with parts of its own"
                    raise _odd(f"the key {what} is no text: put it into quotes", key)
                waiting.append((value, depth + 1))
        elif isinstance(node, yaml.SequenceNode):
            waiting += [(each, depth + 1) for each in node.value]


def _odd(problem: str, node: yaml.Node | None = None) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark if node else None)


def keys_of(path: Path) -> dict:
    """Return the keys and values of a YAML file of any schema.

    Raise PlimsollError if it is missing, is not YAML, or holds no keys.
    """
    document, _ = read(path)
    if not isinstance(document, dict):
        raise PlimsollError(f"{short(path)}: it is not {TYPES['object']}.")
    return document


def check(document: object, schema: str, source: str, text: str | None = None, below: tuple = ()) -> None:
    """Raise PlimsollError if a document does not fit a schema.

    The message names `source`, the key and, if the document's `text` is given, the line. The keys `below` lead to what
    `source` names, so they are left out.
    """
    errors = sorted(_validator(schema).iter_errors(document), key=_depth)
    if not errors:
        return
    error = errors[0]
    keys = list(error.absolute_path)
    # An unknown key is where it stands, and not where the mapping begins that should not have it.
    place = [*keys, *_unknown(error)[:1]]
    where = source if text is None else f"{source}, line {_line(yaml.compose(text, Loader=_Loader), place)}"
    keys = keys[len(below) :] if tuple(keys[: len(below)]) == below else keys
    key = ".".join(part if isinstance(part, str) and part.isprintable() else quote(part) for part in keys)
    raise PlimsollError(f"{where}: {f'{key}: ' if key else ''}{_short_of(_sentence(error))}.")


@cache
def _validator(schema: str):
    """Return the validator of config/schemas/<schema>.yaml, which is stricter than JSON Schema.

    5.0 is no whole number. Infinity and NaN are no numbers. A text with a pattern has no line break.
    """
    import jsonschema  # here, because it is slow to import and measuring does not need it

    usual = jsonschema.Draft202012Validator

    def pattern(validator, wanted, instance, rules):
        if validator.is_type(instance, "string") and not ("\n" not in instance and re.search(wanted, instance)):
            yield jsonschema.ValidationError(f"{instance!r} does not match {wanted!r}")

    types = usual.TYPE_CHECKER.redefine_many(
        {
            "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
            "number": lambda _, value: (
                isinstance(value, int | float) and not isinstance(value, bool) and -math.inf < value < math.inf
            ),
        }
    )
    strict = jsonschema.validators.extend(usual, {"pattern": pattern}, type_checker=types)
    return strict(yaml.load((SCHEMAS / f"{schema}.yaml").read_text(), Loader=_Loader))


class _Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):
    """Safe loader that refuses a key that is given twice. YAML itself would let the second one win."""


def _mapping(loader: yaml.Loader, node: yaml.MappingNode) -> dict:
    seen = set()
    for key, _ in node.value:
        if key.value in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} is given twice", key.start_mark)
        seen.add(key.value)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def lines_of(text: str, key: str) -> list[int]:
    """Return the line of each item of the list that a document, which has been read, has under a key."""
    root = yaml.compose(text, Loader=_Loader)
    (items,) = (value for name, value in root.value if name.value == key)
    return [item.start_mark.line + 1 for item in items.value]


def places(source: str, text: str) -> Callable[..., str]:
    """Return a function from the keys of a document, which has been read, to the place of their value: source and line.

    Keys that are not there have the place of the nearest mapping above them.
    """
    root = yaml.compose(text, Loader=_Loader)
    return lambda *keys: f"{source}, line {_line(root, list(keys))}"


def short(path: Path) -> str:
    """Return a path for people: relative to the project's folder, if it is in it."""
    return str(path.relative_to(paths.PROJECT)) if path.is_relative_to(paths.PROJECT) else str(path)


def _depth(error) -> tuple:
    # An unknown key comes before a missing one: it is mostly the same key, mistyped.
    return (-len(error.absolute_path), error.validator != "additionalProperties", str(error.message))


def _unknown(error) -> list[str]:
    """Return the keys that a mapping should not have, in order; none if that is not the error."""
    if error.validator != "additionalProperties":
        return []
    return sorted(set(error.instance) - set(error.schema.get("properties", {})))


def _sentence(error) -> str:
    if error.validator == "additionalProperties":
        known = ", ".join(sorted(error.schema.get("properties", {})))
        unknown = [f"{key!r}{spelling.hint(key, error.schema.get('properties', {}))}" for key in _unknown(error)]
        return f"unknown key {', '.join(unknown)}; known keys are {known}"
    if error.validator == "type":
        wanted = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
        return f"{error.instance!r} is not {' or '.join(TYPES[name] for name in wanted)}"
    if error.validator == "enum":
        return f"{error.instance!r} is not one of {', '.join(map(str, error.validator_value))}"
    return error.message.rstrip(".")


def _short_of(sentence: str) -> str:
    """Return a sentence for a terminal. A long one shows a whole document, so only its beginning is returned."""
    return sentence if len(sentence) <= LONGEST else f"{sentence[:LONGEST]}…"


def _line(node: yaml.Node | None, keys: list) -> int:
    """Return the line of the deepest node on a path of keys and indexes; 1 for an empty document."""
    if node is None:
        return 1
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

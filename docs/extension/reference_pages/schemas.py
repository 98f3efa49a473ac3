"""Pages of the configuration, from the schemas that check it, the defaults, and `docs/reference/meanings.yaml`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from reference_pages.markdown import code, page, table


class Document(NamedTuple):
    """A kind of document: its schema's file, where in the schema it stands, an example with defaults, and its page's title.

    `words` names the part of the meanings that explains words for levels.
    """

    schema: str
    title: str
    below: str = ""
    defaults: str = ""
    words: str = ""


DOCUMENTS = {
    "configuration": Document("config", "Configuration: config.yaml", defaults="config/config.yaml"),
    "profile": Document("profile", "Profiles: config/profiles", defaults="config/profiles/quick.yaml"),
    "study": Document("study", "Studies: config/studies"),
    "answer": Document("study", "The answer of a study", "$defs/answer"),
    "claim": Document("claims", "Claims: config/claims", "properties/claims/items", words="level"),
    "table": Document("designs/table", "A table that is judged: plimsoll judge"),
    "program": Document("designs/program", "Your own program: plimsoll try", "properties/program"),
}
BOUNDS = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "more than", "exclusiveMaximum": "less than"}


class Key(NamedTuple):
    """A key of a document: its path, its schema, and whether the document must have it."""

    path: str
    schema: dict
    required: bool

    @property
    def is_group(self) -> bool:
        """Whether it only holds other keys."""
        return "properties" in self.schema


def pages(project: Path) -> dict[str, str]:
    """Return one page of Markdown per kind of document, by name. KeyError, with its path, for a key without a meaning."""
    meanings = yaml.safe_load((project / "docs/reference/meanings.yaml").read_text())
    return {
        name: _page(project, document, meanings[name], meanings.get(document.words, {})) for name, document in DOCUMENTS.items()
    }


def _page(project: Path, document: Document, meanings: dict[str, str], words: dict[str, str]) -> str:
    """Return the page of a kind of document. KeyError for a key without a meaning, and for a meaning without a key."""
    schema_file = f"config/schemas/{document.schema}.yaml"
    schema = yaml.safe_load((project / schema_file).read_text())
    defaults = yaml.safe_load((project / document.defaults).read_text()) if document.defaults else {}
    found = list(keys(_at(document.below, schema), schema))
    if stale := meanings.keys() - {key.path for key in found}:
        raise KeyError(f"{schema_file} has no key {', '.join(sorted(stale))}, and docs/reference/meanings.yaml explains it")
    head = ["key", "type", *(["default"] if defaults else []), "meaning"]
    rows = [
        [
            code(key.path) + ("" if defaults or not key.required else " (required)"),
            described(key.schema, schema),
            *([code(_default(defaults, key.path))] if defaults else []),
            meanings[key.path],
        ]
        for key in explained(found, meanings)
    ]
    origin = f"`{schema_file}` checks these documents." + (f" Defaults are those of `{document.defaults}`." if defaults else "")
    levels = ["## Words for levels", table(["factor", "words"], ([code(name), text] for name, text in words.items()))]
    return page(document.title, origin, table(head, rows), *(levels if words else []))


def explained(found: Iterable[Key], meanings: dict[str, str]) -> list[Key]:
    """Return the keys that have a meaning of their own. KeyError for a key that neither has one nor is below one that has."""
    listed = []
    for key in found:
        if key.path in meanings:
            listed.append(key)
        elif not key.is_group and not any(f"{key.path}.".startswith(f"{path}.") for path in meanings):
            raise KeyError(f"{key.path} has no meaning in docs/reference/meanings.yaml")
    return listed


def keys(schema: dict, root: dict) -> Iterator[Key]:
    """Yield the keys of the documents that a schema describes, mappings before their own keys. `root` has its definitions.

    Lists of mappings have the keys of their entries. Mappings with keys that the user names end there.
    """
    yield from _keys(schema, root, "")


def _keys(schema: dict, root: dict, above: str) -> Iterator[Key]:
    for name, below in schema.get("properties", {}).items():
        path, resolved = f"{above}{name}", _resolved(below, root)
        yield Key(path, resolved, name in schema.get("required", ()))
        inner = _resolved(resolved.get("items", resolved), root)
        yield from _keys(inner, root, f"{path}.")


def _resolved(schema: dict, root: dict) -> dict:
    if "$ref" not in schema:
        return schema
    found = _at(schema["$ref"].removeprefix("#/"), root)
    return found | {key: value for key, value in schema.items() if key != "$ref"}


def _at(path: str, root: dict) -> dict:
    for part in filter(None, path.split("/")):
        root = root[part]
    return root


def described(schema: dict, root: dict) -> str:
    """Return a value's type with its bounds, in words."""
    schema = _resolved(schema, root)
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return ", ".join(code(value) for value in schema["enum"])
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return " or ".join(described(one, root) for one in schema[choice])
    kinds = schema.get("type", "object")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    words = " or ".join({"object": "mapping", "array": "list", "null": "`null`"}.get(kind, kind) for kind in kinds)
    if kinds == ["array"] and "items" in schema and "properties" not in _resolved(schema["items"], root):
        words = f"list of {described(schema['items'], root)}"
    bounds = [f"{word} {schema[bound]:g}" for bound, word in BOUNDS.items() if isinstance(schema.get(bound), (int, float))]
    return ", ".join([words, *bounds])


def _default(defaults: dict, path: str) -> str:
    value = defaults
    for part in path.split("."):
        if not isinstance(value, dict) or part not in value:
            return ""
        value = value[part]
    return "" if isinstance(value, (dict, list)) else yaml.safe_dump(value).splitlines()[0]

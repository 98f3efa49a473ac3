"""Digest of the code that a stage uses. What is computed is made again if its code changes (docs/explanation/architecture.md).

Nothing is imported, because that takes seconds. Names are followed in the sources from one definition to the next. So a
stage depends on the functions that it may call, and not on whole files. Comments and docstrings do not count.
"""

import ast
import hashlib
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from plimsoll import paths
from plimsoll.remembered import remembered

PACKAGE = "plimsoll"
SCRIPTS = paths.PROJECT / "scripts"
# The parts of a design. Each is a module of its folder, with a class of the same name (plimsoll.design).
PARTS = {"factors", "check", "cells", "attempts", "readings", "contrasts", "tables", "figures", "report"}
# Stands for the statements of a module that define no name. They run whenever the module is imported.
REST = ""
# Functions that use nothing of their arguments: `refer` only compares values, and `Part` has the base class of a part, which
# is used with the part.
UNUSED = ("refer", "Part")
# A call of it names a function of the folder: `Kind("run_tables.means")` (plimsoll.analysis.tables).
KIND = "Kind"
# Files that are used by their names: templates, and what these include.
FILE = re.compile(r"[\w./-]+\.(?:j2|css)")
# Module of the stages. A statement that names it runs only if its module is the command.
COMMAND = "__main__"


class Use(NamedTuple):
    """What an import names: a module and a `name` that it defines. Without a name, it is the whole module.

    A file is named by its path.
    """

    module: str
    name: str | None = None


class Module(NamedTuple):
    """A source file: the statements that define each name, and what each imported name stands for."""

    defined: dict[str, list[ast.stmt]]
    imported: dict[str, Use]
    is_package: bool


class Definition(NamedTuple):
    """A definition's content as `text`, the definitions that it uses, and the parts of a design with the members of each."""

    text: str
    uses: frozenset[Use] = frozenset()
    parts: frozenset[Use] = frozenset()


@cache
def digest(stage: str, designs: tuple[str, ...] = (), files: tuple[Path, ...] = ()) -> str:
    """Return a digest of the code that a stage uses with these designs.

    `stage` names a function of plimsoll.__main__, or of another module (`features.hosts.stages._compare_hosts`).
    `files` are the sources that it runs besides: a chart, or a notebook. Raise LookupError if there is no such function.
    """
    words = ["code", stage, *designs, *(path.name for path in files)]
    inputs = [_whole(), repr(words).encode(), *(path.read_bytes() for path in files)]
    return remembered(re.sub(r"\W+", "-", "-".join(words)), inputs, lambda: _digest(stage, designs, files))


def _digest(stage: str, designs: tuple[str, ...], files: tuple[Path, ...]) -> str:
    texts = (_definition(one).text for one in sorted(_followed(stage, designs, files)))
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


@cache
def _whole() -> bytes:
    """Return a digest of all files of the package, by name and content, and of the version of Python."""
    files = (path for path in sorted((SCRIPTS / PACKAGE).rglob("*.*")) if path.suffix != ".pyc" and path.is_file())
    known = hashlib.sha256(sys.version.encode())
    for path in files:
        known.update(f"{path.relative_to(SCRIPTS)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return known.digest()


def sources(stage: str, designs: tuple[str, ...] = (), files: tuple[Path, ...] = ()) -> set[Path]:
    """Return the files from which `digest` takes something."""
    return {_file(one.module) for one in _followed(stage, designs, files)}


def _followed(stage: str, designs: tuple[str, ...], files: tuple[Path, ...]) -> set[Use]:
    """Return every definition that may be used."""
    place, _, function = stage.rpartition(".")
    first = Use(f"{PACKAGE}.{place or COMMAND}", function)
    if first not in _resolved(first):
        raise LookupError(f"There is no stage {stage}.")
    found: set[Use] = set()
    waiting = _resolved(first).union(*(_resolved(Use(_name(path))) for path in files))
    while waiting:
        found |= waiting
        read = [_definition(one) for one in waiting]
        parts = {(design, part) for one in read for part in one.parts for design in designs}
        of_designs = [Use(f"{PACKAGE}.designs.{design}.{part.module}", part.name) for design, part in parts]
        bases = [Use(f"{PACKAGE}.design", part.module.capitalize()) for _, part in parts]
        waiting = set().union(*(one.uses for one in read), *map(_resolved, of_designs + bases)) - found
    return found


@cache
def _resolved(use: Use) -> frozenset[Use]:
    """Return the definitions that a use refers to; an empty set if it is outside the project."""
    module = _module(use.module)
    if module is None:
        return frozenset()
    own = {Use(use.module, REST)}
    if use.name is None:
        own |= {Use(use.module, name) for name in module.defined}
        # A package that is handed to a function is searched (plimsoll.registry).
        others = [Use(_name(path)) for path in sorted(_file(use.module).parent.glob("*.py"))] if module.is_package else []
        return own.union(*(_resolved(other) for other in others if other.module != f"{use.module}.__init__"))
    if use.name in module.defined:
        return frozenset({*own, use})
    return own | _resolved(module.imported.get(use.name) or Use(f"{use.module}.{use.name}"))


@cache
def _definition(one: Use) -> Definition:
    """Return the content of a definition, and what it uses."""
    if FILE.fullmatch(one.module):
        text = _file(one.module).read_text()
        return Definition(text, frozenset().union(*(_resolved(Use(name)) for name in FILE.findall(text))))
    module, reader = _module(one.module), Reader()
    for statement in module.defined.get(one.name, ()):
        reader.read(statement, frozenset())
    known = {**module.imported, **{name: Use(one.module, name) for name in module.defined}, **reader.imported}
    folder = one.module.rpartition(".")[0]
    uses = {*map(Use, reader.files), *(Use(*f"{folder}.{place}".rsplit(".", 1)) for place in reader.functions)}
    own = one.name.partition(".")[0]
    for name, attribute in reader.names:
        if use := known.get(name):
            uses.add(Use(use.module, use.name or attribute))
        elif name == "self" and f"{own}.{attribute}" in module.defined:
            uses.add(Use(one.module, f"{own}.{attribute}"))
    return Definition(
        f"{Path(one.module).name}:{one.name} {' '.join(reader.text)}\n",
        frozenset().union(*map(_resolved, uses)),
        frozenset(reader.parts),
    )


class Reader:
    """What statements contain: their `text` without comments and docstrings, and what they name.

    `names` has each name with the attribute that is taken from it, if one is. `imported` has the imports inside functions.
    `functions` has those that are named as `module.function`.
    """

    def __init__(self):
        self.text: list[str] = []
        self.names: set[tuple[str, str | None]] = set()
        self.imported: dict[str, Use] = {}
        self.parts: set[Use] = set()
        self.files: set[str] = set()
        self.functions: set[str] = set()

    def read(self, node: ast.AST, hidden: frozenset[str]) -> None:
        """Add a node and all below it. Parameters hide what is imported by the names in `hidden`."""
        kind = type(node)
        if kind is ast.Expr and type(node.value) is ast.Constant:
            return
        self.text.append(kind.__name__)
        if kind is ast.Attribute:
            self.attribute(node, hidden)
            return
        if kind is ast.Name:
            self.name(node.id, None, hidden)
            return
        if kind is ast.Constant:
            self.constant(node)
            return
        if kind is ast.Call and isinstance(node.func, ast.Name):
            if node.func.id in UNUSED:
                self.name(node.func.id, None, hidden)
                return
            if node.func.id == KIND and type(node.args[0]) is ast.Constant:
                self.functions.add(node.args[0].value)
        if kind is ast.FunctionDef or kind is ast.Lambda:
            hidden = hidden.union(one.arg for one in ast.walk(node.args) if type(one) is ast.arg)
        elif kind is ast.Import or kind is ast.ImportFrom:
            self.imported |= _imports(node)
        self.fields(node, hidden)

    def fields(self, node: ast.AST, hidden: frozenset[str]) -> None:
        """Add what is below a node."""
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                self.read(value, hidden)
            elif isinstance(value, list):
                self.text.append("[")
                for one in value:
                    self.read(one, hidden) if isinstance(one, ast.AST) else self.text.append(repr(one))
                self.text.append("]")
            elif value is not None:
                self.text.append(repr(value))

    def name(self, name: str, attribute: str | None, hidden: frozenset[str]) -> None:
        """Add a name, and the attribute that is taken from it."""
        self.text.append(name)
        if name not in hidden or name == "self":
            self.names.add((name, attribute))

    def constant(self, node: ast.Constant) -> None:
        """Add a constant. The name of a template is one, too."""
        self.text.append(repr(node.value))
        if isinstance(node.value, str) and FILE.fullmatch(node.value):
            self.files.add(node.value)

    def attribute(self, node: ast.Attribute, hidden: frozenset[str]) -> None:
        """Add `module.name`, `design.part`, `design.part.member`, or another attribute."""
        self.text.append(node.attr)
        if _is_part(node):
            self.parts.add(Use(node.attr))
        elif _is_part(node.value):
            self.text.append(node.value.attr)
            self.parts.add(Use(node.value.attr, f"{node.value.attr.capitalize()}.{node.attr}"))
            node = node.value
        if isinstance(node.value, ast.Name):
            self.name(node.value.id, node.attr, hidden)
        else:
            self.read(node.value, hidden)


def _is_part(node: ast.AST) -> bool:
    """Whether an expression is a part of a design, such as `study.design.cells`."""
    if not isinstance(node, ast.Attribute) or node.attr not in PARTS:
        return False
    return "design" in (getattr(node.value, "id", ""), getattr(node.value, "attr", ""))


@cache
def _module(name: str) -> Module | None:
    """Return a module by its name, or a file by its path; None if the project has none."""
    path = _file(name)
    if path is None or path.suffix not in (".py", ".ipynb"):
        return path and Module({}, {}, False)
    defined: dict[str, list[ast.stmt]] = {REST: []}
    imported: dict[str, Use] = {}
    statements = ast.parse(_code(path)).body
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            imported |= _imports(statement)
        elif not (isinstance(statement, ast.If) and COMMAND in ast.dump(statement.test)):
            for key in _defines(statement) or [REST]:
                defined.setdefault(key, []).append(statement)
            if path.stem in PARTS and isinstance(statement, ast.ClassDef) and statement.name == path.stem.capitalize():
                defined |= _members(statement)
    return Module(defined, imported, path.name == "__init__.py")


def _code(path: Path) -> str:
    """Return the source of a module, or the code of a notebook."""
    text = path.read_text()
    if path.suffix == ".py":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")


def _defines(statement: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return [node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name)]


def _members(part: ast.ClassDef) -> dict[str, list[ast.stmt]]:
    """Return the statements that define each member of a part of a design, by `Class.member`."""
    return {f"{part.name}.{name}": [statement] for statement in part.body for name in _defines(statement)}


def _imports(node: ast.Import | ast.ImportFrom) -> dict[str, Use]:
    """Return what the names stand for that a statement imports from the project."""
    if isinstance(node, ast.Import):
        return {alias.asname: Use(alias.name) for alias in node.names if alias.asname and alias.name.startswith(PACKAGE)}
    if (node.module or "").split(".")[0] != PACKAGE:
        return {}
    modules = {alias: Use(f"{node.module}.{alias.name}") for alias in node.names}
    return {
        alias.asname or alias.name: whole if _file(whole.module) else Use(node.module, alias.name)
        for alias, whole in modules.items()
    }


@cache
def _file(name: str) -> Path | None:
    """Return the file of a module, of a template, or of a path; None if the project has none."""
    if name.startswith("/"):
        return Path(name)
    if FILE.fullmatch(name):
        return next((path for path in _templates() if str(path).endswith(f"/{name}")), None)
    place = SCRIPTS / name.replace(".", "/")
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


@cache
def _templates() -> list[Path]:
    return sorted(path for path in (SCRIPTS / PACKAGE).rglob("*.*") if FILE.fullmatch(path.name))


def _name(path: Path) -> str:
    """Return the name of a module's file in imports. A file outside the package is named by its path."""
    inside = path.is_relative_to(SCRIPTS)
    return ".".join(path.relative_to(SCRIPTS).with_suffix("").parts) if inside else str(path)

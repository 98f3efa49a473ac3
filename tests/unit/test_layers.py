"""Imports of the package go one way: down its layers, never between designs, and never in a circle."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import PROJECT

PACKAGE = PROJECT / "scripts/plimsoll"
# From the lowest layer to the highest. A room (a package or module of plimsoll) imports from layers earlier in this
# list. Rooms of one layer do not import each other.
LAYERS = (
    ("errors", "interchange", "paths", "spelling", "target_paths"),
    ("remembered",),
    ("registry", "features", "documents", "code"),
    ("design",),
    ("config", "host"),
    ("workloads", "measuring"),
    ("runtimes",),
    ("images", "mpi", "services"),
    ("instruments",),
    ("planning",),
    ("analysis",),
    ("claims",),
    ("result_sets",),
    ("figures",),
    ("pages",),
    ("terminal",),
    ("designs",),
    ("verdicts",),
    ("workflow", "rounds", "clean_up", "run_repair"),
    ("measure",),
    ("probing",),
    ("tasks",),
    ("__main__", "cli"),
    ("a feature",),
)
# The list of features is a room of its own: everything reaches features only through it.
LAYER = {room: number for number, rooms in enumerate(LAYERS) for room in rooms}
# Imports that break the rule and still have to be removed. This set must stay empty.
EXCEPTIONS: set[tuple[str, str]] = set()


def modules(package: Path) -> dict[str, Path]:
    """Return the file of every module by its name without `plimsoll.`. A package has the file of its __init__."""
    found = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        if name != "__init__":
            found[name] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules of the package that a file imports, at its top or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "plimsoll":
            base = node.module.removeprefix("plimsoll").lstrip(".")
            for alias in node.names:
                whole = f"{base}.{alias.name}".lstrip(".")
                found.add(whole if whole in known else base)
        elif isinstance(node, ast.Import):
            names = (alias.name.removeprefix("plimsoll.") for alias in node.names if alias.name.startswith("plimsoll."))
            found.update(names)
    return found


def room_of(name: str) -> str:
    """Return the room of a module. All folders of features are one room, and their list is another."""
    return "a feature" if name.startswith("features.") else name.split(".")[0]


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    known = modules(PACKAGE)
    # A package's __init__ imports its own members, so its own name does not count.
    return {name: imports(path, known) - {name} for name, path in known.items()}


def test_every_room_has_a_layer(graph):
    assert {room_of(name) for name in graph} <= set(LAYER)
    assert set(LAYER) <= {room_of(name) for name in graph}


def test_the_page_of_the_architecture_has_the_rooms_in_their_order():
    page = (PROJECT / "docs/explanation/architecture.md").read_text()
    section = page.split("\n## The package\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    rows = [[name.partition("/")[0] for name in re.findall(r"`([^`]*)`", cell)] for cell in cells]
    assert rows[0] == ["features"]
    rooms = [name for row in rows[1:] for name in row]
    assert {*rooms} == set(LAYER) - {"a feature"}
    assert [LAYER[name] for name in rooms] == sorted((LAYER[name] for name in rooms), reverse=True)


def test_imports_run_down(graph):
    up = {
        (name, other)
        for name, others in graph.items()
        for other in others
        if (room := room_of(other)) != room_of(name) and LAYER[room] >= LAYER[room_of(name)]
    }
    assert up - EXCEPTIONS == set()


@pytest.mark.parametrize("folder", ["designs", "features"])
def test_no_member_imports_another(graph, folder):
    sideways = {
        (name, other)
        for name, others in graph.items()
        for other in others
        if name.startswith(f"{folder}.") and other.startswith(f"{folder}.") and name.split(".")[1] != other.split(".")[1]
    }
    assert sideways == set()


def test_there_is_no_circle(graph):
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as circle:
        pytest.fail(f"a circle: {' -> '.join(circle.args[1])}")


def test_the_exceptions_are_needed(graph):
    assert {(name, other) for name, other in EXCEPTIONS if other not in graph[name]} == set()


def test_what_is_refused_is_seen(tmp_path):
    """This checks the test itself: it finds an import upwards, at the top of a file or inside a function."""
    (tmp_path / "host").mkdir()
    (tmp_path / "host/__init__.py").write_text("")
    (tmp_path / "host/odd.py").write_text("def f():\n    from plimsoll import designs\n    import plimsoll.pages.report\n")
    known = {**modules(tmp_path), "designs": tmp_path, "pages.report": tmp_path}
    assert imports(known["host.odd"], known) == {"designs", "pages.report"}


# A longer module has several subjects, and a longer function several steps, each of which can have a name.
MODULE_LINES, FUNCTION_LINES = 400, 50


def test_modules_and_functions_are_short():
    for name, path in modules(PACKAGE).items():
        text = path.read_text()
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        assert len(text.splitlines()) < MODULE_LINES, name
        long = {one.name for one in functions if statements_lines(one) >= FUNCTION_LINES}
        assert not long, (name, long)


def statements_lines(function: ast.FunctionDef) -> int:
    """Return the lines of a function without its parameters and docstring, of which a command has one for each option."""
    statements = function.body[bool(ast.get_docstring(function)) :]
    return function.end_lineno - statements[0].lineno + 1 if statements else 0

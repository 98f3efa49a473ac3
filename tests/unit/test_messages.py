"""Messages: a command, a target of make or a page of docs that a message names exists."""

import ast
import re
import subprocess
from collections.abc import Iterator

import pytest
from plimsoll import spelling
from plimsoll.cli import groups

from tests.conftest import PROJECT

# What a message may name, each with what it is called in a text. A command stands at the beginning of a code, after ./,
# or after "sudo", so that the project's name in a sentence is not mistaken for one.
NAMED = {
    "command": re.compile(r"(?:`(?:sudo )?|\./)plimsoll ([a-z][a-z-]*)"),
    "target": re.compile(r"`make ([a-z][a-z-]*)"),
    "page": re.compile(r"\b(docs/[\w/-]+\.md)\b"),
}
PROGRAMS = ("*.py", "*.sh", "*.smk", "*.html.j2", "Snakefile", "plimsoll")


def texts(name: str, source: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file with their lines: the string literals of a Python program, all lines of another file."""
    if not name.endswith(".py"):
        yield from enumerate(source.splitlines(), 1)
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(value.value if isinstance(value, ast.Constant) else "X" for value in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "spelling.command":
            yield from ((node.lineno, f"`plimsoll {part.value}`") for part in node.args[:1] if isinstance(part, ast.Constant))


def known() -> dict[str, set[str]]:
    """Return what exists, by kind: commands of the user, targets of make, pages."""
    targets = set(re.findall(r"^takes\.([a-z-]+) =", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    pages = {str(path.relative_to(PROJECT)) for path in (PROJECT / "docs").rglob("*.md")}
    return {"command": set(groups.names()), "target": targets, "page": pages}


def missing(name: str, source: str) -> list[str]:
    """Return what a file's messages name and does not exist, each with its place."""
    there = known()
    # A part of a formatted text is a text of its own too.
    problems = [
        f"{name}:{line}: no {kind} {found}"
        for line, text in texts(name, source)
        for kind, pattern in NAMED.items()
        for found in pattern.findall(text)
        if found not in there[kind]
    ]
    return list(dict.fromkeys(problems))


def test_what_messages_name_exists():
    listed = ["git", "ls-files", "--", *(f":(glob){folder}**/{one}" for folder in ("", "scripts/") for one in PROGRAMS)]
    names = subprocess.run(listed, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.splitlines()
    names = [name for name in names if not name.startswith("tests/") and (PROJECT / name).is_file()]
    assert len(names) > 300
    found = [problem for name in names for problem in missing(name, (PROJECT / name).read_text())]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", 'raise E(f"{path} is old: `plimsoll remakee {path}` makes it again.")'),
        ("a.py", 'print("Type: sudo ./plimsoll doctr")'),
        ("a.py", "raise E(f\"No results: {spelling.command('measuree')}.\")"),
        ("a.py", 'raise E("See docs/adding.md.")'),
        ("a.sh", 'die "not installed: run `make set-up` first"'),
    ],
)
def test_the_check_finds_what_does_not_exist(name, source):
    assert len(missing(name, source)) == 1


def test_the_check_knows_a_command_as_a_message_writes_it():
    assert missing("a.py", f"print('{spelling.command('reproduce', 'liu2020')} measures it. Plimsoll is a workflow.')") == []

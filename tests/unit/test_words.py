"""Words: no sentence that is read twice. Docstrings, comments, messages and docs are short, and have none of some phrases."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import pytest

from tests.conftest import PROJECT

# Sentences of more words than this are refused.
LONGEST = 30
# Phrases that make a reader look back, each with what to write in its place.
PHRASES = {
    r"(?:^|[.:;!?] )(?:Those|That|These|What|Which) of\b": "begin with the noun that is meant",
    r"(?:^|[.] )Of (?:the|a|an|each|those|these|them|several|all|what)\b": "begin with the subject",
    r"\b[wW]hat of\b|\bwhich of what\b|\bof what (?:is|was|it)\b": "name what is meant",
    r"\b[bB]ut for\b|\b[uU]nless it is\b": "first the rule; then the exception, in a sentence of its own",
    r"(?<!there )\b(?:is|are|was|were) none\b": "say that there is no such thing",
    r"\b(?:[sS]ome|[nN]o|[aA]ny)body\b|\b[wW]hoever\b": "name who: a user, a process",
    r"\b[aA]new\b": "again",
    r"\b[mM]eanwhile\b": "say when, or since when",
    r"\bby itself\b": "alone; or say who does it",
    r"\b(?:is|are|was|were|be) (?:told(?! apart)|asked)\b|\basked of\b|\bsays itself\b": "say who says what to whom",
    r"\b[mM]end(?:s|ed|ing)?\b": "repair",
    r"\b[lL]eavings\b": "leftovers",
    r"\b[cC]omes? (?:to|about)\b": "is; happens",
    r"\bat work\b": "running",
    r"\bno say\b": "does not decide",
    r"\bby lot\b": "at random",
    r"\b[bB]ears? out\b|\bborne out\b": "supports",
    r"\b[sS]ettle[sd]?\b": "decide",
    r"\bturned round\b": "reversed",
}
# `FOLDER_S` is an identifier with a genitive.
GENITIVE = re.compile(r"[A-Za-z]_[sS](?=_|$)")
# These are rewritten together with what they describe; then the line goes.
NOT_YET = (
    *("scripts/plimsoll/pages/", "scripts/plimsoll/terminal/", "scripts/plimsoll/design.py", "scripts/plimsoll/__main__.py"),
    "scripts/plimsoll/claims/answer.py",
    # Their messages are those of pages/ and terminal/.
    *(
        "tests/unit/test_closing.py",
        "tests/unit/test_many_claims.py",
        "tests/unit/test_live.py",
        "tests/workflow/test_terminal.py",
    ),
)
# So are the designs, except for their charts.
DESIGNS, CHARTS = "scripts/plimsoll/designs/", "/charts/"
# A campaign of faults is drawn from a seed, and these decide what is drawn: they stay as they are, byte for byte.
FIXED = ("tests/faults/scenes.py", "tests/faults/drawing.py", "tests/faults/means.py")
# What others have written, or a program: papers' sentences, outputs, data.
OTHERS = (
    "results/",
    "config/reference/",
    "tests/data/",
    "docs/reports/calibration/",
    "docs/reports/evidence/",
    "requirements",
    "LICENSE",
)
# This file has the phrases.
HERE = "tests/unit/test_words.py"
ENDINGS = (".py", ".smk", ".yaml", ".md", "Snakefile")


class Text(NamedTuple):
    """A paragraph, an item of a list or a message, with the number of its first line."""

    line: int
    words: str


def files() -> list[str]:
    """Return the project's files that have words of ours."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [
        name
        for name in names
        if name.endswith(ENDINGS)
        and not name.startswith((*NOT_YET, *FIXED, *OTHERS, HERE))
        and (CHARTS in name or not name.startswith(DESIGNS))
        and (PROJECT / name).is_file()
    ]


def texts(name: str, source: str) -> Iterator[Text]:
    """Yield the texts of a file: docstrings, comments and messages of a program, comments of YAML, prose of Markdown."""
    if name.endswith(".md"):
        yield from paragraphs(source, 1)
    elif name.endswith(".py"):
        yield from of_python(source)
        yield from of_comments(comments(source))
    else:
        for part in re.finditer(r'"""(.*?)"""', source, re.DOTALL):
            yield from paragraphs(part[1], source.count("\n", 0, part.start()) + 1)
        found = ((number, re.match(r"(.*?)(?:^|\s)(#\s.*)", line)) for number, line in enumerate(source.splitlines(), 1))
        yield from of_comments((number, f" {match[2]}" if match[1].strip() else match[2]) for number, match in found if match)


def of_python(source: str) -> Iterator[Text]:
    """Yield the docstrings of a program, and its string literals that are sentences."""
    docstrings = {id(node.body[0].value) for node in nodes_of(source) if has_docstring(node)}
    inside = {id(value) for node in nodes_of(source) if isinstance(node, ast.JoinedStr) for value in node.values}
    for node in nodes_of(source):
        if id(node) in docstrings:
            yield from paragraphs(node.value, node.lineno)
        elif isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in inside:
            written = "".join(literal(value) for value in getattr(node, "values", [node]))
            if is_sentence(written):
                yield Text(node.lineno, written)


@lru_cache(maxsize=1)
def nodes_of(source: str) -> list[ast.AST]:
    """Return the nodes of a program's syntax tree. They are kept until another program is read."""
    return list(ast.walk(ast.parse(source)))


def has_docstring(node: ast.AST) -> bool:
    documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    return documented and ast.get_docstring(node, clean=False) is not None


def literal(node: ast.AST) -> str:
    """Return the text of a string literal's part. An expression in it counts as one word."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "X"


def is_sentence(text: str) -> bool:
    """Whether a string is for people. A script or a document of several lines is not."""
    is_program = "\n" in text.strip() or text.startswith("import ")
    return not is_program and len(text.split()) > 3 and re.search(r"\b[a-z]+,? [a-z]+\b", text) is not None


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments of a program, each with the number of its line. One beside code begins with a blank."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string if token.line.lstrip().startswith("#") else f" {token.string}"


def of_comments(lines: Iterable[tuple[int, str]]) -> Iterator[Text]:
    """Yield comments. Lines that follow each other are one comment, if there is no code before them."""
    first, expected, words = 0, 0, []
    for number, line in [*lines, (-1, "")]:
        if (number != expected or line.startswith(" ")) and words:
            yield from paragraphs("\n".join(words), first)
            words = []
        first, expected = (first if words else number), 0 if line.startswith(" ") else number + 1
        words.append(line.strip("# "))


def paragraphs(source: str, first: int) -> Iterator[Text]:
    """Yield the paragraphs and the items of lists of a Markdown text, without code and tables.

    A line with blanks between columns is an item too.
    """
    number, block, fenced = first, [], False
    for line, text in enumerate([*source.splitlines(), ""], first):
        item, fence = re.match(r"\s*(?:[-*#]+|\d+\.|\|)\s|.*\S {3}", f"{text} "), text.strip().startswith("```")
        if not text.strip() or item or fence:
            if block:
                yield Text(number, " ".join(block))
            number, block, fenced = line, [], fenced is not fence
        if text.strip() and not fence and not fenced and not text.strip().startswith("|"):
            block.append(text.strip(" #*-"))


def sentences(text: str) -> list[str]:
    """Split a text into sentences. What stands in parentheses or backticks, and a link, counts as one word."""
    short = re.sub(r"\([^()]*\)|`[^`]*`|\[[^]]*\]\([^)]*\)", "X", text)
    return re.split(r"(?<=[.!?])\s+", short)


def troubles(name: str, source: str) -> Iterator[str]:
    """Yield what is wrong with the words of a file, each with its place."""
    for line, words in texts(name, source):
        for sentence in sentences(words):
            if len(sentence.split()) > LONGEST:
                yield f"{name}:{line}: {len(sentence.split())} words: {sentence}"
        for phrase, remedy in PHRASES.items():
            for found in re.finditer(phrase, re.sub("`[^`]*`", "X", words)):
                yield f"{name}:{line}: {found[0]!r} ({remedy}): {words[max(0, found.start() - 40) : found.end() + 40]}"
    if name.endswith(".py"):
        for node in nodes_of(source):
            for one in (getattr(node, key, None) for key in ("name", "id", "arg", "attr")):
                if isinstance(one, str) and "_" in one and GENITIVE.search(one) and not one.startswith("test_"):
                    yield f"{name}:{node.lineno}: {one}: a name with a genitive"


def test_words_are_understood_at_first_reading():
    found = [trouble for name in files() for trouble in troubles(name, (PROJECT / name).read_text())]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", '"""Those of the runs that count."""\n'),
        ("a.py", 'def f():\n    """Return it.\n\n    It comes to nothing.\n    """\n'),
        ("a.py", "x = 1  # Nobody reads this.\n"),
        ("a.py", "# A comment of two lines, in which nothing\n# was settled.\n"),
        ("a.py", 'raise E(f"{name} was made anew in the folder")\n'),
        ("a.py", 'raise E(f"{name} is what " "was asked of the host")\n'),
        ("a.py", "FOLDER_S = 1\n"),
        ("a.py", "def f(paper_s_value):\n    pass\n"),
        ("a.py", f'"""Return {"very " * LONGEST}much."""\n'),
        ("a.yaml", "key: 1  # a value\n# But for this key, all is well.\n"),
        ("a.yaml", "key: 1  # a value of what is there\nother: 2\n"),
        ("a.smk", '"""Rules that mend."""\n'),
        ("a.md", "Text.\n\n- An item that is one\n  of what is there.\n"),
        ("a.md", f"A sentence with {'very ' * LONGEST}many words.\n"),
    ],
)
def test_the_check_finds_such_words(name, source):
    assert len(list(troubles(name, source))) == 1


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", '"""Return the runs.\n\n' + "- an item of four words;\n" * LONGEST + '"""\n'),
        ("a.py", f'SCRIPT = """#!/bin/sh\n{"echo somebody is at work; " * LONGEST}\n"""\n'),
        ("a.py", "if x is None:\n    mended = 'anew'\n"),
        ("a.md", f"```\n{'nobody ' * (LONGEST + 1)}\n```\n"),
        ("a.yaml", "claim: what the paper says comes to nothing\n"),
    ],
)
def test_the_check_leaves_the_rest_alone(name, source):
    assert list(troubles(name, source)) == []

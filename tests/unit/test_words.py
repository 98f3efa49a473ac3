"""Words: no sentence that is read twice. Docstrings, comments, messages, docs and what pages print of YAML are short, and have
none of some phrases."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import pytest
import yaml

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
# What a template has besides sentences, with what stands for it when they are read. \0 parts texts.
MARKUP = (
    (r"\{\{.*?\}\}", "X"),
    (r'\{% call table\("([^"]*)".*?%\}', r"\0\1\0"),
    (r"\{%.*?%\}", " "),
    (r"\{#|#\}", r"\0"),
    (r"</?(?:a|b|i|abbr|br|code|span|strong)\b[^>]*>", ""),
    (r"<[^>]*>", r"\0"),
)
# YAML files whose values pages print: a pattern of their names, and what they print of a document.
PRINTED = {
    r"docs/reference/meanings\.yaml": lambda document: [text for part in document.values() for text in part.values()],
    r"config/studies/.+\.yaml": lambda document: document.get("deviations", []),
}
# This file has the phrases.
HERE = "tests/unit/test_words.py"
ENDINGS = (".py", ".smk", ".yaml", ".md", ".html.j2", "Snakefile")


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
        if name.endswith(ENDINGS) and not name.startswith((*FIXED, *OTHERS, HERE)) and (PROJECT / name).is_file()
    ]


def texts(name: str, source: str) -> Iterator[Text]:
    """Yield the texts of a file: docstrings, comments and messages of a program, comments of YAML, prose of Markdown.

    A template has comments, texts and the captions of its tables.
    """
    if name.endswith(".md"):
        yield from paragraphs(source, 1)
    elif name.endswith(".j2"):
        yield from of_template(source)
    elif name.endswith(".py"):
        yield from of_python(source)
        yield from of_comments(comments(source))
    else:
        for part in re.finditer(r'"""(.*?)"""', source, re.DOTALL):
            yield from paragraphs(part[1], source.count("\n", 0, part.start()) + 1)
        yield from of_values(name, source)
        found = ((number, re.match(r"(.*?)(?:^|\s)(#\s.*)", line)) for number, line in enumerate(source.splitlines(), 1))
        yield from of_comments((number, f" {match[2]}" if match[1].strip() else match[2]) for number, match in found if match)


def of_values(name: str, source: str) -> Iterator[Text]:
    """Yield the values of a YAML file that pages print, each with the number of the line in which it begins."""
    for pattern, printed in PRINTED.items():
        for text in printed(yaml.load(source, yaml.CSafeLoader)) if re.fullmatch(pattern, name) else ():
            begin = source.find(" ".join(text.split()[:3]))
            yield Text(source.count("\n", 0, begin) + 1, text)


def of_template(source: str) -> Iterator[Text]:
    """Yield the texts of a template, each with the number of the line in which the one before it ended."""
    for pattern, replacement in MARKUP:
        source = re.sub(pattern, replacement, source)
    line = 1
    for part in source.split("\0"):
        if part.strip():
            yield Text(line, " ".join(part.split()))
        line += part.count("\n")


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
        ("docs/reference/meanings.yaml", "study:\n  id: >-\n    what is asked\n    of it\n"),
        ("config/studies/a.yaml", f"deviations:\n  - A sentence with {'very ' * LONGEST}many words.\n"),
        ("a.md", "Text.\n\n- An item that is one\n  of what is there.\n"),
        ("a.html.j2", "{# Rules. #}\n<p>Runs {{ of.them }} that are <b>made anew</b>.</p>\n"),
        ("a.html.j2", '{% call table("Those of the runs, one row each") %}<tr></tr>{% endcall %}\n'),
        ("a.html.j2", f"<ul><li>A sentence with {'very ' * LONGEST}many words.</li></ul>\n"),
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
        ("config/studies/a.yaml", "title: what was made anew\n"),
        ("a.html.j2", "<ul>" + f"<li>{'five words of an item ' * 2}</li>" * LONGEST + "</ul>{{ settled }}\n"),
    ],
)
def test_the_check_leaves_the_rest_alone(name, source):
    assert list(troubles(name, source)) == []

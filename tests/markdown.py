"""What the project's Markdown holds: commands, blocks of code, links and paths."""

import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.project import PROJECT

SHELL = ("sh", "bash", "console")
FENCE = re.compile(r"^( *)```([\w{}-]*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"!?\[[^\]\[]*(?:\[[^\]]*\][^\]\[]*)?\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?) *#*$", re.MULTILINE)
PROGRAMS = ("./plimsoll", "plimsoll", "make", "snakemake")
# What separates commands in a line of a shell.
BETWEEN = re.compile(r"[;&|()<>]+")
# Folders whose files a page may name. What a workflow makes in results/ and hosts/ is not among them.
FOLDERS = "scripts|config|docs|tests|rules|containers|notebooks|profiles|envs|results/reference"
PATH = re.compile(rf"(?:{FOLDERS})/[\w./*-]+")
# Folders that `make docs` makes, and what else is made on a machine.
BUILT = tuple(re.findall(r"^/(docs/.*?)/?$", (PROJECT / ".gitignore").read_text(), re.MULTILINE))
MADE = ("config/local.yaml", *BUILT)


class Block(NamedTuple):
    """A fenced block of code: its language and its text."""

    language: str
    text: str


class Command(NamedTuple):
    """A command that a page shows, as words. `inline` says that it stands in a sentence and may lack its arguments.

    The first word of `python -m MODULE` is `python`, and the next is the module.
    """

    page: Path
    words: tuple[str, ...]
    inline: bool

    def __str__(self) -> str:
        return f"{self.page.relative_to(PROJECT)}: {shlex.join(self.words)}"


@functools.cache
def pages() -> tuple[Path, ...]:
    """Return the Markdown files of the project, without those that are generated."""
    found = [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md"), *(PROJECT / "scripts").rglob("*.md")]
    found += [PROJECT / "config/README.md", PROJECT / "results/README.md", *(PROJECT / ".github").rglob("*.md")]
    made = [PROJECT / path for path in MADE]
    return tuple(sorted(path for path in found if not any(path.is_relative_to(one) for one in made)))


@functools.cache
def text_of(page: Path) -> str:
    """Return a page's text."""
    return page.read_text()


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    return [Block(match[2], match[3]) for match in FENCE.finditer(text_of(page))]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return FENCE.sub("", text_of(page))


def inline(page: Path) -> list[str]:
    """Return what stands in backticks in a page's prose."""
    return [match[1] for match in INLINE.finditer(prose(page))]


def links(page: Path) -> list[str]:
    """Return the targets of a page's links and pictures."""
    return LINK.findall(INLINE.sub("", prose(page)))


def paths(page: Path) -> list[str]:
    """Return the words in backticks that look like files of the project."""
    return [text for text in inline(page) if PATH.fullmatch(text) and not text.startswith(MADE)]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    return {slug(title) for title in HEADING.findall(prose(page))}


def slug(title: str) -> str:
    """Return the anchor of a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def commands(page: Path) -> Iterator[Command]:
    """Yield the commands of a page: those of its shell blocks, indented lines, and backticks.

    Raise ValueError for a line of a shell with a quote that does not end.
    """
    for block in blocks(page):
        if block.language in SHELL:
            for line in block.text.replace("\\\n", " ").splitlines():
                yield from (Command(page, words, False) for words in _commands(line))
    for line in re.findall(r"^    ( *\S.*)$", prose(page), re.MULTILINE):
        if line.startswith(PROGRAMS):
            yield from (Command(page, words, False) for words in _commands(line))
    for text in inline(page):
        if text.startswith(tuple(f"{name} " for name in (*PROGRAMS, ".venv/bin/python", "python"))):
            yield from (Command(page, words, True) for words in _commands(text))


def other_lines(page: Path) -> Iterator[str]:
    """Yield the lines of a page's shell blocks that call no program of the project, without comments."""
    for block in blocks(page):
        for line in block.text.replace("\\\n", " ").splitlines() if block.language in SHELL else ():
            if (words := line.strip()) and not words.startswith("# ") and not any(_commands(line)):
                yield words


def _commands(line: str) -> Iterator[tuple[str, ...]]:
    """Yield the commands in a line of a shell whose programs are the project's."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if not BETWEEN.fullmatch(word):
            words.append(word)
            continue
        if words and words[0] in PROGRAMS:
            yield tuple(words)
        for place in range(len(words) - 1):
            if words[place].endswith("python") and words[place + 1] == "-m":
                yield "python", *words[place + 2 :]
        words = []

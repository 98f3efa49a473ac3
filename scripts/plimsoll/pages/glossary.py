"""Explain the words that a page uses, and link each of them where it is first used. All functions are pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup, escape

# The explanations replace this.
PLACE = '<dl id="glossary"></dl>'
# No word is linked inside these tags: they are links or headings, are looked at as a whole, or are not prose.
SKIPPED = frozenset(
    ("a", "abbr", "button", "code", "dl", "h1", "h2", "h3", "h4", "h5", "label", "pre", "select", "summary", "svg")
)
TAG = re.compile(r"(<[^>]*>)")


@dataclass(frozen=True)
class Term:
    """A word with its explanation. `forms` are the texts on a page that are linked to it; without forms, it is the name.

    A form in lower case also matches with a capital and in the plural.
    """

    name: str
    text: str
    forms: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """Return the anchor of its explanation on the page."""
        return "word-" + re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    @property
    def pattern(self) -> re.Pattern:
        """Return a pattern that matches the term in a text: as a whole word, and at the beginning of a sentence too."""
        forms = map(_any_case, self.forms or (self.name,))
        return re.compile(rf"(?<![\w+-])(?:{'|'.join(forms)})(?![\w+-])")


def _any_case(form: str) -> str:
    """Return a regular expression for a form. One in lower case also matches with a capital and in the plural."""
    return f"[{form[0].upper()}{form[0]}]{re.escape(form[1:])}s?" if form.islower() else re.escape(form)


SHARED = (
    Term("study", "One published experiment, measured again here.", ("study", "studies")),
    Term("claim", "A statement of a paper that can be tested."),
    Term(
        "verdict",
        "Our answer to a claim, from runs on a machine: reproduced, contradicted, conditional, inconclusive or not testable.",
    ),
    Term(
        "reproduced",
        "The runs show what the claim says: a difference is significant and has the claimed direction, or both sides are shown "
        "to be alike.",
    ),
    Term("level", "A value that something which is varied can have: Docker is a level of the runtime."),
    Term("cell", "One combination of levels, and everything that is measured with it. Cells are what is compared."),
    Term(
        "run",
        "One measurement of one cell. It leaves one record, and the raw output of the programs.",
        ("runs of each side", "runs were planned", "every run", "each run", "all runs", "a run", "the runs"),
    ),
    Term(
        "block",
        "One run of every cell, in an order drawn at random. A study has as many blocks as repetitions. What changes slowly on "
        "the machine hits all cells of a block alike.",
        # Not the word alone, as Bonnie++ measures block input.
        ("blocks", "each block", "same block", "a block"),
    ),
    Term(
        "launch",
        "What is started once for several runs: its containers, from the first start to the last removal.",
        ("launches", "a launch", "one launch"),
    ),
    # Not the word alone, as a Hadoop job sorts records.
    Term(
        "record",
        "A file that a run leaves: its cell, command, image, values, noise and times, and where the raw output is.",
        ("record of a run", "records of runs", "its record"),
    ),
    Term("session", "All runs after one start of the container engine. Another session shows what one day cannot."),
    Term(
        "reference measurements",
        "Results of our machine that come with the project, in results/reference. Yours can be compared with them.",
    ),
    Term("interval", "Where the true value lies in 95 of 100 such experiments: [low, high]."),
    Term(
        "p, adjusted p",
        "How probable so large a difference is where there is none. Many comparisons find small p by chance; Holm's method "
        "adjusts for their number.",
        ("adjusted p", "p is adjusted", "p adjusted", "p for the statement"),
    ),
    Term(
        "q",
        "How large a share of a study's decided claims would be wrong if all were decided whose p is as small as this one's "
        "(Benjamini and Hochberg).",
        ("q among",),
    ),
    Term("margin", "The largest difference that still counts as alike."),
    Term(
        "ratio",
        "One geometric mean over another: ×0.5 is half, ×2 is twice. A relative difference says the same: −50 %, and +100 %.",
    ),
    Term(
        "conditional",
        "The paper does not say how something was arranged that decides the claim. It is reproduced one way, and contradicted "
        "another way.",
    ),
    Term("runtime", "What starts containers: Docker, Singularity. Bare metal is the host without any."),
    Term("engine", "The daemon that starts containers for a runtime, such as Docker's."),
    # On pages, other things are nodes too: memories, and machines of a cluster.
    Term("node", "A place where programs run: this host, a container, a virtual machine.", ("nodes of a run", "node of a run")),
    Term(
        "emulated virtual machine",
        "A virtual machine whose processor QEMU emulates, as no guest boots with KVM here. It shows that all works. It says "
        "nothing about how fast virtual machines are, and no claim is judged by it.",
        ("emulated virtual machines", "Emulated virtual machines"),
    ),
    Term("iteration", "One run of a benchmark that runs over and over.", ("iterations", "iteration")),
    Term(
        "plimsoll precise",
        "The command that repeats what is uncertain, until its intervals are narrow or a maximum is reached.",
    ),
)


def with_explanations(body: str, terms: Iterable[Term]) -> Markup:
    """Return a page's body with the explanations of the terms that it uses, which replace PLACE.

    The first use of each term becomes a link to its explanation.
    """
    unused, used, parts, inside = list(terms), [], [], 0
    for part in TAG.split(str(body)):
        if part.startswith("<"):
            inside += _opens(part)
        elif not inside and part.strip():
            for term in list(unused):
                linked = _linked(part, term)
                if linked:
                    part = linked
                    unused.remove(term)
                    used.append(term)
        parts.append(part)
    entries = "".join(
        f'<dt id="{term.anchor}">{escape(term.name)}</dt><dd>{escape(term.text)}</dd>\n' for term in _sorted(used)
    )
    return Markup("".join(parts).replace(PLACE, f"<dl>{entries}</dl>"))


def _sorted(terms: list[Term]) -> list[Term]:
    return sorted(terms, key=lambda term: term.name.lower())


def _opens(tag: str) -> int:
    """Return 1 for a tag that begins a skipped element, -1 for one that ends it, and 0 for any other tag."""
    name = re.match(r"</?([a-z0-9]+)", tag)
    if name is None or name[1] not in SKIPPED:
        return 0
    return -1 if tag.startswith("</") else 1


def _linked(text: str, term: Term) -> str:
    """Return the text with its first use of a term as a link; empty if it does not use the term.

    Links of other terms do not change.
    """
    pieces = re.split(r"(<a .*?</a>)", text)
    for place, piece in enumerate(pieces):
        match = None if piece.startswith("<a ") else term.pattern.search(piece)
        if match:
            link = f'<a class="word" href="#{term.anchor}">{match[0]}</a>'
            pieces[place] = piece[: match.start()] + link + piece[match.end() :]
            return "".join(pieces)
    return ""

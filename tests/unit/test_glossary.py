"""A page explains the words that it uses, and no others."""

import pytest
from plimsoll import designs
from plimsoll.pages import glossary
from plimsoll.pages.glossary import PLACE, Term

CELL, BLOCK = Term("cell", "A combination."), Term("block", "A <round>.")
ANY = Term("any processor (ANY)", "All cores.", ("any processor", "ANY"))


def test_the_first_use_is_a_link_and_only_what_is_used_is_explained():
    made = glossary.with_explanations(f"<h2>Cells</h2><p>Cells, and a cell.</p>{PLACE}", [CELL, BLOCK])
    assert made == (
        '<h2>Cells</h2><p><a class="word" href="#word-cell">Cells</a>, and a cell.</p>'
        '<dl><dt id="word-cell">cell</dt><dd>A combination.</dd>\n</dl>'
    )


def test_explanations_are_escaped_and_in_order():
    made = glossary.with_explanations(f"<p>a cell of a block</p>{PLACE}", [CELL, BLOCK])
    assert made.index('<dt id="word-block">') < made.index('<dt id="word-cell">')
    assert "A &lt;round&gt;." in made


@pytest.mark.parametrize(
    "text", ["<a href='x'>cell</a>", "<code>cell</code>", "<p title='cell'>x</p>", "<p>cellar, in-cell</p>"]
)
def test_links_code_attributes_and_other_words_are_left_alone(text):
    assert glossary.with_explanations(f"{text}{PLACE}", [CELL]) == f"{text}<dl></dl>"


def test_each_form_stands_for_the_term_and_letters_count():
    assert 'href="#word-any-processor-any">ANY</a> and any' in glossary.with_explanations(
        f"<p>ANY and any processor</p>{PLACE}", [ANY]
    )
    assert glossary.with_explanations(f"<p>any</p>{PLACE}", [ANY]) == "<p>any</p><dl></dl>"


def test_terms_have_places_of_their_own():
    terms = [*glossary.SHARED, *(term for design in designs.known().values() for term in design.report.GLOSSARY)]
    anchors = [term.anchor for term in terms]
    assert len(set(anchors)) == len(anchors)
    # The first form of a term must match its own pattern.
    for term in terms:
        assert term.pattern.search(f"the {(term.forms or (term.name,))[0]} here"), term


def test_words_with_another_meaning_are_left_alone():
    for text in ("Block input", "where the kernel runs client and server", "block I/O weight"):
        assert glossary.with_explanations(text, glossary.SHARED) == text


def test_the_words_of_the_documentation_are_explained():
    explained = {term.name for term in glossary.SHARED}
    measured = {"study", "level", "runtime", "engine", "node", "cell", "run", "block", "launch", "session", "record"}
    judged = {"claim", "verdict", "reproduced", "conditional", "margin", "interval", "q", "reference measurements"}
    assert explained >= measured | judged

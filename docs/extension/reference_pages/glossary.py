"""The glossary: the words that the pages of results explain, in their own words."""

from pathlib import Path

from reference_pages.markdown import page


def pages(project: Path) -> dict[str, str]:
    """Return the glossary's page."""
    from plimsoll import designs
    from plimsoll.pages import glossary

    terms = {term.name: term.text for design in designs.known().values() for term in design.report.GLOSSARY}
    terms |= {term.name: term.text for term in glossary.SHARED}
    entries = [f"{name}\n: {terms[name]}" for name in sorted(terms, key=str.lower)]
    return {"glossary": page("Glossary", "The pages of results explain the same words in the same way.", *entries)}

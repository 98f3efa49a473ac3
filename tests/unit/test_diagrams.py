"""The diagrams of docs/explanation/diagrams are those that docs/extension/diagrams draws, and say what the project says."""

import re
import sys
from xml.etree import ElementTree

import pytest
import yaml

from tests.conftest import PROJECT

STUDIES = PROJECT / "config/studies"


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    """Return each diagram as the extension draws it, by its name."""
    sys.path.insert(0, str(PROJECT / "docs/extension"))
    try:
        import diagrams

        return {path.stem: text for path, text in diagrams.drawn()}
    finally:
        sys.path.remove(str(PROJECT / "docs/extension"))


def words(text: str) -> list[str]:
    return ["".join(one.itertext()) for one in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]


def test_the_files_are_as_drawn(drawn):
    folder = PROJECT / "docs/explanation/diagrams"
    assert drawn == {path.stem: path.read_text() for path in folder.glob("*.svg")}, "make docs draws them again"


def test_each_step_of_the_ladder_is_in_it(drawn):
    steps = yaml.safe_load((STUDIES / "plimsoll2026.yaml").read_text())["figures"]["ladder"]["steps"]
    assert {step["adds"] for step in steps.values() if step} <= set(words(drawn["ladder"]))


def test_each_scheme_has_its_containers(drawn):
    names = [word for word in words(drawn["schemes"]) if re.match(r"[EO]\d: ", word)]
    assert names == [
        *("E1: 1 container", "E2: 2 containers", "E3: 4 containers"),
        *("O1: 1 container", "O2: 2 containers", "O3: 4 containers", "O4: 8 containers"),
    ]


def test_each_case_of_the_papers_is_in_it(drawn):
    cases = yaml.safe_load((STUDIES / "jha2021.yaml").read_text())["experiments"]["interference"]["case"]
    assert {word for word in words(drawn["cases"]) if word.startswith("case ")} == {f"case {case}" for case in cases}


def test_every_diagram_is_shown_with_an_alternative_text(drawn):
    pages = "\n".join(path.read_text() for path in (PROJECT / "docs/explanation").glob("*.md"))
    assert all(re.search(rf"!\[[^\]]{{40,}}\]\(diagrams/{name}\.svg\)", pages) for name in drawn)

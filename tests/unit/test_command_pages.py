"""Links on the start page to what commands beside the workflow have made."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from plimsoll.pages import command_pages, start_page
from plimsoll.pages.verdict_page import PageData

from tests.conftest import built

MADE = ("from/mine 2.zip/results/index.html", "compare/liu2020-b/compare.html", "judged/codecs/report.html")


def links(page: Path) -> list[tuple[str, str]]:
    """Return (text, address) of each link below the section's heading."""
    parsed = BeautifulSoup(page.read_text(), "html.parser")
    return [
        (one.get_text(), one["href"]) for one in parsed.find(id="also").find_next_siblings("ul") for one in one.find_all("a")
    ]


@pytest.fixture
def start(tmp_path) -> Path:
    """Return a start page in a folder of results in which nothing was measured."""
    (tmp_path / "compare/archives").mkdir(parents=True)
    page = tmp_path / command_pages.START
    page.write_text(start_page.render(PageData([], {}), built, tmp_path))
    return page


def test_the_start_page_leads_to_archives_comparisons_and_judged_tables(start):
    assert links(start) == [] and "Nothing yet" in start.read_text()
    before = start.read_text()
    for path in MADE:
        (start.parent / path).parent.mkdir(parents=True)
        (start.parent / path).touch()
    command_pages.refresh(start.parent)
    wanted = [("mine 2.zip", "from/mine%202.zip/results/index.html"), ("liu2020-b", MADE[1]), ("codecs", MADE[2])]
    assert links(start) == wanted
    # The workflow writes the same, and what is deleted is no longer there.
    assert start_page.render(PageData([], {}), built, start.parent).count('<li><a href="compare/') == 1
    for path in MADE:
        (start.parent / path).unlink()
    command_pages.refresh(start.parent)
    assert start.read_text() == before


def test_without_a_start_page_nothing_is_written(tmp_path):
    command_pages.refresh(tmp_path)
    page = tmp_path / command_pages.START
    assert not page.exists()
    page.write_text("of an older version")
    command_pages.refresh(tmp_path)
    assert page.read_text() == "of an older version"

"""Checks for every page: no internals of the program are visible, links lead somewhere, and tables are readable and scroll."""

import re
from pathlib import Path
from urllib.parse import unquote

from bs4 import BeautifulSoup, Tag

# Texts that reach a page only by mistake.
SLIPS = ("<built-in", "&lt;built-in", "object at 0x", "&lt;function", "Undefined", "Traceback", "[, ]")
# A table cell with one of these values was never meant to be shown.
EMPTY_VALUES = ("None", "nan", "NaN", "NaT", "inf", "none, nan")


def check(text: str, folder: Path, elsewhere: tuple[str, ...] = ()) -> BeautifulSoup:
    """Check a page that lies in `folder`, and return it parsed. Links that contain one of `elsewhere` lead outside, and
    are not followed."""
    for slip in SLIPS:
        assert slip not in text, text[max(0, text.find(slip) - 200) : text.find(slip) + 200]
    page = BeautifulSoup(text, "html.parser")
    assert "http://" not in text and "https://" not in text
    _scripts(page)
    _links(page, folder, elsewhere)
    for table in page.find_all("table"):
        _table(table)
    for picture in page.find_all("img"):
        assert len(picture.get("alt", "")) > 20, picture.parent.get("id")
    _navigation(page)
    return page


# Words with which a script could reach the network.
REACHING = ("fetch(", "XMLHttpRequest", "import(", "import ", "WebSocket", "sendBeacon", "EventSource", "eval(")


def _scripts(page: BeautifulSoup) -> None:
    """Check that scripts are part of the page and load nothing, and that forms, which need a script, are hidden without it."""
    for script in page.find_all("script"):
        assert not script.attrs, script.attrs
        assert not [word for word in REACHING if word in script.string]
    for form in page.find_all("form"):
        assert form.has_attr("hidden") and page.find("script")
        assert form.get("aria-label") and all(select.find_parent("label") for select in form.find_all("select"))
        assert form.find(attrs={"aria-live": "polite"})


def _links(page: BeautifulSoup, folder: Path, elsewhere: tuple[str, ...]) -> None:
    ids = [tag["id"] for tag in page.find_all(id=True)]
    assert len(ids) == len(set(ids)), sorted({one for one in ids if ids.count(one) > 1})
    for target in {tag["href"] for tag in page.find_all(href=True)}:
        path, _, anchor = target.partition("#")
        if not path:
            assert anchor in ids, target
        elif not any(part in path for part in elsewhere):
            assert (folder / unquote(path)).exists(), target


def _table(table: Tag) -> None:
    """Check a table: caption, head, scopes, a box that scrolls, equal numbers of cells in all rows, and no empty values."""
    assert table.caption and table.caption.get_text(strip=True), table.get_text()[:200]
    name = table.caption.get_text()
    assert "wide" in table.parent["class"] and table.parent["tabindex"] == "0", name
    assert table.thead and table.tbody, name
    for head in table.find_all("th"):
        assert head.get("scope") in ("col", "row", "colgroup"), (name, head)
    columns = len(table.thead.find_all("tr")[-1].find_all(["th", "td"]))
    for row in table.tbody.find_all("tr"):
        cells = row.find_all(["th", "td"], recursive=False)
        assert sum(int(cell.get("colspan", 1)) for cell in cells) == columns, (name, row)
        assert cells[0].name == "th", (name, row)
        for cell in cells:
            words = cell.get_text(" ", strip=True)
            assert not set(re.split(r"[\s,;()\[\]]+", words)) & set(EMPTY_VALUES), (name, words)


def _navigation(page: BeautifulSoup) -> None:
    """Check that the navigation lists every section in the page's order. The items are in a list, which wraps."""
    listed = [link["href"].removeprefix("#") for link in page.nav.select("ul > li > a")]
    assert listed == [heading["id"] for heading in page.find_all("h2")]

"""Section of the start page with what commands beside the workflow have made in the results: each is found by its page."""

from pathlib import Path

from markupsafe import Markup

from plimsoll.pages import formats

# Pages that commands make below the results: the kind, and the pattern of their paths. The first folder of a path that the
# pattern leaves open is the name.
KINDS = {
    "Made again from archives": "from/*/results/index.html",
    "Comparisons of two result sets": "compare/*/compare.html",
    "Tables that were judged": "judged/*/report.html",
}
START = "index.html"
# Comments around the section, so that a command can write it again in a page that the workflow has made.
BEGINS, ENDS = "<!-- also made -->", "<!-- end of also made -->"


def section(results: Path | None) -> Markup:
    """Return the section as HTML, with links relative to `results`; without that folder it says that there is nothing."""
    found = {kind: _pages(results, pattern) for kind, pattern in KINDS.items()} if results else {}
    kinds = {kind: pages for kind, pages in found.items() if pages}
    return Markup(formats.environment().get_template("command_pages.html.j2").render(kinds=kinds, begins=BEGINS, ends=ENDS))


def refresh(results: Path) -> None:
    """Write the section of the start page in `results` again. Without a start page there, do nothing."""
    page = results / START
    try:
        before, begins, rest = page.read_text().partition(BEGINS)
        _, ends, after = rest.partition(ENDS)
    except (OSError, UnicodeDecodeError):
        return
    if begins and ends:
        new = page.with_name(f".{START}")
        new.write_text(f"{before}{section(results)}{after}")
        new.rename(page)


def _pages(results: Path, pattern: str) -> list[dict]:
    """Return the pages that a pattern finds: `name` and `link`, sorted by name."""
    links = sorted(path.relative_to(results) for path in results.glob(pattern))
    return [{"name": link.parts[1], "link": link.as_posix()} for link in links]

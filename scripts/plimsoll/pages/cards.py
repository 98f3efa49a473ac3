"""Label the cells of tables by their column heads, so that a narrow page can show each row as a card."""

import re

from markupsafe import Markup

TAG = re.compile(r"(<[^>]*>)")
SPAN = re.compile(r'colspan="(\d+)"')
NAME = re.compile(r"</?([a-z0-9]+)")


def labelled(body: str) -> Markup:
    """Return a page's body in which each cell of a table's body has its column's head as `data-label`.

    Of a head in several lines, the first is the label.
    """
    reader = _Reader()
    return Markup("".join(map(reader.take, TAG.split(str(body)))))


class _Reader:
    """Reads a page's tags and texts in their order, and knows which head belongs to the next cell."""

    def __init__(self):
        self.heads: list[str] = []
        self.column = 0
        self.in_head = self.in_body = self.collecting = False

    def take(self, part: str) -> str:
        """Return a tag, with a label if it opens a cell of a table's body, or a text as it is."""
        if not part.startswith("<"):
            if self.collecting:
                self.heads[-1] += part
            return part
        name, closes = (NAME.match(part) or [None, ""])[1], part.startswith("</")
        if name in ("thead", "tbody"):
            self.in_head, self.in_body = (name == "thead" and not closes), (name == "tbody" and not closes)
        elif name == "tr":
            self.column = 0
            self.heads = [] if self.in_head and not closes else self.heads
        elif name in ("br", "svg"):
            self.collecting = False
        elif name in ("th", "td") and self.in_head:
            self._head(part, closes)
        elif name in ("th", "td") and self.in_body and not closes:
            return self._cell(part)
        return part

    def _head(self, tag: str, closes: bool) -> None:
        self.collecting = not closes
        if not closes:
            self.heads.append("")
        else:
            self.heads[-1] = " ".join(self.heads[-1].split()).replace('"', "&quot;")

    def _cell(self, tag: str) -> str:
        width = int(found[1]) if (found := SPAN.search(tag)) else 1
        label = self.heads[self.column] if width == 1 and self.column < len(self.heads) else ""
        self.column += width
        return f'{tag[:-1]} data-label="{label}">' if label else tag

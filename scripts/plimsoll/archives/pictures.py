"""A report without its pictures: an archive has these as files, and would be twice as large with both."""

import base64
from pathlib import Path

REPORT = "report.html"
# What a picture in a page begins with.
EMBEDDED = "data:image/png;base64,"


def linked(report: Path) -> bytes:
    """A study's report in its folder of results, with links in place of the pictures that lie in figures/."""
    page = report.read_text()
    for picture in report.parent.glob("figures/*.png"):
        page = page.replace(f"{EMBEDDED}{base64.b64encode(picture.read_bytes()).decode()}", f"figures/{picture.name}")
    return page.encode()

"""Replace a report's embedded pictures by links.

An archive has the pictures as files, and would be twice as large with both.
"""

import base64
from pathlib import Path

REPORT = "report.html"
# Beginning of an embedded picture in a page.
EMBEDDED = "data:image/png;base64,"


def linked(report: Path) -> bytes:
    """Return a study's report with links to the pictures in figures/ instead of the embedded pictures."""
    page = report.read_text()
    for picture in report.parent.glob("figures/*.png"):
        page = page.replace(f"{EMBEDDED}{base64.b64encode(picture.read_bytes()).decode()}", f"figures/{picture.name}")
    return page.encode()

"""Options that show folders of this host in containers, in the syntax that Docker, Podman and Apptainer have in
common."""

import csv
import io
from pathlib import Path


def bind(folder: Path | str, inside: Path | str, *more: str) -> list[str]:
    """Return the option that shows a folder of this host at the path `inside` in a container.

    A path may have any character except the end of a line. Options that split at colons, blanks or commas do not
    allow that.
    """
    return option("bind", f"source={folder}", f"target={inside}", *more)


def option(kind: str, *settings: str) -> list[str]:
    """Return the option of a mount of a kind with these settings."""
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow([f"type={kind}", *settings])
    return ["--mount", written.getvalue()]

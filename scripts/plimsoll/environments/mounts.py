"""Folders of this host that containers see, in the words that Docker, Podman and Apptainer have in common."""

import csv
import io
from pathlib import Path


def bind(folder: Path | str, inside: Path | str, *more: str) -> list[str]:
    """Return the option that shows a folder at a place `inside` a container. A path may have any character but the end of a
    line: options that split at colons, blanks or commas do not."""
    return option("bind", f"source={folder}", f"target={inside}", *more)


def option(kind: str, *settings: str) -> list[str]:
    """Return the option of a mount of a kind with these settings."""
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow([f"type={kind}", *settings])
    return ["--mount", written.getvalue()]

"""The tables of a study that are made here, read for its page."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd


def of_study(folder: Path, study: dict) -> Iterator[tuple[dict, pd.DataFrame]]:
    """What a page says of each table (`name`, `kind` and `heading`, which is the paper's number where it has one), and its
    content; `folder` holds the study's tables."""
    for name, table in study.get("tables", {}).items():
        made = pd.read_csv(folder / f"{name}.csv", keep_default_na=False, na_values=[""])
        number = name.removeprefix("table").lstrip("0")
        heading = f"Table {number}" if number.isdigit() else table["title"]
        yield {"name": name, "kind": table["kind"], "heading": heading}, made


def filled(table: pd.DataFrame) -> pd.DataFrame:
    """A table with an empty text where there is no value."""
    return table.astype(object).where(table.notna(), "")

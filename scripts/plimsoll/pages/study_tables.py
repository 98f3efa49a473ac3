"""Read the tables of a study that are made here, for its page."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd


def of_study(folder: Path, study: dict, **options) -> Iterator[tuple[dict, pd.DataFrame]]:
    """Yield, for each table, what a page says of it and its content. `folder` holds the study's tables.

    What a page says is `name`, `kind`, `heading`, which is the paper's number if the table has one, and whether it has one
    (`numbered`). `options` are those of pandas.read_csv.
    """
    for name, table in study.get("tables", {}).items():
        made = pd.read_csv(folder / f"{name}.csv", keep_default_na=False, na_values=[""], **options)
        number = name.removeprefix("table").lstrip("0")
        heading = f"Table {number}" if number.isdigit() else table.get("title", name)
        yield {"name": name, "kind": table["kind"], "heading": heading, "numbered": number.isdigit()}, made


def without_gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with an empty text where there is no value."""
    return table.astype(object).where(table.notna(), "")

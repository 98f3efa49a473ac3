"""Tables in long or wide form, in CSV (also with tabs or semicolons) or Parquet."""

import csv
import io
from pathlib import Path

from plimsoll.designs.table.readers.base import Reader
from plimsoll.designs.table.rows import Columns, Row, of_table
from plimsoll.errors import PlimsollError


class Csv(Reader):
    """CSV with one line of heads. Places are lines of the file."""

    name = "csv"
    says = "a table in CSV"
    last = True
    prunes = False

    def fits(self, path: Path, begun: str) -> bool:
        return path.is_file() and "\0" not in begun and begun.lstrip()[:1] not in ("{", "[", "<", "")

    def read(self, path: Path, columns: Columns) -> list[Row]:
        return of_table(lines(path), columns, path)


def lines(path: Path) -> list[tuple[str, dict[str, str]]]:
    """Return (place, text by column) for each line of a CSV file below its heads. Lines that begin with # are left out.

    PlimsollError for a line with more or fewer values than heads, or two heads of one name.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise PlimsollError(f"{path} cannot be read as text in UTF-8: {error}.") from error
    head = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    separator = max(",\t;|", key=head.count)
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    names, found = None, []
    for values in reader:
        if not any(map(str.strip, values)) or values[0].startswith("#"):
            continue
        if names is None:
            names = [name.strip() for name in values]
            if again := next((name for name in names if names.count(name) > 1), None):
                raise PlimsollError(f"{path}, line {reader.line_num}: two columns have the name {again!r}. Rename one of them.")
            continue
        where = f"{path}, line {reader.line_num}"
        if len(values) != len(names):
            raise PlimsollError(f"{where}: it has {len(values)} values, and there are {len(names)} columns.")
        found.append((where, dict(zip(names, values, strict=True))))
    return found


class Parquet(Reader):
    """Parquet. Places are rows."""

    name = "parquet"
    says = "a table in Parquet"
    prunes = False

    def fits(self, path: Path, begun: str) -> bool:
        return begun.startswith("PAR1")

    def read(self, path: Path, columns: Columns) -> list[Row]:
        import pandas as pd

        try:
            table = pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise PlimsollError(f"{path} is no table in Parquet: {str(error).splitlines()[0]}.") from error
        return of_table(of_frame(table, str(path)), columns, path)


def of_frame(table, source: str) -> list[tuple[str, dict[str, str]]]:
    """Return (place, text by column) for each row of a data frame. A missing value is an empty text."""
    texts = table.astype(object).where(table.notna(), "")
    return [
        (f"{source}, row {number}", {str(name): str(value) for name, value in row.items()})
        for number, row in enumerate(texts.to_dict("records"), 1)
    ]


READERS = (Csv(), Parquet())

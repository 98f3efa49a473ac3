"""Tables in written pages: each stands between two comments, so that a reader of the clone has it too."""

from collections.abc import Callable
from pathlib import Path

from reference_pages.markdown import code, table

BEGIN, END = "<!-- Generated: edit {source}. -->", "<!-- Generated until here. -->"


def texts(project: Path) -> dict[Path, str]:
    """Return the text of each page that has such tables, with the tables as the code has them now.

    ValueError for a page without the place of its table.
    """
    return {path: _with_table(path, *OF_PAGE[path.name]) for path in (project / "docs/reference" / name for name in OF_PAGE)}


def _with_table(path: Path, source: str, make: Callable[[], str]) -> str:
    begin = BEGIN.format(source=source)
    before, found, rest = path.read_text().partition(begin)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise ValueError(f"{path} has no lines {begin} and {END}, between which its table is written")
    return f"{before}{begin}\n\n{make()}\n\n{END}{after}"


def _of_runs() -> str:
    from plimsoll.measuring import status

    head = ["status", "meaning", "counts", "tried again at the next start"]
    return table(head, ([code(one.name), one.meaning, _yes(one.counts), _yes(one.again)] for one in status.STATUSES))


def _of_commands() -> str:
    from plimsoll.cli.statuses import Status

    return table(["status", "name", "meaning"], ([one.value, code(one.name), one.meaning] for one in Status))


def _yes(value: bool) -> str:
    return "yes" if value else "no"


# By page: the file that has the table's content, and what makes the table.
OF_PAGE = {
    "statuses.md": ("scripts/plimsoll/measuring/status.py", _of_runs),
    "command.md": ("scripts/plimsoll/cli/statuses.py", _of_commands),
}

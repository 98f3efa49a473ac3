"""Reference measurements: those of one machine for each study, kept in results/reference/ for comparison.

A study's folder there has an archive without pictures, from which everything can be made and judged again
(docs/reports/archives.md). Beside it lie the files that the README, the documentation and the notebooks show.
"""

import shutil
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

import pandas as pd

from plimsoll import spelling
from plimsoll.claims import findings, other_studies
from plimsoll.config.studies import Study
from plimsoll.errors import PlimsollError
from plimsoll.features.archive import archive_members, layout, packing

TABLES = ("answer.csv", "comparisons.csv", "observations.csv", "runs.csv")
# Members about all studies of an archive; here that is one study.
OF_ALL = ("results/host.txt", "results/claims.csv")
RUNS_OF_FIGURE = ".observations.csv"
# Endings of files that pages show and that are not in the archive.
SHOWN = (".png", ".values.json")


def keep(study: Study, results: Path, references: Path, say: Callable[[str], None] = print) -> Path:
    """Make a study's results the reference, in place of an older one. Return its folder.

    Raise PlimsollError if the study was not measured, judged and drawn completely. The old reference or the new one
    exists at each moment. A killed call may leave the old one under another name; the next call renames it back.
    """
    name = study["id"]
    folder, new, old = (references / part for part in (name, f".{name}.new", f".{name}.old"))
    shutil.rmtree(new, ignore_errors=True)
    _put_back(old, folder)
    try:
        _write(study, results, new, say)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
        _put_back(old, folder)
    return folder


def _put_back(old: Path, folder: Path) -> None:
    """Give the old reference its name again, unless a new one has it. Then delete the old one."""
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
    elif old.exists():
        old.rename(folder)


def _write(study: Study, results: Path, new: Path, say: Callable[[str], None]) -> None:
    own = results / study["id"]
    lacking = [
        path for path in (*(own / table for table in TABLES), own / "claims.json", own / "report.html") if not path.is_file()
    ]
    if lacking:
        raise PlimsollError(
            f"{lacking[0]} is not there: {spelling.command('reproduce', study['id'])} makes it. Let it finish first."
        )
    (new / "figures").mkdir(parents=True)
    archive = new / layout.reference(study["id"])
    packing.pack(archive_members.measured_sessions({study["id"]: study}, results), results, archive, drawn=False, say=say)
    with zipfile.ZipFile(archive) as file:
        for name in file.namelist():
            place = PurePosixPath(name).relative_to("results") if name in OF_ALL else _shown(name, f"results/{study['id']}")
            if place:
                (new / place).parent.mkdir(exist_ok=True)
                (new / place).write_bytes(file.read(name))
    # The table has the claims of all studies that exist.
    claims = pd.read_csv(new / "claims.csv", dtype=str, keep_default_na=False)
    claims[claims["study"] == study["id"]].to_csv(new / "claims.csv", index=False)
    answer(new / "claims.csv", sorted(set(new.parent.glob("[!.]*/claims.csv")) - {new.parent / study["id"] / "claims.csv"}))
    for path in (path for ending in SHOWN for path in (own / "figures").glob(f"*{ending}")):
        shutil.copy(path, new / "figures")


def answer(table: Path, others: Iterable[Path]) -> None:
    """Complete a reference's table of claims by the verdicts of other references that answer them (`answered_by`).

    The archive has its own study alone, so its table says that the other study would have to be measured.
    """
    own = findings.of_table(table)
    known = [result for other in others for result in findings.of_table(other)]
    shown = other_studies.by_others([*own, *known])[: len(own)]
    changed = [after for before, after in zip(own, shown, strict=True) if after is not before]
    rows = pd.read_csv(table, dtype=str, keep_default_na=False).astype(object).set_index("id", drop=False)
    for row in findings.table_of(changed).fillna("").to_dict("records"):
        rows.loc[row["id"]] = pd.Series(row).reindex(rows.columns, fill_value="")
    rows.to_csv(table, index=False)


def _shown(name: str, folder: str) -> PurePosixPath | None:
    """Return the path of an archive's member among the files beside the archive; None if it does not lie there."""
    path = PurePosixPath(name)
    if not path.is_relative_to(folder) or name.endswith(RUNS_OF_FIGURE):
        return None
    own = path.relative_to(folder)
    return own if own.name in TABLES or own.parts[0] in ("figures", "tables") else None

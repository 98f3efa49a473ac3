"""From the file of a study to the study and its rows: everything that a person wrote is checked, and what is left out follows.

A study of this design has the keys of every study that claims, answers and pages read. Nothing else of it is needed.
"""

import glob
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from plimsoll.config import yaml_files
from plimsoll.config.studies import Study
from plimsoll.designs.table import DESIGN, metrics, readers, zips
from plimsoll.designs.table.factors import MACHINE, RESERVED, as_written, stored
from plimsoll.designs.table.metrics import At
from plimsoll.designs.table.readers import tables
from plimsoll.designs.table.rows import Columns, Row
from plimsoll.errors import PlimsollError, first_of, quote
from plimsoll.spelling import hint

ALPHA = 0.05
# What a file's pattern stands for in its block, session or machine.
MATCHED = "{}"
# What to do about levels, if a study does not say it better.
VERBS = {"loss": "avoid {rows}", "instead": "take {rows}", "gain": "take {rows}", "no_loss": "{rows} may be taken too"}


@dataclass(frozen=True)
class Source:
    """A study of this design with its `rows`, and those of the paper's own table (`printed`, mostly none).

    `document` is the study in the words of a study's file, for data that options named.
    """

    study: Study
    rows: list[Row]
    printed: list[Row]
    files: list[Path]  # data, for the archive
    document: Mapping | None = None


def read(path: Path, claimed: Sequence[Mapping] = (), name: str | None = None) -> Source:
    """Return the study of a YAML file, with the rows of its data. `claimed` are claims of another file.

    `name` is that of a study whose file does not say it; without it, the file is called so, or its folder.

    PlimsollError, with file and line, for what does not fit, or if the data are not what the study says.
    """
    document, text = yaml_files.read(path)
    yaml_files.check(document, "designs/table", str(path), text)
    named = name or (path.resolve().parent.name if path.stem == "study" else path.stem)
    return of_document({"id": _name(named), **document}, path.parent, claimed, yaml_files.places(str(path), text))


def check_keys(document: Mapping, source: str) -> None:
    """Raise PlimsollError if what is said of a table that is in no file does not have the form of a study's file."""
    said = {key: value for key, value in document.items() if value not in (None, {}) and key != "id"}
    yaml_files.check({"design": DESIGN.name, "data": source, **said}, "designs/table", source)


def of_files(
    data: Sequence[Path],
    claimed: Sequence[Mapping],
    name: str,
    printed: Sequence[Path] = (),
    factors: Sequence[str] | None = None,
) -> Source:
    """Return the study that files of data are by themselves: every column without a role is a factor, or `factors` are.

    `printed` are files of the paper's own table.
    """
    named = {"factors": list(factors)} if factors else {}
    document = {"id": _name(name), "data": _entries(data), **({"printed": _entries(printed)} if printed else {}), **named}
    return replace(of_document(document, Path(), claimed, metrics.at_all(str(data[0]))), document=document)


def _entries(paths: Sequence[Path]) -> list[dict[str, str]]:
    """Return paths as a study names them. A pattern gives its files. One inside a zip stays, as the zip is the file."""
    found = []
    for path in paths:
        found += [path] if zips.split(path) else [file for file, _ in _matching(Path(), str(path))]
    return [{"path": str(path)} for path in found]


def of_document(document: Mapping, folder: Path, claimed: Sequence[Mapping], at: At) -> Source:
    """Return a study from what its file says. Data lie below `folder`; `at` says where a key of the file stands."""
    columns = columns_of(document, claimed)
    rows, files = gather(document["data"], folder, columns, "factors" in document)
    if "printed" not in document:
        return assemble(document, rows, [], at, files)
    # A paper's table has the factors of the data. Its other columns are remarks.
    of_paper = replace(columns, factors=tuple(factors_of(document, rows)))
    printed, more = gather(document["printed"], folder, of_paper, True)
    return assemble(document, rows, printed, at, [*files, *more])


def factors_of(document: Mapping, rows: Sequence[Row]) -> list[str]:
    """Return the factors that a study names, or those of its rows."""
    return list(document.get("factors") or dict.fromkeys(name for row in rows for name in row.levels))


def assemble(document: Mapping, rows: list[Row], printed: list[Row], at: At, files: Sequence[Path] = ()) -> Source:
    """Return a study with its rows. Every row gets a level of each factor.

    PlimsollError, with the place, if the data do not have what the document names.
    """
    names = factors_of(document, rows)
    if not names:
        raise PlimsollError(
            f"{at()}: nothing can be compared, because no column is left that could be a factor. Add a column "
            "that tells the variants apart."
        )
    if unknown := next((name for name in names if all(name not in row.levels for row in rows)), None):
        known = dict.fromkeys(name for row in rows for name in row.levels)
        raise PlimsollError(f"{at('factors')}: factors: there is no {quote(unknown)}{hint(unknown, known)} in its data.")
    if reserved := next((name for name in names if name in RESERVED), None):
        raise PlimsollError(
            f"{rows[0].where}: no factor can be called {quote(reserved)}, because tables of a judged study have a column of "
            f"that name. Rename it, such as {reserved}_level, or name the factors without it (`factors`, --factors)."
        )
    if without := next((row for row in printed if not row.summarised), None):
        raise PlimsollError(
            f"{without.where}: this row of the paper's own table has no mean. Give each row a mean, and sd and "
            "n if the paper prints them."
        )
    found = metrics.merge(document.get("metrics", {}), rows, printed, at)
    rows = [_with_all(row, names) for row in rows if row.metric in found]
    printed = [_with_all(row, names) for row in printed if row.metric in found]
    factors = [*names, *([MACHINE] if any(row.machine for row in rows) else [])]
    levels = {factor: sorted({_level(row, factor) for row in (*rows, *printed)}) for factor in factors}
    study = {
        **{"id": document["id"], "design": DESIGN.name, "title": document.get("title", document["id"])},
        "question": document.get("question", "Which claims do these measurements support?"),
        "citation": document.get("citation", {"authors": "its authors", "venue": "a table", "year": ""}),
        "alpha": document.get("alpha", ALPHA),
        **{"factors": factors, "levels": levels, "metrics": found, "experiments": {}, "figures": {}},
    }
    study["answer"] = _answers(document, study, at)
    return Source(Study(study, DESIGN.for_study(study)), rows, printed, list(files))


def _level(row: Row, factor: str) -> str:
    return row.machine if factor == MACHINE else row.levels[factor]


def _with_all(row: Row, names: Iterable[str]) -> Row:
    return replace(row, levels={name: row.levels.get(name, "") for name in names})


def _name(text: str) -> str:
    """Return a text as the name of a study: letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-").lstrip("0123456789-") or "table"


def columns_of(document: Mapping, claimed: Sequence[Mapping]) -> Columns:
    """Return the roles of columns. A metric that is called as a column makes the form wide, if there are no values."""
    about_metrics = document.get("metrics", {})
    named = {name: about.get("column", name) for name, about in about_metrics.items()}
    from_claims = {metric: metric for claim in claimed for one in _assertions(claim) for metric in one.get("metrics", [])}
    claimed_factors = {factor for claim in claimed for levels in _levels_of(claim) for factor in levels}
    factors = tuple(document["factors"]) if "factors" in document else None
    return Columns(
        **document.get("columns", {}),
        metrics=named or from_claims,
        wide=any("column" in about for about in about_metrics.values()),
        factors=factors,
        claimed=frozenset(claimed_factors),
    )


def lines_of(table, source: str) -> list[tuple[str, dict[str, str]]]:
    """Return (place, text by column) for each row of a data frame. PlimsollError for anything else."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise PlimsollError(f"{source}: a data frame of pandas is needed, and this is a {type(table).__name__}.")
    return tables.of_frame(table, source)


def _assertions(claim: Mapping) -> list[Mapping]:
    """Return a claim as it is written, with its condition and its parts."""
    return [claim, *([claim["given"]] if "given" in claim else []), *claim.get("parts", [])]


def _levels_of(claim: Mapping) -> list[Mapping]:
    keys = ("a", "b", "scope", "except", "except_b", "relative_to", "order")
    found = [claim[key] for key in keys if key in claim]
    found = [one for each in found for one in (each if isinstance(each, list) else [each]) if isinstance(one, Mapping)]
    along = [{claim["along"]["factor"]: []}] if isinstance(claim.get("along"), Mapping) and "factor" in claim["along"] else []
    return [*found, *along, *(levels for one in _assertions(claim)[1:] for levels in _levels_of(one))]


def gather(data: str | list, folder: Path, columns: Columns, factors_named: bool) -> tuple[list[Row], list[Path]]:
    """Return (rows, files) of what a study names as its data.

    PlimsollError if a file is not there. Factors that tools write and that have one level in all rows are left out.
    """
    rows, files, prunes = [], [], False
    for entry in data if isinstance(data, list) else [data]:
        asked = {"path": entry} if isinstance(entry, str) else entry
        of_entry, own, pruned = _of_entry(asked, folder, columns)
        rows, files, prunes = [*rows, *of_entry], [*files, *own], prunes or pruned
    return (_varying(rows) if prunes and not factors_named else rows), files


def _of_entry(entry: Mapping, folder: Path, columns: Columns) -> tuple[list[Row], list[Path], bool]:
    """Return (rows, files, whether factors with one level say nothing) of an entry, which may lead into a zip file."""
    inside = zips.split(folder / entry["path"])
    if inside is None:
        return _of_paths(entry, folder, [entry["path"]], columns)
    archive, pattern = inside
    with zips.unpack(archive, pattern) as (place, patterns):
        rows, _, prunes = _of_paths(entry, place, patterns, columns)
        return [replace(row, where=row.where.replace(str(place), str(archive))) for row in rows], [archive], prunes


def _of_paths(entry: Mapping, folder: Path, patterns: Sequence[str], columns: Columns) -> tuple[list[Row], list[Path], bool]:
    rows, files, prunes = [], [], False
    for path, matched in (one for pattern in patterns for one in _matching(folder, pattern)):
        reader, found = readers.read(path, entry.get("reader"), columns)
        prunes |= reader.prunes
        rows += [_of_file(row, entry, matched) for row in found]
        files.append(path)
    return rows, files, prunes


def _matching(folder: Path, pattern: str) -> list[tuple[Path, str]]:
    """Return (path, what * stands for) of each file that a pattern names."""
    if "*" not in pattern:
        return [(folder / pattern, "")]
    before, _, after = pattern.partition("*")
    # Only * is a sign of the pattern. A folder may be called "runs [1]".
    plain = "*".join(map(glob.escape, pattern.split("*")))
    found = sorted(glob.glob(plain, root_dir=folder, recursive=True))
    if not found:
        raise PlimsollError(f"{folder / pattern}: there is no such file. Correct the path, which begins in {folder}.")
    return [(folder / name, name.removeprefix(before).removesuffix(after)) for name in found]


def _of_file(row: Row, entry: Mapping, matched: str) -> Row:
    """Return a row with what is said of its whole file."""
    of_file = {key: str(entry[key]).replace(MATCHED, matched) for key in ("block", "session", "machine") if key in entry}
    levels = {name: str(level).replace(MATCHED, matched) for name, level in entry.get("levels", {}).items()}
    return replace(row.with_levels(levels), **of_file)


def _varying(rows: list[Row]) -> list[Row]:
    """Return rows without the factors that have one level in all of them, unless none would be left."""
    factors = list(dict.fromkeys(name for row in rows for name in row.levels))
    kept = [name for name in factors if len({row.levels.get(name, "") for row in rows}) > 1] or factors[:1]
    return [replace(row, levels={name: row.levels.get(name, "") for name in kept}) for row in rows]


def _answers(document: Mapping, study: Mapping, at: At) -> dict | None:
    """Return the answer that follows from the baseline: the ratios of all other levels to it; None without a baseline."""
    if not (baseline := document.get("baseline")):
        return None
    for key in ("baseline", "scope"):
        for factor, levels in document.get(key, {}).items():
            where = at(key, factor)
            _known(factor, study["levels"], f"{where}: {key}", "factor")
            for level in levels:
                _known(level, study["levels"][factor], f"{where}: {key}.{factor}", "level")
    rows = {factor: _others(study, factor, levels) for factor, levels in baseline.items()}
    known = [name for name, about in study["metrics"].items() if about["known"]]
    if not known:
        raise PlimsollError(
            f"{at('baseline')}: baseline: nothing says whether a higher or a lower {quote(next(iter(study['metrics'])))} is "
            "better, so no answer follows. Give the metric `better`."
        )
    about = " and ".join(factor.replace("_", " ") for factor in baseline)
    return {
        **{"metrics": known, "rows": rows, "baseline": dict(baseline)},
        **({"scope": document["scope"]} if "scope" in document else {}),
        "recommend": {"compare": "baseline", "about": about, **VERBS, **document.get("recommend", {})},
    }


def _others(study: Mapping, factor: str, baseline: Sequence[str]) -> list[str]:
    from plimsoll.designs.table.contrasts import in_order

    return [level for level in in_order(set(study["levels"][factor])) if level not in baseline]


def _known(name: str, known: Iterable[str], where: str, kind: str) -> None:
    if name not in known:
        raise PlimsollError(
            f"{where}: {quote(name)} is not a {kind} of the table{hint(name, known)}. It has {first_of(list(known), 12)}."
        )


def cell_levels(row: Row, factors: Sequence[str]) -> dict[str, str]:
    """Return the levels of a row's cell, by factor, as paths have them."""
    return {factor: stored(_level(row, factor)) for factor in factors}


def cell_in_words(levels: Mapping[str, str]) -> str:
    """Return the levels of a cell for a message."""
    return ", ".join(f"{factor} {as_written(level)}" for factor, level in levels.items() if as_written(level))

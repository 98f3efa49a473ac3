"""From the file of a study to the study and its rows: everything that a person wrote is checked, and what is left out follows.

A study of this design has the keys of every study that claims, answers and pages read. Nothing else of it is needed.
"""

import glob
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from plimsoll.config import yaml_files
from plimsoll.config.studies import Study
from plimsoll.designs.table import DESIGN, readers
from plimsoll.designs.table.factors import MACHINE, stored, told
from plimsoll.designs.table.readers import tables
from plimsoll.designs.table.rows import Columns, Row, better_by
from plimsoll.errors import PlimsollError, first_of, shown
from plimsoll.spelling import hint

ALPHA = 0.05
# What a file's pattern stands for in its block, session or machine.
MATCHED = "{}"
# What to do about levels, if a study does not say it better.
VERBS = {"loss": "avoid {rows}", "gain": "take {rows}", "no_loss": "{rows} may be taken too"}


@dataclass(frozen=True)
class Source:
    """A study of this design with its `rows`, and those of the paper's own table (`printed`, mostly none)."""

    study: Study
    rows: list[Row]
    printed: list[Row]
    files: list[Path]  # data, for the archive


def read(path: Path, claimed: Sequence[Mapping] = ()) -> Source:
    """Return the study of a YAML file, with the rows of its data. `claimed` are claims of another file.

    PlimsollError, with file and line, for what does not fit, or if the data are not what the study says.
    """
    document, text = yaml_files.read(path)
    yaml_files.check(document, "designs/table", str(path), text)
    named = path.parent.name if path.stem == "study" else path.stem
    return of_document({"id": _name(named), **document}, path.parent, claimed, str(path))


def of_files(data: Sequence[Path], claimed: Sequence[Mapping], name: str) -> Source:
    """Return the study that files of data are by themselves: every column that has no role is a factor."""
    document = {"id": _name(name), "data": [{"path": str(path)} for path in data]}
    return of_document(document, Path(), claimed, str(data[0]))


def of_document(document: Mapping, folder: Path, claimed: Sequence[Mapping], source: str) -> Source:
    """Return a study from what its file says. Data lie below `folder`; `source` is the file, for messages."""
    columns = columns_of(document, claimed)
    rows, files = gather(document["data"], folder, columns, "factors" in document)
    printed, of_paper = gather(document["printed"], folder, columns, True) if "printed" in document else ([], [])
    return assembled(document, rows, printed, source, [*files, *of_paper])


def assembled(document: Mapping, rows: list[Row], printed: list[Row], source: str, files: Sequence[Path] = ()) -> Source:
    """Return a study with its rows. Every row gets a level of each factor."""
    names = list(document.get("factors") or dict.fromkeys(name for row in rows for name in row.levels))
    if not names:
        raise PlimsollError(f"{source}: no column is left that could be a factor: nothing can be compared.")
    if unknown := next((name for name in names if all(name not in row.levels for row in rows)), None):
        known = dict.fromkeys(name for row in rows for name in row.levels)
        raise PlimsollError(f"{source}: factors: there is no {shown(unknown)}{hint(unknown, known)} in its data.")
    metrics = _metrics(document.get("metrics", {}), rows, source)
    rows = [_with_all(row, names) for row in rows if row.metric in metrics]
    printed = [_with_all(row, names) for row in printed if row.metric in metrics]
    factors = [*names, *([MACHINE] if any(row.machine for row in rows) else [])]
    levels = {factor: sorted({_level(row, factor) for row in (*rows, *printed)}) for factor in factors}
    study = {
        **{"id": document["id"], "design": DESIGN.name, "title": document.get("title", document["id"])},
        "question": document.get("question", "Which statements do these measurements support?"),
        "citation": document.get("citation", {"authors": "its authors", "venue": "a table", "year": ""}),
        "alpha": document.get("alpha", ALPHA),
        **{"factors": factors, "levels": levels, "metrics": metrics, "experiments": {}, "figures": {}},
    }
    study["answer"] = _answers(document, study, source)
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
    metrics = document.get("metrics", {})
    named = {name: about.get("column", name) for name, about in metrics.items()}
    from_claims = {metric: metric for claim in claimed for metric in claim.get("metrics", [])}
    claimed_factors = {factor for claim in claimed for levels in _levels_of(claim) for factor in levels}
    factors = tuple(document["factors"]) if "factors" in document else None
    return Columns(
        **document.get("columns", {}),
        metrics=named or from_claims,
        wide=any("column" in about for about in metrics.values()),
        factors=factors,
        claimed=frozenset(claimed_factors),
    )


def lines_of(table, source: str) -> list[tuple[str, dict[str, str]]]:
    """Return (place, text by column) for each row of a data frame."""
    return tables.of_frame(table, source)


def _levels_of(claim: Mapping) -> list[Mapping]:
    keys = ("a", "b", "scope", "except", "except_b", "relative_to", "order")
    found = [claim[key] for key in keys if key in claim]
    found = [one for each in found for one in (each if isinstance(each, list) else [each]) if isinstance(one, Mapping)]
    along = [{claim["along"]["factor"]: []}] if isinstance(claim.get("along"), Mapping) and "factor" in claim["along"] else []
    return [*found, *along, *(levels for part in claim.get("parts", []) for levels in _levels_of(part))]


def gather(data: str | list, folder: Path, columns: Columns, factors_named: bool) -> tuple[list[Row], list[Path]]:
    """Return (rows, files) of what a study names as its data.

    PlimsollError if a file is not there. Factors that tools write and that have one level in all rows are left out.
    """
    rows, files, prunes = [], [], False
    for entry in data if isinstance(data, list) else [data]:
        asked = {"path": entry} if isinstance(entry, str) else entry
        for path, matched in _matching(folder, asked["path"]):
            reader, found = readers.read(path, asked.get("reader"), columns)
            prunes |= reader.prunes
            rows += [_of_file(row, asked, matched) for row in found]
            files.append(path)
    return (_varying(rows) if prunes and not factors_named else rows), files


def _matching(folder: Path, pattern: str) -> list[tuple[Path, str]]:
    """Return (path, what * stands for) of each file that a pattern names."""
    if "*" not in pattern:
        return [(folder / pattern, "")]
    before, _, after = pattern.partition("*")
    # Only * is a sign of the pattern. A folder may be called "runs [1]".
    plain = "*".join(map(glob.escape, pattern.split("*")))
    found = sorted(glob.glob(plain, root_dir=folder, recursive=True))
    if not found:
        raise PlimsollError(f"{folder / pattern}: there is no such file.")
    return [(folder / name, name.removeprefix(before).removesuffix(after)) for name in found]


def _of_file(row: Row, asked: Mapping, matched: str) -> Row:
    """Return a row with what is said of its whole file."""
    of_file = {key: str(asked[key]).replace(MATCHED, matched) for key in ("block", "session", "machine") if key in asked}
    levels = {name: str(level).replace(MATCHED, matched) for name, level in asked.get("levels", {}).items()}
    return replace(row.with_levels(levels), **of_file)


def _varying(rows: list[Row]) -> list[Row]:
    """Return rows without the factors that have one level in all of them, unless none would be left."""
    factors = list(dict.fromkeys(name for row in rows for name in row.levels))
    kept = [name for name in factors if len({row.levels.get(name, "") for row in rows}) > 1] or factors[:1]
    return [replace(row, levels={name: row.levels.get(name, "") for name in kept}) for row in rows]


def _metrics(named: Mapping, rows: list[Row], source: str) -> dict[str, dict]:
    """Return the metrics, each with label, unit and better, from a study's file and from rows.

    PlimsollError if a metric has no rows, has two units, or has rows with two directions.
    """
    by_metric: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_metric[row.metric].append(row)
    if unknown := next((name for name in named if name not in by_metric), None):
        known = ", ".join(by_metric)
        raise PlimsollError(
            f"{source}: metrics: no row has the metric {shown(unknown)}{hint(unknown, by_metric)}: its data have {known}."
        )
    wanted = named or by_metric
    return {name: _metric(name, named.get(name, {}), by_metric[name], source) for name in wanted}


def _metric(name: str, about: Mapping, rows: list[Row], source: str) -> dict:
    unit = _one(name, "unit", rows)
    if unit and unit != about.get("unit", unit):
        first = next(row for row in rows if row.unit)
        raise PlimsollError(
            f"{first.where}: {name} has the unit {shown(unit)}, and {shown(about['unit'])} in {source}: the rows are not "
            f"converted, so name their unit there, or leave it out."
        )
    unit = unit or about.get("unit", "")
    better = about.get("better") or _one(name, "better", rows) or better_by(unit)
    if better not in ("", "higher", "lower"):
        raise PlimsollError(f"{rows[0].where}: better is {shown(better)}, which is neither higher nor lower.")
    # Claims that say better or worse are refused without it (claimed.py).
    return {
        **{"label": about.get("label", name.replace("_", " ")), "unit": unit},
        **{"better": better or "higher", "known": bool(better)},
    }


def _one(name: str, key: str, rows: list[Row]) -> str:
    """Return the unit, or the direction, that all rows of a metric have. PlimsollError if there are two."""
    first = next((row for row in rows if getattr(row, key)), None)
    for row in rows:
        if first and getattr(row, key) != getattr(first, key):
            raise PlimsollError(
                f"{row.where}: {name} has the {key} {shown(getattr(row, key))}, and {shown(getattr(first, key))} in "
                f"{first.where}: give both rows one {key}, or two metrics."
            )
    return getattr(first, key) if first else ""


def _answers(document: Mapping, study: Mapping, source: str) -> dict | None:
    """Return the answer that follows from the baseline: the ratios of all other levels to it; None without a baseline."""
    if not (baseline := document.get("baseline")):
        return None
    for key in ("baseline", "scope"):
        for factor, levels in document.get(key, {}).items():
            _known(factor, study["levels"], f"{source}: {key}", "factor")
            for level in levels:
                _known(level, study["levels"][factor], f"{source}: {key}.{factor}", "level")
    rows = {factor: _others(study, factor, levels) for factor, levels in baseline.items()}
    about = " and ".join(factor.replace("_", " ") for factor in baseline)
    return {
        **{"metrics": list(study["metrics"]), "rows": rows, "baseline": dict(baseline)},
        **({"scope": document["scope"]} if "scope" in document else {}),
        "recommend": {"compare": "baseline", "about": about, **VERBS, **document.get("recommend", {})},
    }


def _others(study: Mapping, factor: str, baseline: Sequence[str]) -> list[str]:
    from plimsoll.designs.table.contrasts import ordered

    return [level for level in ordered(set(study["levels"][factor])) if level not in baseline]


def _known(name: str, known: Iterable[str], where: str, kind: str) -> None:
    if name not in known:
        raise PlimsollError(
            f"{where}: {shown(name)} is no {kind} of the table{hint(name, known)}: {first_of(list(known), 12)}."
        )


def cell_levels(row: Row, factors: Sequence[str]) -> dict[str, str]:
    """Return the levels of a row's cell, by factor, as paths have them."""
    return {factor: stored(_level(row, factor)) for factor in factors}


def cell_in_words(levels: Mapping[str, str]) -> str:
    """Return the levels of a cell for a message."""
    return ", ".join(f"{factor} {told(level)}" for factor, level in levels.items() if told(level))
